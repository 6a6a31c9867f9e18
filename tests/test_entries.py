"""Entry types: what is written, in which order, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

import agentsession as ags
from agentsession.codec import Undecodable, check_appendable, decode_entry
from agentsession.entries import Envelope
from agentsession.members import MISSING

MESSAGE = {"type": "message", "role": "user", "content": "Hi"}
TEXT = b'{"type":"message","role":"user","content":"Hi"}'
T = "2026-03-01T08:15:31Z"
ENVELOPE = b'"id":"e1","parent":"e0","ts":"2026-03-01T08:15:31Z"'

CASES = [
    (ags.ItemEntry(MESSAGE), b'"item":' + TEXT),
    (
        ags.ItemEntry(
            MESSAGE,
            response="r",
            visible=False,
            source=ags.Trigger("cron", "nightly", "host"),
            queued_from="q1",
        ),
        b'"item":' + TEXT + b',"response":"r","visible":false,'
        b'"source":{"kind":"cron","ref":"nightly","source":"host"},"queued_from":"q1"',
    ),
    (
        ags.ItemEntry(MESSAGE, visible=True, source=ags.Trigger()),
        b'"item":' + TEXT + b',"visible":true,"source":{}',
    ),
    (ags.ResponseEntry(), b'"response_id":"","status":""'),
    (
        ags.ResponseEntry(
            "resp_1",
            model="m-1",
            status="completed",
            usage={"input_tokens": 12},
            incomplete={"reason": "max_output_tokens"},
            error={"message": "x"},
            request_hash="sha256:00",
            latency_ms=840,
        ),
        (
            b'"response_id":"resp_1","model":"m-1","status":"completed","usage":{"input_tokens":12},'
            b'"incomplete":{"reason":"max_output_tokens"},"error":{"message":"x"},'
            b'"request_hash":"sha256:00","latency_ms":840'
        ),
    ),
    (ags.ConfigEntry(), b""),
    (ags.ConfigEntry(instructions=""), b'"instructions":""'),
    (ags.ConfigEntry(reasoning={}, text={}), b'"reasoning":{},"text":{}'),
    (
        ags.ConfigEntry(
            model="m-1",
            instructions="A\n\nB",
            reasoning={"effort": "low", "summary": None},
            instructions_parts=[
                ags.InstructionsPart("a", "A", "base"),
                ags.InstructionsPart("b", "B"),
            ],
            instructions_omitted=[ags.OmittedPart("c", "too long", 400, "base")],
            tools_added=[{"type": "function", "name": "ls"}],
            tools_removed=["rm"],
            extra={"temperature": 0.2, "a": None},
            replace=True,
        ),
        (
            b'"model":"m-1","instructions":"A\\n\\nB","reasoning":{"effort":"low","summary":null},'
            b'"instructions_parts":[{"id":"a","text":"A","source":"base"},{"id":"b","text":"B"}],'
            b'"instructions_omitted":[{"id":"c","reason":"too long","size":400,"source":"base"}],'
            b'"tools_added":[{"type":"function","name":"ls"}],"tools_removed":["rm"],'
            b'"extra":{"a":null,"temperature":0.2},"replace":true'
        ),
    ),
    (ags.CompactionEntry("e0", MESSAGE), b'"first_kept":"e0","summary":' + TEXT + b',"config":{}'),
    (
        ags.CompactionEntry(
            "e0",
            MESSAGE,
            pinned=[MESSAGE],
            tokens_before=5,
            usage={},
            config=ags.Settings(model="m", extra={"b": 1, "a": 1.0}),
        ),
        b'"first_kept":"e0","summary":'
        + TEXT
        + b',"pinned":['
        + TEXT
        + b'],"config":{"model":"m","extra":{"a":1,"b":1}},"tokens_before":5,"usage":{}',
    ),
    (ags.BranchSummaryEntry("e9", MESSAGE), b'"from":"e9","summary":' + TEXT),
    (
        ags.RunEntry.start("r-1", "input", "cron:nightly"),
        b'"run_id":"r-1","phase":"start","source":"input","ref":"cron:nightly"',
    ),
    (ags.RunEntry.end("r-1", "done"), b'"run_id":"r-1","phase":"end","reason":"done","pending":[]'),
    (
        ags.RunEntry.end("r-1", "input_required", "x", ["call_1"]),
        b'"run_id":"r-1","phase":"end","reason":"input_required","ref":"x","pending":["call_1"]',
    ),
    (ags.DispatchEntry("call_1", "e0"), b'"call_id":"call_1","target":"e0"'),
    (
        ags.DecisionEntry("c", "e0", "proceed", "human", args={"a": 1}),
        b'"call_id":"c","target":"e0","verdict":"proceed","by":"human","args":{"a":1}',
    ),
    (
        ags.DecisionEntry("c", "e0", "proceed", args=None),
        b'"call_id":"c","target":"e0","verdict":"proceed","args":null',
    ),
    (
        ags.DecisionEntry("c", "e0", "reject", reason="no"),
        b'"call_id":"c","target":"e0","verdict":"reject","reason":"no"',
    ),
    (
        ags.QueuedEntry(MESSAGE, "steer", trigger=ags.Trigger("chat"), ref="r"),
        b'"item":' + TEXT + b',"mode":"steer","trigger":{"kind":"chat"},"ref":"r"',
    ),
    (ags.LabelEntry("e0", "kept"), b'"target":"e0","label":"kept"'),
    (ags.LabelEntry("e0", None), b'"target":"e0","label":null'),
    (ags.InfoEntry("Demo"), b'"name":"Demo"'),
    (ags.InfoEntry(), b""),
    (
        ags.EnvEntry(
            cwd="/x",
            vcs=ags.VCS("git", "abc", dirty=True),
            files=ags.FileHashes({"b": "2", "a": "1"}, {}),
            tools={"go": "1"},
            workspace=ags.Workspace("container", "c1"),
        ),
        (
            b'"cwd":"/x","vcs":{"system":"git","revision":"abc","dirty":true},'
            b'"files":{"read":{"a":"1","b":"2"}},"tools":{"go":"1"},'
            b'"workspace":{"kind":"container","ref":"c1"}'
        ),
    ),
    (ags.EnvEntry(files=ags.FileHashes()), b'"files":{}'),
    (
        ags.OutcomeEntry("eval", "e0", score=0, pass_=False, label="l", details=None),
        b'"kind":"eval","target":"e0","score":0,"pass":false,"label":"l","details":null',
    ),
    (ags.OutcomeEntry("test", score=1.0), b'"kind":"test","score":1'),
    (
        ags.LinkEntry.subsession("s-2", "call_1"),
        b'"rel":"subsession","session":"s-2","call_id":"call_1"',
    ),
    (ags.CustomEntry("acme"), b'"ns":"acme"'),
    (ags.CustomEntry("acme", None), b'"ns":"acme","data":null'),
    (ags.CustomEntry("acme", "text"), b'"ns":"acme","data":"text"'),
    (ags.CustomEntry("acme", b'{"n":1.50}'), b'"ns":"acme","data":{"n":1.50}'),
]


@pytest.mark.parametrize(("entry", "members"), CASES)
def test_members_are_written_in_the_formats_order(entry: ags.Entry, members: bytes) -> None:
    sealed = entry.sealed("e1", "e0", T)
    expected = b'{"type":"' + entry.type.encode() + b'",' + ENVELOPE
    assert sealed.line == expected + (b"," + members if members else b"") + b"}"


@pytest.mark.parametrize(("entry", "_members"), CASES)
def test_what_is_written_is_read_back(entry: ags.Entry, _members: bytes) -> None:
    sealed = entry.sealed("e1", "e0", T)
    back = decode_entry(sealed.line, (0, 3))
    assert type(back) is type(entry)
    assert back == sealed
    for member in entry.MEMBERS.values():
        assert getattr(back, member.name) == getattr(entry, member.name)
    assert back.unknown == {}
    assert (back.id, back.parent, str(back.ts)) == ("e1", "e0", T)
    check_appendable(back, (0, 3))
    assert ags.marshal_entry(ags.unmarshal_entry(sealed.line)) == sealed.line


def test_a_root_is_written_with_a_null_parent() -> None:
    assert b'"parent":null' in ags.InfoEntry("x").sealed("e1", None, T).line


def test_unknown_members_follow_sorted_and_keep_their_spelling() -> None:
    entry = ags.InfoEntry("x", unknown={"z": 1, "b": b"[1.50, 2]"})
    assert entry.sealed("e1", None, T).line.endswith(b'"name":"x","b":[1.50,2],"z":1}')
    assert entry.unknown == {"b": [1.5, 2], "z": 1}


def test_unknown_members_survive_at_every_depth() -> None:
    line = (
        b'{"type":"env","id":"e","parent":null,"ts":"2026-03-01T08:15:31Z",'
        b'"vcs":{"system":"git","x":{"y":1.0}},"workspace":{"kind":"local","host":"h"},"zz":[]}'
    )
    env = decode_entry(line, (0, 3))
    assert isinstance(env, ags.EnvEntry)
    assert env.vcs is not None
    assert env.vcs.unknown == {"x": {"y": 1.0}}
    assert env.line == line
    again = ags.EnvEntry(vcs=env.vcs, workspace=env.workspace, unknown=env.unknown)
    assert again.sealed("e", None, T).line == line


@pytest.mark.parametrize("unknown", [{"id": 1}, {"type": "x"}, {"name": "y"}])
def test_unknown_members_cannot_hide_known_ones(unknown: dict[str, object]) -> None:
    with pytest.raises(ags.InvalidEntry):
        ags.InfoEntry("x", unknown=unknown)


def test_entries_are_immutable() -> None:
    given = {"type": "message", "content": []}
    entry = ags.ItemEntry(given)
    given["content"] = "changed"
    assert entry.item["content"] == []
    with pytest.raises(AttributeError):
        entry.response = "x"  # type: ignore[assignment, misc]


@pytest.mark.parametrize(
    "build",
    [
        lambda: ags.ItemEntry(None),
        lambda: ags.ItemEntry("not json"),
        lambda: ags.ItemEntry([]),
        lambda: ags.CompactionEntry("e", None),
        lambda: ags.BranchSummaryEntry("e", None),
        lambda: ags.QueuedEntry(MESSAGE, ""),
        lambda: ags.QueuedEntry(None, "steer"),
        lambda: ags.RunEntry.start(""),
        lambda: ags.DispatchEntry("", "e"),
        lambda: ags.DispatchEntry("c", ""),
        lambda: ags.DecisionEntry("c", "e", ""),
        lambda: ags.ResponseEntry(latency_ms=1.5),  # type: ignore[arg-type]
        lambda: ags.ResponseEntry(latency_ms=True),
        lambda: ags.ResponseEntry(7),  # type: ignore[arg-type]
        lambda: ags.OutcomeEntry("x", score=float("nan")),
        lambda: ags.OutcomeEntry("x", score=float("inf")),
        lambda: ags.ConfigEntry(tools_removed="rm"),
        lambda: ags.ConfigEntry(tools_added={"type": "function"}),  # type: ignore[arg-type]
        lambda: ags.ConfigEntry(extra=[("a", 1)]),  # type: ignore[arg-type]
        lambda: ags.EnvEntry(tools={"go": 1}),  # type: ignore[dict-item]
        lambda: ags.EnvEntry(vcs="git"),  # type: ignore[arg-type]
        lambda: ags.InfoEntry("x", ts="yesterday"),
        lambda: ags.InfoEntry("x", id=7),  # type: ignore[arg-type]
        lambda: ags.CustomEntry("x", object()),
        lambda: ags.CustomEntry("x", {"a": {1, 2}}),
        lambda: ags.UnknownEntry("[]"),
        lambda: ags.UnknownEntry({}),
        lambda: ags.UnknownEntry({"text": "x"}),
    ],
)
def test_values_that_cannot_be_written_are_refused(build: object) -> None:
    with pytest.raises(ags.InvalidEntry):
        build()  # type: ignore[operator]


BUILDERS: list[Callable[..., ags.Entry]] = [
    partial(ags.ItemEntry, MESSAGE),
    ags.ResponseEntry,
    ags.ConfigEntry,
    partial(ags.CompactionEntry, "e", MESSAGE),
    partial(ags.BranchSummaryEntry, "e", MESSAGE),
    partial(ags.RunEntry, "r", "start"),
    partial(ags.RunEntry.start, "r"),
    partial(ags.RunEntry.end, "r", "done"),
    partial(ags.DispatchEntry, "c", "e"),
    partial(ags.DecisionEntry, "c", "e", "proceed"),
    partial(ags.QueuedEntry, MESSAGE, "steer"),
    partial(ags.LabelEntry, "e", "x"),
    ags.InfoEntry,
    ags.EnvEntry,
    partial(ags.OutcomeEntry, "test"),
    partial(ags.LinkEntry, "fork_of", "s"),
    partial(ags.LinkEntry.subsession, "s", "c"),
    partial(ags.LinkEntry.judged_by, "s"),
    partial(ags.CustomEntry, "x"),
]


@pytest.mark.parametrize("build", BUILDERS)
def test_every_type_takes_the_envelope_by_keyword(build: Callable[..., ags.Entry]) -> None:
    envelope: Envelope = {"id": "e1", "parent": "e0", "ts": T, "unknown": {"x": 1}}
    entry = build(**envelope)
    assert (entry.id, entry.parent, entry.ts_text) == ("e1", "e0", T)
    assert dict(entry.unknown) == {"x": 1}
    bare = build()
    assert (bare.id, bare.parent, bare.ts, dict(bare.unknown)) == ("", None, None, {})


@pytest.mark.parametrize("build", [*BUILDERS, partial(ags.UnknownEntry, {"type": "x.y"})])
@pytest.mark.parametrize("wrong", ["wrong", "members", "version"])
def test_a_keyword_nothing_takes_is_named(build: Callable[..., ags.Entry], wrong: str) -> None:
    with pytest.raises(TypeError, match=f"keyword argument.*'{wrong}'"):
        build(**{wrong: None})


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (ags.RunEntry("r", "middle"), "phase"),
        (ags.RunEntry("r", "start"), "source"),
        (ags.RunEntry("r", "end"), "reason"),
        (ags.DecisionEntry("c", "e", "reject"), "reason"),
        (ags.ConfigEntry(instructions_parts=[ags.InstructionsPart("", "x")]), "id"),
        (
            ags.ConfigEntry(
                instructions_parts=[ags.InstructionsPart("a"), ags.InstructionsPart("a")]
            ),
            "twice",
        ),
        (
            ags.ConfigEntry(instructions="B", instructions_parts=[ags.InstructionsPart("a", "A")]),
            "differ",
        ),
        (
            ags.ConfigEntry(replace=True, instructions_parts=[ags.InstructionsPart("a", hash="h")]),
            "replace",
        ),
        (ags.ConfigEntry(instructions_omitted=[ags.OmittedPart("")]), "omitted"),
        (ags.UnknownEntry({"type": "session"}), "type of the format"),
        (ags.UnknownEntry({"type": "queued"}), "type of the format"),
    ],
)
def test_rules_of_append(entry: ags.Entry, words: str) -> None:
    with pytest.raises(ags.InvalidEntry, match=words):
        check_appendable(entry, (0, 3))


@pytest.mark.parametrize(
    ("entry", "version", "member"),
    [
        (ags.RunEntry.start("r"), (0, 1), "run"),
        (ags.DispatchEntry("c", "e"), (0, 1), "dispatch"),
        (ags.DecisionEntry("c", "e", "hold"), (0, 1), "decision"),
        (ags.QueuedEntry(MESSAGE, "steer"), (0, 2), "queued"),
        (ags.ItemEntry(MESSAGE, queued_from="q"), (0, 2), "queued_from"),
        (ags.ItemEntry(MESSAGE, source=ags.Trigger("x")), (0, 2), "source"),
        (ags.CompactionEntry("e", MESSAGE, pinned=[MESSAGE]), (0, 2), "pinned"),
        (
            ags.CompactionEntry(
                "e",
                MESSAGE,
                config=ags.Settings(instructions_parts=[ags.InstructionsPart("a", "A")]),
            ),
            (0, 2),
            "instructions_parts",
        ),
        (
            ags.ConfigEntry(instructions_parts=[ags.InstructionsPart("a", "A")]),
            (0, 2),
            "instructions_parts",
        ),
        (ags.EnvEntry(workspace=ags.Workspace("local")), (0, 1), "workspace"),
        (ags.OutcomeEntry("x", pass_=True), (0, 1), "pass"),
        (ags.LabelEntry("e", "x", unknown=None), (0, 3), ""),
        (ags.DispatchEntry("c", "e", unknown={"later": 1}), (0, 3), ""),
        (
            decode_entry(
                b'{"type":"dispatch","id":"a","ts":"2026-01-01T00:00:00Z","call_id":"c","target":"t",'
                b'"idempotency_key":"k"}',
                (0, 8),
            ),
            (0, 3),
            "idempotency_key",
        ),
    ],
)
def test_what_the_version_lacks_is_refused_on_append(
    entry: ags.Entry, version: tuple[int, int], member: str
) -> None:
    if not member:
        check_appendable(entry, version)
        return
    with pytest.raises(ags.InvalidEntry, match=member):
        check_appendable(entry, version)


def test_run_members_of_the_other_phase_are_kept() -> None:
    line = (
        b'{"type":"run","id":"a","parent":null,"ts":"2026-01-01T00:00:00Z","run_id":"r",'
        b'"phase":"end","source":"input","reason":"done","pending":null}'
    )
    run = decode_entry(line, (0, 3))
    assert isinstance(run, ags.RunEntry)
    assert run.source == "input"
    assert run.pending == ()
    assert run.line == line


class TestUnknownEntries:
    def test_appended_members_follow_the_envelope_sorted(self) -> None:
        entry = ags.UnknownEntry({"z": 1, "type": "acme:note", "id": "old", "ts": 3, "a": b"[1.0]"})
        assert entry.type == "acme:note"
        assert entry.sealed("e1", None, T).line == (
            b'{"type":"acme:note","id":"e1","parent":null,"ts":"2026-03-01T08:15:31Z","a":[1.0],"z":1}'
        )

    def test_a_read_one_keeps_its_order(self) -> None:
        line = (
            b'{"z":1, "id":"e1","type":"acme:note",'
            b'"ts":"2026-03-01T08:15:31Z","parent":null, "a":2}'
        )
        entry = decode_entry(line, (0, 2))
        assert isinstance(entry, ags.UnknownEntry)
        assert entry.raw == line
        assert entry.data == {"z": 1, "a": 2}

    def test_a_type_of_a_later_version_that_does_not_fit_is_unknown(self) -> None:
        line = b'{"type":"queued","id":"q","parent":null,"ts":"2026-03-01T08:15:31Z","note":"mine"}'
        assert isinstance(decode_entry(line, (0, 2)), ags.UnknownEntry)
        with pytest.raises(Undecodable):
            decode_entry(line, (0, 3))

    def test_a_member_of_a_later_version_that_does_not_fit_is_unknown(self) -> None:
        line = (
            b'{"type":"item","id":"q","parent":null,"ts":"2026-03-01T08:15:31Z","item":{},'
            b'"source":"mine"}'
        )
        entry = decode_entry(line, (0, 2))
        assert isinstance(entry, ags.ItemEntry)
        assert entry.source is None
        assert entry.unknown == {"source": "mine"}
        with pytest.raises(Undecodable, match="source"):
            decode_entry(line, (0, 3))


class TestHelpers:
    def test_extra_can_be_set_and_cleared(self) -> None:
        entry = ags.ConfigEntry(replace=True).with_extra("b", 1).without_extra("a")
        assert entry.sealed("e", None, T).line.endswith(b'"extra":{"a":null,"b":1},"replace":true}')

    def test_the_environment_is_built_up(self) -> None:
        entry = (
            ags.EnvEntry(cwd="/x")
            .with_tool("go", "1")
            .with_read("b", "h1")
            .with_written("c", "h2")
            .with_read("a", "h0")
            .with_workspace("local")
        )
        assert entry.sealed("e", None, T).line.endswith(
            b'"cwd":"/x","files":{"read":{"a":"h0","b":"h1"},"written":{"c":"h2"}},'
            b'"tools":{"go":"1"},"workspace":{"kind":"local"}}'
        )

    def test_absent_and_null_arguments_differ(self) -> None:
        assert ags.DecisionEntry("c", "e", "hold").args_text is None
        assert ags.DecisionEntry("c", "e", "hold", args=MISSING).args_text is None
        assert ags.DecisionEntry("c", "e", "hold", args=None).args_text == "null"

    def test_a_moved_copy_has_no_line(self) -> None:
        sealed = ags.InfoEntry("x").sealed("e", "p", T)
        moved = sealed.moved(parent="q")
        assert not moved.is_sealed
        assert (moved.id, moved.parent, moved.ts) == ("", "q", sealed.ts)
