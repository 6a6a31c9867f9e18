"""Older sessions in the newest draft. Spec: later drafts 12, decision A1."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import text
from agentsession.entry_ids import identity
from agentsession.testing import SessionBuilder
from session_strategies import sessions

HEADER = (
    b'{"type":"session","format":"agentsession/0.2","id":"s",'
    b'"created_at":"2026-01-02T03:04:05+01:00","payload":"openresponses/2026-04-24","x":1}\n'
)


def file(*lines: bytes) -> bytes:
    return HEADER + b"".join(line + b"\n" for line in lines)


def info(entry_id: bytes, parent: bytes = b"", more: bytes = b"") -> bytes:
    above = b'"%s"' % parent if parent else b"null"
    envelope = b'"id":"%s","parent":%s,"ts":"2026-01-02T03:04:06Z"' % (entry_id, above)
    return b'{"type":"info",%s%s}' % (envelope, more)


def test_the_worked_example() -> None:
    old = ags.read(file(info(b"a1b2c3d4", more=b',"name":"Demo"')))
    new = old.migrated()
    assert new.leaf == "sha256:bd77536535e6371457e0541fe6050e13ba9bce986c7234d4abbaa9dc124108d1"
    entry = new.entries[0]
    assert identity(text.split_members(entry.line)).content == (
        "sha256:f20c3048c0f28c7c3b82172f1f1350f0175cb4f0fe80d1aae8cda0581ce0a676"
    )
    assert entry.legacy_id == "a1b2c3d4"
    assert new.resolve("a1b2c3d4") == new.resolve(entry.id) == entry.id
    with pytest.raises(ags.NoEntry):
        new.resolve("nothing")
    assert old.resolve("a1b2c3d4") == "a1b2c3d4"


def test_nothing_is_changed_in_place() -> None:
    data = file(info(b"a"), info(b"b", b"a"))
    old = ags.read(data)
    new = old.migrated(to="agentsession/0.11")
    assert ags.dump(old) == data
    assert old.header.format == "agentsession/0.2"
    assert new.header.line == HEADER.rstrip(b"\n").replace(b"0.2", b"0.11")
    assert new.unresolved == old.unresolved == ()
    with pytest.raises(ags.ReadOnly):
        new.append(ags.InfoEntry("x"))
    again = ags.read(ags.dump(new))
    assert [entry.id for entry in again] == [entry.id for entry in new]
    again.append(ags.InfoEntry("x"))
    for other in ("0.5", "0.12", "1.0"):
        with pytest.raises(ags.UnsupportedFormat):
            old.migrated(to=other)


def test_references_and_times_are_rewritten() -> None:
    build = SessionBuilder("agentsession/0.3")
    user = build.user("a", ts="2026-01-02T03:04:05.50+01:00")
    call = build.call("c")
    target = build.session.calls()[0].entry.id
    build.dispatch("c")
    build.decide("c", "proceed")
    queued = build.append(ags.QueuedEntry({"type": "x"}, "steer"))
    build.item({"type": "x"}, queued_from=queued)
    build.append(ags.LabelEntry(user, "here"))
    build.append(ags.OutcomeEntry("test", user))
    build.append(ags.BranchSummaryEntry(call, {"type": "x"}))
    build.append(ags.CompactionEntry(user, {"type": "x"}))
    new = build.session.migrated()
    renamed = {entry.legacy_id: entry.id for entry in new}
    assert new[renamed[user]].ts_text == "2026-01-02T02:04:05.5Z"
    assert new[renamed[target]].response == "resp_1"  # type: ignore[attr-defined]
    for entry_type, member, old in (
        ("dispatch", "target", target),
        ("decision", "target", target),
        ("label", "target", user),
        ("outcome", "target", user),
        ("branch_summary", "from", call),
        ("compaction", "first_kept", user),
    ):
        entry = next(entry for entry in new if entry.type == entry_type)
        assert entry.to_dict()[member] == renamed[old]
    assert any(entry.to_dict().get("queued_from") == renamed[queued] for entry in new)
    assert new.unresolved == ()
    assert new.labels == {renamed[user]: "here"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"type":"acme:x","id":"b","parent":"a","ts":"2026-01-02T03:04:06Z"}', "not known here"),
        (info(b"b", b"a", b',"content":1'), "content"),
        (info(b"b", b"a", b',"parents":[{"entry":"a"}]'), "parents"),
        (
            b'{"type":"label","id":"b","parent":"a","ts":"2026-01-02T03:04:06Z","target":"zz"}',
            "names no earlier entry",
        ),
    ],
)
def test_what_cannot_be_rewritten(line: bytes, problem: str, tmp_path: Path) -> None:
    source = tmp_path / "old.jsonl"
    source.write_bytes(file(info(b"a"), line))
    if b"content" in line:
        with pytest.raises(ags.UnresolvedMigration, match="content"):
            ags.read(source).migrated()
        with pytest.raises(ags.UnresolvedMigration):
            ags.migrate_file(source, tmp_path / "new.jsonl")
        assert not (tmp_path / "new.jsonl").exists()
        return
    new = ags.read(source).migrated()
    assert len(new.unresolved) == 1
    assert problem in new.unresolved[0]
    with pytest.raises(ags.UnresolvedMigration) as caught:
        ags.dump(new)
    assert caught.value.unresolved == new.unresolved
    with pytest.raises(ags.UnresolvedMigration):
        ags.write(tmp_path / "new.jsonl", new)


def test_what_has_no_hash() -> None:
    with pytest.raises(ags.UnresolvedMigration, match="entry a"):
        ags.read(file(info(b"a", more=b',"n":1e400'))).migrated()


def test_odd_values_are_normalised() -> None:
    old = ags.read(file(info(b"a", more=b',"n":9007199254740993,"s":"\\ud83d"')))
    entry = old.migrated().entries[0]
    assert [change["at"] for change in entry.normalised] == ["/n", "/s"]


def test_later_drafts_only_get_the_format() -> None:
    session = ags.Session(ags.Header(format="agentsession/0.11"))
    session.append(ags.InfoEntry("x"))
    old = ags.read(ags.dump(session).replace(b"/0.11", b"/0.6"))
    new = old.migrated()
    assert ags.dump(new) == ags.dump(session)
    with pytest.raises(ags.UnsupportedFormat):
        ags.read(ags.dump(session).replace(b"/0.11", b"/0.12"), allow_newer=True).migrated()


def test_a_file(tmp_path: Path) -> None:
    build = SessionBuilder("agentsession/0.3")
    build.config(model="m")
    build.user("a")
    build.answer("b")
    source, out = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    ags.write(source, build.session)
    before = source.read_bytes()
    found = ags.migrate_file(source, out)
    assert (found.whole, found.hashes, found.unresolved, found.lost) == (True, 1, (), ())
    assert source.read_bytes() == before
    assert out.read_bytes() == ags.dump(ags.read(out), canonical=True)
    with pytest.raises(ags.SessionExists):
        ags.migrate_file(source, out)
    with pytest.raises(ags.SessionExists):
        ags.migrate_file(source, source, force=True)
    source.write_bytes(before + b'{"type":')
    found = ags.migrate_file(source, out, force=True)
    assert not found.whole
    assert "cut short" in found.unresolved[0]


@settings(max_examples=60, deadline=None)
@given(sessions())
def test_every_hash_is_kept(session: ags.Session) -> None:
    build = SessionBuilder()
    build.session = session
    if session.leaf is not None:
        build.answer("x")
    before = session.verify_all()
    new = session.migrated()
    after = new.verify_all()
    assert [result.form for result in after] == [result.form for result in before]
    assert [new.resolve(result.entry_id) for result in before] == [r.entry_id for r in after]
    assert [entry.legacy_id for entry in new.path()] == [
        entry.id for entry in session.path(new[new.leaf].legacy_id if new.leaf else None)
    ]
    lines = b"".join(new.lines())
    assert [entry.id for entry in ags.read(lines)] == [entry.id for entry in new]


@settings(max_examples=30, deadline=None)
@given(sessions(), st.data())
def test_a_fork_of_a_migrated_session(session: ags.Session, data: st.DataObject) -> None:
    new = session.migrated()
    places = [entry.id for entry in new if entry.to_dict().get("label") != "leaf"]
    if not places:
        return
    base = data.draw(st.sampled_from(places))
    assert [e.line for e in ags.read(ags.dump(new.fork(base)))] == [e.line for e in new.path(base)]
