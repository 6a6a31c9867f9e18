"""Options, embedding, and the weaknesses that were not taken over."""

from __future__ import annotations

from typing import Any

import pytest

import agentsession as ags
from agentsession import atif, export
from agentsession.testing import SessionBuilder

USAGE = {"input_tokens": 7, "output_tokens": 3}


def message(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def document(build: SessionBuilder, **options: Any) -> atif.Trajectory:
    session = build.session
    found = export.to_atif(export.at(session, session.entries[-1].id), export.Options(**options))
    assert atif.validate(found, strict=True) == ()
    return found


def extra(step: atif.Step) -> dict[str, Any]:
    return dict(step.extra or {})


def test_names_given_win_over_the_harness() -> None:
    build = SessionBuilder(harness=ags.Harness("h", "9"))
    build.config(model="m")
    build.answer("x", hashed=False, model="m-sent")
    assert document(build).agent.to_dict() == {"name": "h", "version": "9", "model_name": "m"}
    named = document(build, agent_name="a", model_name="x/y", notes="mine")
    assert named.agent.to_dict() == {
        "name": "a",
        "version": "agentsession/0.3",
        "model_name": "x/y",
    }
    assert named.steps[0].model_name == "x/y"
    assert extra(named.steps[0])["openresponses"]["response"]["model"] == "m-sent"
    assert named.notes == "mine"
    versioned = document(build, agent_version="2")
    assert versioned.agent.version == "2"


def test_the_price_is_asked_for_the_model_that_was_sent() -> None:
    asked: list[tuple[str, object]] = []

    def cost(model: str, usage: object) -> float | None:
        asked.append((model, usage))
        return 0.25 if model == "m-sent" else None

    build = SessionBuilder()
    build.config(model="m")
    first = build.user("a")
    build.answer("x", hashed=False, model="m-sent", usage=USAGE)
    build.answer("y", hashed=False, usage=USAGE)
    build.answer("z", hashed=False)
    build.append(ags.CompactionEntry(first, message("system", "S"), usage=USAGE))
    found = document(build, cost=cost, model_name="other")
    assert [model for model, _ in asked] == ["m-sent", "m", "m"]
    assert found.final_metrics is not None
    assert found.final_metrics.total_cost_usd == 0.25
    assert [step.metrics.cost_usd for step in found.steps if step.metrics] == [0.25, None]


def test_an_output_before_its_response_does_not_cut_the_call_in_two() -> None:
    build = SessionBuilder()
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    build.item(call, response="R")
    build.output("c", "early")
    build.item(message("assistant", "more"), response="R")
    build.append(ags.ResponseEntry("R", status="completed", usage=USAGE))
    found = document(build)
    [step] = found.steps
    assert step.llm_call_count == 1
    assert step.metrics is not None
    assert step.message == "more"
    assert step.observation is not None
    assert step.observation.results[0].content == "early"
    assert export.items(found) == build.session.context().items
    assert extra(step)["agentsession"]["entry_id"] == build.session.leaf


def test_a_message_before_the_response_does_not_cut_the_call_either() -> None:
    build = SessionBuilder()
    build.item(message("assistant", "one"), response="R")
    build.user("wait")
    build.append(ags.ResponseEntry("R", status="completed", usage=USAGE))
    found = document(build)
    assert [(step.source, step.metrics is not None) for step in found.steps] == [
        ("agent", True),
        ("user", False),
    ]


def test_a_first_environment_is_not_lost_to_a_trailing_one() -> None:
    build = SessionBuilder(cwd="/w")
    build.append(ags.EnvEntry(cwd="/w", tools={"go": "1"}))
    build.user("x")
    build.append(ags.EnvEntry(cwd="/z"))
    root = document(build).extra or {}
    assert root["environment"]["tools"] == {"go": "1"}
    assert root["environment_at_end"]["cwd"] == "/z"


def test_unknown_members_never_replace_what_the_exporter_says() -> None:
    build = SessionBuilder()
    build.user("x", unknown={"openresponses": 1, "calls": 2, "mine": 3, "unknown": 4})
    own = extra(document(build).steps[0])
    assert own["mine"] == 3
    assert own["unknown"] == {"openresponses": 1, "calls": 2, "unknown": 4}
    assert "item" in own["openresponses"]


def linked(session_id: str, *targets: str) -> ags.Session:
    build = SessionBuilder(id=session_id)
    for number, target in enumerate(targets):
        build.call(f"c{number}", hashed=False)
        build.append(ags.LinkEntry.subsession(target, f"c{number}"))
    build.user("end")
    return build.session


def test_sessions_that_link_to_each_other_end() -> None:
    known = {"a": linked("a", "b", "a"), "b": linked("b", "a", "b", "c"), "c": linked("c")}
    converted = export.convert(
        export.at(known["a"], known["a"].leaf or ""), export.Options(subsessions=known.get)
    )
    assert atif.validate(converted.document, strict=True) == ()
    ids = [one.trajectory_id for one in converted.document.documents()]
    assert ids == ["e0000007", "b/e0000010", "c/e0000001"]
    refs = [
        result.subagent_trajectory_ref[0]
        for one in converted.document.documents()
        for step in one.steps
        if step.observation
        for result in step.observation.results
        if result.subagent_trajectory_ref
    ]
    assert [ref.trajectory_path or ref.trajectory_id for ref in refs] == [
        "b/e0000010",
        "a.json",
        "a.json",
        "b.json",
        "c/e0000001",
    ]
    assert [finding.code for finding in converted.report.findings] == ["subsession-not-embedded"]


def test_a_long_chain_of_sessions_does_not_break() -> None:
    known = {f"s{n}": linked(f"s{n}", f"s{n + 1}") for n in range(200)}
    found = export.to_atif(
        export.at(known["s0"], known["s0"].leaf or ""), export.Options(subsessions=known.get)
    )
    assert atif.validate(found, strict=True) == ()
    assert 20 < sum(1 for _ in found.documents()) < 200


def test_many_ways_to_one_session_do_not_explode() -> None:
    known = {f"s{n}": linked(f"s{n}", f"s{n + 1}", f"t{n + 1}") for n in range(12)}
    known |= {f"t{n}": linked(f"t{n}", f"s{n + 1}", f"t{n + 1}") for n in range(12)}
    found = export.to_atif(
        export.at(known["s0"], known["s0"].leaf or ""), export.Options(subsessions=known.get)
    )
    assert sum(1 for _ in found.documents()) <= 1025


def test_a_resolver_that_fails_leaves_a_file_reference() -> None:
    def resolver(session_id: str) -> ags.Session:
        raise KeyError(session_id)

    session = linked("a", "b")
    converted = export.convert(
        export.at(session, session.leaf or ""), export.Options(subsessions=resolver)
    )
    assert converted.document.subagent_trajectories is None
    [finding] = converted.report.findings
    assert "could not be opened" in finding.sentence  # type: ignore[attr-defined]


def test_instructions_come_first_and_items_pass_over_them() -> None:
    build = SessionBuilder()
    build.config(model="m", instructions="Be brief.")
    build.user("x")
    assert "Be brief." not in document(build).to_json().decode()
    found = document(build, instructions=True)
    assert (found.steps[0].source, found.steps[0].message) == ("system", "Be brief.")
    assert extra(found.steps[0]) == {"agentsession": {"instructions": True}}
    assert export.items(found) == build.session.context().items
    assert [step.step_id for step in found.steps] == [1, 2]


def test_text_only_leaves_no_media_anywhere() -> None:
    build = SessionBuilder()
    content = [
        {"type": "input_text", "text": "see "},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0K"},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "input_file", "filename": "a.pdf", "file_data": "JVBERi0="},
    ]
    build.item({"type": "message", "role": "user", "content": content})
    found = document(build, text_only=True)
    want = "see [image: data URL image/png][audio][file: a.pdf]"
    assert found.steps[0].message == want
    written = found.to_json().decode()
    assert not any(data in written for data in ("iVBOR", "UklGR", "JVBER"))


@pytest.mark.parametrize("how", ["keep", "mark", "drop"])
def test_failed_calls_are_kept_marked_or_dropped(how: str) -> None:
    build = SessionBuilder()
    build.user("x")
    build.append(ags.LabelEntry("e0000001", "start"))
    build.call("c", hashed=False, status="incomplete", usage=USAGE)
    build.output("c")
    build.answer("ok", hashed=False, usage=USAGE)
    found = document(build, failed_calls=how)
    marked = [extra(step).get("failed_call") for step in found.steps]
    assert (
        marked
        == {
            "keep": [None, None, None],
            "mark": [None, True, None],
            "drop": [None, None],
        }[how]
    )
    assert found.final_metrics is not None
    assert found.final_metrics.total_steps == 3
    assert found.final_metrics.total_prompt_tokens == 14
    assert (found.notes is not None) == (how == "drop")
    if how == "drop":
        assert [label["label"] for label in extra(found.steps[1])["labels"]] == ["start"]
        kept = [item.type for item in export.items(found)]
        assert kept == ["message", "message"]


def test_older_readers_get_their_version() -> None:
    build = SessionBuilder()
    build.user("x")
    assert document(build, schema_version="ATIF-v1.7").schema_version == "ATIF-v1.7"
    sound = atif.parse(
        {
            **document(build).to_dict(),
            "steps": [
                {
                    "step_id": 1,
                    "source": "user",
                    "message": [
                        {"type": "audio", "source": {"media_type": "audio/wav", "path": "a.wav"}}
                    ],
                }
            ],
        }
    )
    with pytest.raises(export.CannotExport, match="step 1 has audio"):
        export.with_schema_version(sound, "ATIF-v1.7")
    older = export.with_schema_version(sound, "ATIF-v1.7", audio="degrade")
    assert older.schema_version == "ATIF-v1.7"
    assert older.steps[0].message[0].text == "[audio: a.wav]"  # type: ignore[union-attr]


def folded() -> SessionBuilder:
    build = SessionBuilder()
    build.config(model="m")
    build.user("one")
    build.answer("uno", hashed=False, usage=USAGE)
    kept = build.user("two")
    foreign = message("developer", "a rule from elsewhere")
    known = message("user", "one")
    build.append(
        ags.CompactionEntry(
            kept, message("system", "Summary"), pinned=[foreign, known], usage=USAGE
        )
    )
    build.user("three")
    return build


def test_pinned_texts_that_are_nowhere_else_stand_in_the_boundary() -> None:
    found = document(folded())
    assert found.steps[0].observation is not None
    shown = [result.content for result in found.steps[0].observation.results]
    assert shown == ["Summary", "a rule from elsewhere"]
    assert found.notes is not None
    assert found.notes.startswith("The steps are the context after compaction")


def test_the_history_of_a_path_shows_folds_as_boundaries() -> None:
    found = document(folded(), history="path")
    assert [step.message for step in found.steps] == ["one", "uno", "two", "Summary", "three"]
    boundary = found.steps[3]
    assert boundary.observation is not None
    assert [result.content for result in boundary.observation.results] == [
        "Summary",
        "a rule from elsewhere",
        "one",
    ]
    assert extra(boundary)["context_management"]["boundary"] == "replace"
    assert [step.is_copied_context for step in found.steps] == [None, None, None, True, None]
    assert found.notes is None
    assert found.final_metrics is not None
    assert found.final_metrics.total_steps == 5


def test_an_older_fold_in_the_window_is_shown_and_is_no_boundary() -> None:
    build = SessionBuilder()
    first = build.user("one")
    build.append(ags.CompactionEntry(first, message("system", "Older")))
    build.append(ags.CompactionEntry(first, message("system", "Newer")))
    found = document(build)
    assert [step.message for step in found.steps] == ["Newer", "one", "Older"]
    assert ["context_management" in extra(step) for step in found.steps] == [True, False, False]
    assert export.items(found) == build.session.context().items


def test_calls_without_a_name_or_id_get_stand_ins() -> None:
    build = SessionBuilder()
    build.item({"type": "function_call", "arguments": "{}"}, response="R")
    [step] = document(build).steps
    assert step.tool_calls is not None
    assert step.tool_calls[0].function_name == "unknown"
    assert step.tool_calls[0].tool_call_id == "e0000001"


def test_items_of_a_foreign_document_are_read_from_its_own_members() -> None:
    foreign = atif.parse(
        {
            "schema_version": "ATIF-v1.8",
            "agent": {"name": "a", "version": "1"},
            "steps": [
                {"step_id": 1, "source": "system", "message": "S"},
                {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "U"}]},
                {
                    "step_id": 3,
                    "source": "agent",
                    "message": "A",
                    "reasoning_content": "R",
                    "tool_calls": [
                        {"tool_call_id": "c", "function_name": "f", "arguments": {"b": 1, "a": 2}},
                        {
                            "tool_call_id": "d",
                            "function_name": "f",
                            "arguments": {"_arguments": "3+3"},
                        },
                    ],
                    "observation": {
                        "results": [{"source_call_id": "c", "content": "O"}, {"content": "none"}]
                    },
                },
                {
                    "step_id": 4,
                    "source": "system",
                    "message": "",
                    "observation": {"results": [{"content": "x"}]},
                },
            ],
        }
    )
    with pytest.raises(export.NoRawItems):
        export.items(foreign)
    found = export.items_from(foreign)
    assert [item.type for item in found] == [
        "message",
        "message",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
    ]
    assert [item.text for item in found] == ["S", "U", "R", "A", "", "", "O"]
    assert [item.arguments for item in found[4:6]] == ['{"a":2,"b":1}', "3+3"]


@pytest.mark.parametrize("raw", [{"items": 3}, {"items": [3]}, {"item": "x"}])
def test_what_is_no_item_is_an_error_that_names_the_step(raw: dict[str, Any]) -> None:
    build = SessionBuilder()
    build.user("x")
    value = document(build).to_dict()
    value["steps"][0]["extra"]["openresponses"] = raw
    with pytest.raises(export.CannotExport, match="step 1"):
        export.items(atif.parse(value))
