from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import text
from agentsession.importers import opencode as oc

if TYPE_CHECKING:
    from agentsession.importers.opencode.members import Members

VIEWS: tuple[type[Members], ...] = (
    oc.Cache,
    oc.Content2,
    oc.Message,
    oc.Message2,
    oc.MessageError,
    oc.MessageTime,
    oc.ModelRef,
    oc.Part,
    oc.SessionError,
    oc.SessionFile,
    oc.SessionTime,
    oc.Time2,
    oc.Tokens,
    oc.ToolState,
    oc.ToolState2,
    oc.ToolTime,
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


def members(view: type[Members]) -> list[str]:
    return [m.name for m in vars(view).values() if isinstance(m, oc.Member)]


@st.composite
def objects(draw: st.DrawFn) -> tuple[type[Members], dict[str, Any]]:
    view = draw(st.sampled_from(VIEWS))
    names = st.sampled_from(members(view)) | st.text(
        st.characters(exclude_categories=["Cs"]), max_size=6
    )
    return view, draw(st.dictionaries(names, values, max_size=6))


class TestMembers:
    @given(objects())
    @settings(max_examples=150)
    def test_what_was_read_is_what_is_encoded(
        self, drawn: tuple[type[Members], dict[str, Any]]
    ) -> None:
        view, value = drawn
        data = json.dumps(value, ensure_ascii=False).encode()
        seen = view(text.parse(data))
        for name in dir(seen):
            member = getattr(type(seen), name)
            if isinstance(member, oc.Member):
                getattr(seen, name)
        assert text.equal(seen.encode(), data)

    def test_a_member_of_another_type_reads_as_the_empty_value_and_is_kept(self) -> None:
        part = oc.Part(
            {"type": 7, "text": None, "synthetic": "yes", "state": [], "tokens": 1, "x": {}}
        )
        assert (part.type, part.text, part.synthetic, part.state, part.tokens) == (
            "",
            "",
            False,
            None,
            None,
        )
        assert set(part.mistyped) == {"type", "synthetic", "state", "tokens"}
        assert part.undeclared == {"x": {}}
        assert part.has("text")
        assert not part.has("url")
        assert part.encode() == (
            b'{"type":7,"text":null,"synthetic":"yes","state":[],"tokens":1,"x":{}}'
        )

    def test_a_number_beyond_any_double_is_encoded(self) -> None:
        data = b'{"cost":1e400,"tokens":{"input":[-1e999,{"a":1e400}]}}'
        assert text.equal(oc.Message(text.parse(data)).encode(), data)

    def test_depth_is_no_obstacle(self) -> None:
        data = b'{"metadata":' + b"[" * 9000 + b"]" * 9000 + b"}"
        part = oc.decode_part("u", "p", "m", "s", data)
        assert part.part is not None
        assert part.part.encode() == part.encode() == data
        assert repr(part.part) == "Part(metadata)"
        assert "metadata" in repr(part)

    def test_lone_surrogates_and_bad_utf8_are_read(self) -> None:
        part = oc.decode_part("u", "p", "m", "s", b'{"text":"\\ud83c \xff","type":"text"}')
        assert part.part is not None
        assert part.part.text == "\ufffd \ufffd"
        assert b"\\ud83c" in part.encode()


class TestV1:
    def test_a_summary_is_an_assistants(self) -> None:
        assert oc.Message({"role": "assistant", "summary": True}).is_summary
        assert not oc.Message({"role": "user", "summary": {"diffs": []}}).is_summary
        assert not oc.Message({"role": "assistant"}).is_summary

    def test_nested_views(self) -> None:
        message = oc.Message(
            {
                "time": {"created": 5, "completed": 6},
                "model": {"providerID": "p", "modelID": "m", "variant": "high"},
                "tokens": {"input": 1, "cache": {"read": 2, "write": 3}},
                "error": {"name": oc.ERROR_ABORTED, "data": {"message": "Aborted"}},
            }
        )
        assert message.time
        assert message.time.completed == 6
        assert message.model
        assert (message.model.provider_id, message.model.model_id) == ("p", "m")
        assert message.tokens
        assert message.tokens.cache
        assert message.tokens.cache.write == 3
        assert message.error
        assert message.error.message == "Aborted"
        assert oc.MessageError({"data": "text"}).message == ""

    def test_a_pruned_output_has_its_time(self) -> None:
        state = {"status": "completed", "time": {"start": 1, "compacted": 1700000000000}}
        assert oc.ToolState(state).compacted() == 1700000000000
        assert oc.ToolState({**state, "status": "error"}).compacted() is None
        assert oc.ToolState({"status": "completed"}).compacted() is None
        assert oc.ToolState({"status": "completed", "time": {"compacted": 0}}).compacted() is None

    def test_an_interrupted_output(self) -> None:
        metadata = {"interrupted": True, "output": "so far"}
        assert oc.ToolState({"status": "error", "metadata": metadata}).interrupted() == "so far"
        assert oc.ToolState({"status": "completed", "metadata": metadata}).interrupted() is None
        only = {"status": "error", "metadata": {"interrupted": True}}
        assert oc.ToolState(only).interrupted() is None

    def test_a_tasks_child(self) -> None:
        model = {"providerID": "p", "modelID": "m"}
        task = oc.ToolState({"metadata": {"sessionId": "ses_c", "model": model}}).task()
        assert (task.session_id, task.background) == ("ses_c", False)
        assert task.model
        assert task.model.model_id == "m"
        task = oc.ToolState2({"metadata": {"sessionID": "ses_d", "status": "running"}}).task()
        assert (task.session_id, task.background) == ("ses_d", True)
        assert oc.ToolState({"metadata": "x"}).task() == oc.TaskMetadata("", background=False)

    @pytest.mark.parametrize("known", oc.KNOWN_PARTS)
    def test_known_parts(self, known: str) -> None:
        assert oc.is_known_part(known)
        assert not oc.is_known_part(f"{known}-new")


class TestV2:
    def test_reasoning_is_done_unless_its_time_says_otherwise(self) -> None:
        assert oc.Content2({"type": "reasoning"}).reasoning_done()
        assert oc.Content2({"time": {"created": 1, "completed": 2}}).reasoning_done()
        assert not oc.Content2({"time": {"created": 1}}).reasoning_done()

    def test_a_tools_state(self) -> None:
        state = {"status": "streaming", "input": '{"a'}
        tool = oc.Content2({"type": "tool", "state": state}).tool()
        assert tool
        assert (tool.status, tool.input) == (oc.TOOL2_STREAMING, '{"a')
        assert oc.Content2({"type": "tool", "state": "x"}).tool() is None
        assert oc.Content2({"type": "text", "state": {}}).tool() is None

    def test_provider_states_have_three_spellings(self) -> None:
        assert oc.provider_state(oc.Content2({"type": "tool", "native": 1, "state": {}})) == 1
        assert oc.provider_state(oc.Content2({"type": "text", "state": {"a": 1}})) == {"a": 1}
        preview = {"type": "reasoning", "providerMetadata": {"b": 1}}
        assert oc.provider_state(oc.Content2(preview)) == {"b": 1}
        assert oc.provider_state(oc.Message2({"providerState": {"c": 1}})) == {"c": 1}
        assert oc.provider_state(oc.Content2({"type": "tool", "state": {}})) is None

    def test_contents_that_are_no_objects(self) -> None:
        first, second = oc.Message2({"content": [{"type": "text"}, 3]}).contents()
        assert first
        assert first.type == "text"
        assert second is None
        assert oc.Message2({"content": {}}).contents() == ()

    @pytest.mark.parametrize("known", oc.KNOWN_TYPES)
    def test_known_types(self, known: str) -> None:
        assert oc.is_known_type(known)
        assert not oc.is_known_type(f"{known}-new")


class TestValues:
    def test_counts(self) -> None:
        assert list(map(oc.count, (3, 3.0, -1, True, "3", None, 2.5, 2**80))) == [
            3, 3, 0, 0, 0, 0, 0, 0,
        ]  # fmt: skip

    def test_numbers(self) -> None:
        assert oc.number(2) == 2.0
        assert oc.number(0.5) == 0.5
        assert [oc.number(v) for v in (True, "1", None, 10**400, float("inf"))] == [None] * 5
        assert [oc.integer(v) for v in (2**63 - 1, 2**63, -(2**63), 1e300, False)] == [
            2**63 - 1, None, -(2**63), None, None,
        ]  # fmt: skip

    def test_times_are_those_a_datetime_holds(self) -> None:
        last = 253402300799999
        assert oc.millis(last) == last
        assert datetime.fromtimestamp(last / 1000 - 1, UTC).year == 9999
        assert oc.millis(last + 1) is None
        assert oc.millis(-62135596800001) is None
        assert oc.millis("1700000000000") is None

    def test_truth_is_javascripts(self) -> None:
        assert [oc.truthy(v) for v in (None, False, 0, 0.0, "")] == [False] * 5
        assert [oc.truthy(v) for v in (True, 1, -0.5, " ", [0], {"a": 0})] == [True] * 6
        assert oc.truthy([])
        assert oc.truthy({})
        assert oc.is_null(None)
        assert not oc.is_null(0)

    def test_members_of_what_may_be_anything(self) -> None:
        assert oc.metadata_bool({"a": True}, "a")
        assert not oc.metadata_bool({"a": 1}, "a")
        assert oc.metadata_string({"a": "x"}, "a") == "x"
        assert oc.metadata_string(["a"], "a") == ""
        assert oc.location_directory({"directory": "/w"}) == "/w"
        assert oc.shell_output({"output": "x", "cursor": 1}) == "x"
        assert oc.shell_output("preview") == "preview"
        assert oc.shell_output(None) == ""
        assert oc.skill_text({"id": "a", "text": ""}) == ""
        assert oc.skill_text({"id": "a"}) is None

    def test_attachments(self) -> None:
        file = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:,"}
        assert oc.attachment(file) == oc.FileAttachment("image/png", "a.png", "data:,")
        assert oc.attachment({"type": "text"}) is None
        assert oc.attachment("x") is None
        found = oc.decode_file2(
            {
                "data": "AA==",
                "mime": "image/png",
                "source": {"type": "uri", "uri": "file:///a"},
                "mention": {"text": "@a", "start": 0, "end": 2},
            }
        )
        assert found == oc.File2("AA==", "image/png", "", None, "uri", "file:///a", "@a")
        assert oc.decode_file2(None) is None
        assert oc.decode_tool_content({"type": "file", "uri": "u", "mime": "m"}) == oc.ToolContent(
            "file", "", "u", "m", ""
        )
        assert oc.decode_tool_content(1) is None


class TestColumns:
    def test_a_row_is_one_object(self) -> None:
        row = oc.Columns(
            [
                oc.Column("id", "a"),
                oc.Column("data", '{ "b": [1.50, "\\u00e9"] }'),
                oc.Column("revert", "no json"),
                oc.Column("title", '{"a":1}'),
                oc.Column("cost", 0.5),
                oc.Column("n", 3),
                oc.Column("none", None),
                oc.Column("blob", b"\0\1"),
                oc.Column("inf", float("inf")),
            ]
        )
        assert row.json().decode() == (
            '{"id":"a","data":{"b":[1.50,"\\u00e9"]},"revert":"no json","title":"{\\"a\\":1}",'
            '"cost":0.5,"n":3,"none":null,"blob":"AAE=","inf":"inf"}'
        )
        assert row.text("title") == '{"a":1}'
        assert row.text("n") == ""
        assert row.value("absent") is None
        assert row.decoded("data") == {"b": [1.5, "é"]}
        assert row.decoded("revert") is None


class TestRecords:
    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            (b"", "it is empty"),
            (b" \n", "it is empty"),
            (b"\0\0\0", "it holds nothing but NUL bytes"),
            (b'{"a":', "it is not JSON"),
            (b"[1]", "it is not a JSON object"),
            (b"\xff\xfe", "it is not JSON"),
            (b"[" * 20000, "it is not JSON"),
        ],
    )
    def test_what_cannot_be_read_says_why(self, data: bytes, problem: str) -> None:
        message = oc.decode_message("u", "m", "s", 5, data)
        part = oc.decode_part("u", "p", "m", "s", data)
        session = oc.decode_session_file("u", "s", "global", data)
        for record in (message, part, session):
            assert record.problem.startswith(problem)
            assert record.encode() == b""
            assert record.stray().malformed
            assert record.stray().why == record.problem
        assert (message.info, message.created, part.part) == (None, 5, None)
        assert (session.id, session.project_id, session.record) == ("s", "global", data)
        assert [s.kind for s in oc.strays_of([session, message])] == ["session", "message"]

    def test_a_session_file(self) -> None:
        data = json.dumps(
            {
                "id": "another",
                "projectID": "elsewhere",
                "title": "T",
                "parentID": "ses_p",
                "version": "1.1.65",
                "time": {"created": 1, "updated": "late"},
                "revert": {"messageID": "msg_1", "partID": "prt_1"},
            }
        ).encode()
        session = oc.decode_session_file("u", "ses_a", "global", data)
        assert (session.id, session.project_id, session.parent_id) == ("ses_a", "global", "ses_p")
        assert (session.created, session.updated) == (1, None)
        assert session.staged_revert() == oc.Revert("msg_1", "prt_1")
        assert session.fork() is None
        assert session.record == data

    def test_a_session_row(self) -> None:
        row = oc.Columns(
            [
                oc.Column("title", None),
                oc.Column("id", "ses_a"),
                oc.Column("fork_session_id", "ses_o"),
                oc.Column("fork_boundary", '{"type":"before","messageID":"msg_1"}'),
                oc.Column("revert", "null"),
                oc.Column("model", '{"id":"m","providerID":"p"}'),
                oc.Column("time_created", 7),
            ]
        )
        session = oc.decode_session_row(oc.G3, "db:session_v2/ses_a", row)
        assert session.fork() == oc.Fork("ses_o", "before", "msg_1")
        assert session.staged_revert() is None
        assert session.model
        assert session.model.id == "m"
        assert (session.title, session.created, session.updated) == ("", 7, None)
        assert str(session.generation) == "G3"
        assert oc.decode_session_row(oc.G2, "u", oc.Columns()).problem == "the row has no id"

    def test_rows_and_queued_input(self) -> None:
        row = oc.decode_row2(
            "u",
            oc.Columns(
                [oc.Column("id", "m"), oc.Column("type", "new"), oc.Column("data", '{"a":1}')]
            ),
        )
        assert (row.type, row.seq, row.created, row.problem) == ("new", None, None, "")
        assert row.encode() == b'{"a":1}'
        broken = oc.decode_row2("u", oc.Columns([oc.Column("data", 5)]))
        assert broken.problem == "it is not a JSON object"
        queued = oc.decode_queue_row(
            "u",
            "session_inbox",
            oc.Columns(
                [
                    oc.Column("id", "m"),
                    oc.Column("type", "user"),
                    oc.Column("payload", '{"text":"hi"}'),
                    oc.Column("enqueued_seq", 9),
                ]
            ),
        )
        assert (queued.seq, queued.type, queued.promoted) == (9, "user", None)
        assert queued.payload
        assert queued.payload.text == "hi"
        assert text.parse(queued.encode())["payload"] == {"text": "hi"}

    def test_messages_are_ordered_as_their_generation_orders_them(self) -> None:
        # The id of the later message is the smaller one, as after a wrap of the clock in it.
        parts = [oc.decode_part("u", i, "", "", b"{}") for i in ("p2", "p1")]
        late = oc.decode_message("u", "msg_0", "s", None, b'{"time":{"created":9}}')
        early = oc.with_parts(
            oc.decode_message("u", "msg_f", "s", None, b'{"time":{"created":1}}'), parts
        )
        by_time = oc.sort_messages(oc.G2, [late, early])
        assert [m.id for m in by_time] == ["msg_f", "msg_0"]
        assert [p.id for p in by_time[0].parts] == ["p1", "p2"]
        assert [m.id for m in oc.sort_messages(oc.G1, [early, late])] == ["msg_0", "msg_f"]


class TestMemory:
    def test_it_is_a_store(self) -> None:
        session = oc.decode_session_file("u", "ses_a", "global", b"{}")
        messages = [oc.decode_message("u", i, "ses_a", None, b"{}") for i in ("b", "a")]
        lost = oc.decode_message("u", "c", "ses_b", None, b"{}")
        lost = oc.with_parts(lost, [oc.decode_part("u", "p", "c", "ses_b", b"")])
        store: oc.Store = oc.Memory(
            store_name="here",
            session_list=[session],
            messages_of={"ses_a": messages, "ses_b": [lost]},
            projects={"global": oc.Project("u", "global")},
            migrated=True,
        )
        assert store.name == "here"
        assert store.sessions() == ((session,), ())
        assert [m.id for m in store.messages(session).messages] == ["a", "b"]
        assert store.rows(session) == ((), (), ())
        assert [(s.id, s.kind, s.malformed) for s in store.orphans({"ses_a"})] == [
            ("c", "message", False),
            ("p", "part", True),
        ]
        assert store.project("global")
        assert store.project("x") is None
        assert store.migration_done()
        assert store.others() == {}
