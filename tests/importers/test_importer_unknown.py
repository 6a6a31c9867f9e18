"""What no release wrote is kept, counted and named: a word planted everywhere is found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsession.importers import registry
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.unknown import KIND, MEMBER, Kinds, Strange, shape, strange
from agentsession.stores import JSONLStore

DATA = Path(__file__).parents[1] / "data"
NAME = "zzNewMember"

Line = dict[str, Any]
Plant = Callable[[Line, str], None]


def imported(place: Path, store: Path, agent: str) -> ImportReport:
    importer = registry.load(agent)
    return import_sessions([Work(importer, tuple(importer.find([place])))], store)


def text_of(store: Path) -> str:
    return "".join(path.read_text() for path in sorted(store.rglob("*.jsonl")))


def inner(line: Line) -> Iterator[tuple[str, Line]]:
    """The objects of a line that an importer looks into, with their kind."""
    yield "line", line
    for name in ("payload", "message", "attachment"):
        member = line.get(name)
        if isinstance(member, dict):
            yield name, member
            content = member.get("content")
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict):
                    yield "block", block
            for told in ("rate_limits", "thread_settings"):
                yield from nested(told, member.get(told))
    yield from nested("compactMetadata", line.get("compactMetadata"))


def nested(name: str, value: Any) -> Iterator[tuple[str, Line]]:
    """An object and those in it."""
    if isinstance(value, dict):
        yield name, value
        for inside in value.values():
            yield from nested(name, inside)


class Planted:
    """A copy of some logs in which every object has a member that no release writes."""

    def __init__(self, source: Path, target: Path) -> None:
        self.told: dict[str, tuple[str, str, str]] = {}
        paths = [source] if source.is_file() else sorted(source.rglob("*.jsonl"))
        for path in paths:
            if path.name in (
                "requests.jsonl",
                "journal.jsonl",
                "history.jsonl",
                "session_index.jsonl",
            ):
                continue
            if "sessions-before-" in str(path):
                # Older copies of a session are left out whole.
                continue
            place = target / (path.relative_to(source) if source.is_dir() else path.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            lines = [self._planted(line) for line in path.read_text().splitlines()]
            place.write_text("".join(f"{line}\n" for line in lines))

    def _planted(self, text: str) -> str:
        try:
            line = json.loads(text)
        except ValueError:
            return text
        if not isinstance(line, dict):
            return text
        payload = line.get("payload")
        name = str(payload.get("type", "")) if isinstance(payload, dict) else ""
        # A copy of a line, which may have a time of its own, says the same words.
        told = {name: line[name] for name in line if name not in ("timestamp", "ordinal")}
        mark = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]
        for number, (kind, value) in enumerate(list(inner(line))):
            word = f"planted-{mark}-{number}"
            self.told[word] = (kind, str(line.get("type")), name)
            value[NAME] = word
        return json.dumps(line)

    def lost(self, kept: str) -> set[tuple[str, str, str]]:
        return {told for word, told in self.told.items() if word not in kept}


@pytest.mark.parametrize(
    ("agent", "source"),
    [
        *(("pi", f"pi/{path.name}") for path in sorted((DATA / "pi").iterdir())),
        ("pi", "pi-hostile"),
        *(
            ("codex", f"codex/{name}")
            for name in ("0.20.0-proto", "0.34.0-proto", "0.101.0-compact", "0.145.0-branch")
        ),
        *(("codex", f"codex/{name}") for name in ("0.171.0-branch", "0.171.0-subagent")),
        ("claude-code", "claude-code/claude-parallel-tools-tree.jsonl"),
        ("claude-code", "claude-code/claude-progress-forks.jsonl"),
        ("claude-code", "claude-code-recordings/2.1.200-compaction"),
        ("claude-code", "claude-code/claude-subagents"),
        ("claude-code", "claude-code/claude-unknown-records.jsonl"),
        ("claude-code", "claude-code/claude-usage-split-blocks.jsonl"),
    ],
)
def test_a_planted_member_is_found_in_the_store(agent: str, source: str, tmp_path: Path) -> None:
    planted = Planted(DATA / source, tmp_path / "home")
    assert planted.told
    # A header that stands in a file twice is left out whole.
    report = imported(tmp_path / "home", tmp_path / "store", agent)
    repeated = any(f["code"] == "repeated-header" for f in report.more["codes"])
    lost = {
        told
        for told in planted.lost(text_of(tmp_path / "store"))
        if told[1] != "progress" and not (repeated and told[1] == "session")
    }
    assert lost == set()
    named = [f.sentence for f in report.findings if f.code == MEMBER]
    assert any(sentence.endswith(f": {NAME}") for sentence in named)
    assert any(sentence.endswith(f".{NAME}") for sentence in named)
    read = report.totals["records"]
    assert read["read"] == read["entry"] + read["folded"] + read["left-out"]


def claude(kind: str, **more: Any) -> Line:
    return {
        "parentUuid": "a9",
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/u/proj",
        "sessionId": "c1a0de00-0000-4000-8000-00000000000a",
        "version": "2.9.0",
        "uuid": "n1",
        "timestamp": "2026-03-04T05:06:05Z",
        "type": kind,
        **more,
    }


def said(**more: Any) -> Line:
    return claude("user", message={"role": "user", "content": "hi", **more})


def codex(kind: str, **payload: Any) -> Line:
    return {"timestamp": "2026-03-04T05:06:09Z", "type": kind, "payload": payload}


def item(**more: Any) -> Line:
    content = [{"type": "input_text", "text": "a"}]
    return codex("response_item", **{"type": "message", "role": "user", "content": content, **more})


def pi(kind: str, **more: Any) -> Line:
    time = "2026-01-01T00:00:10Z"
    return {"type": kind, "id": "zz", "parentId": None, "timestamp": time, **more}


def pi_said(role: str, content: Any, **more: Any) -> Line:
    return pi("message", message={"role": role, "content": content, **more})


BIG = "planted " * 500
PLACES = {
    "claude-code": ("claude-code/claude-usage-split-blocks.jsonl", "x.jsonl"),
    "codex": (
        "codex-hostile/codex-both-tracks.jsonl",
        "rollout-2026-03-04T05-06-00-0c0de000-0000-7000-8000-00000000000c.jsonl",
    ),
    "pi": ("pi-hostile/parent.jsonl", "2026_zz.jsonl"),
}


@pytest.mark.parametrize(
    ("agent", "line", "code", "name"),
    [
        ("claude-code", claude("brand-new", x=BIG), "unknown-record", "brand-new"),
        (
            "claude-code",
            claude("attachment", attachment={"type": "newatt", "x": BIG}),
            KIND,
            "attachment type newatt",
        ),
        (
            "claude-code",
            claude("attachment", attachment={"type": "date", "x": BIG}),
            MEMBER,
            "attachment.x",
        ),
        (
            "claude-code",
            claude("system", subtype="newsub", content=BIG),
            KIND,
            "system subtype newsub",
        ),
        (
            "claude-code",
            claude(
                "system", subtype="compact_boundary", compactMetadata={"preTokens": 1, "x": BIG}
            ),
            MEMBER,
            "compactMetadata.x",
        ),
        (
            "claude-code",
            claude(
                "system",
                subtype="compact_boundary",
                compactMetadata={"preservedSegment": {"headUuid": "a9", "x": BIG}},
            ),
            MEMBER,
            "compactMetadata.preservedSegment.x",
        ),
        ("claude-code", said(role="weird", content=BIG), KIND, "message role weird"),
        ("claude-code", said(newMember=BIG), MEMBER, "message.newMember"),
        ("claude-code", said(content=[{"type": "newb", "x": BIG}]), "unknown-block", "newb"),
        (
            "claude-code",
            said(content=[{"type": "text", "text": "a", "x": BIG}]),
            MEMBER,
            "message.content[].x",
        ),
        (
            "claude-code",
            {"type": "queue-operation", "operation": "dequeue", "x": BIG},
            MEMBER,
            "x",
        ),
        ("codex", codex("newline", x=BIG), "unknown-record", "newline"),
        ("codex", codex("event_msg", type="newevent", x=BIG), "unknown-event", "newevent"),
        ("codex", item(type="newitem", x=BIG), "unknown-item", "newitem"),
        ("codex", {**item(), "weird": BIG}, MEMBER, "weird"),
        ("codex", item(newm=BIG), MEMBER, "payload.newm"),
        (
            "codex",
            item(content=[{"type": "input_new", "text": BIG}]),
            KIND,
            "payload.content[] type input_new",
        ),
        ("codex", codex("event_msg", type="token_count", x=BIG), MEMBER, "payload.x"),
        (
            "codex",
            codex("event_msg", type="token_count", rate_limits={"primary": {"x": BIG}}),
            MEMBER,
            "payload.rate_limits.primary.x",
        ),
        (
            "codex",
            codex(
                "event_msg",
                type="thread_settings_applied",
                thread_settings={"model": "m", "collaboration_mode": {"settings": {"x": BIG}}},
            ),
            MEMBER,
            "payload.thread_settings.collaboration_mode.settings.x",
        ),
        ("pi", pi("newt", x=BIG), "unknown-record", "newt"),
        ("pi", pi_said("newrole", BIG), "unknown-role", "newrole"),
        ("pi", {**pi_said("user", "a"), "newm": BIG}, MEMBER, "newm"),
        ("pi", pi_said("user", "a", newm=BIG), MEMBER, "message.newm"),
        (
            "pi",
            pi_said("assistant", [{"type": "newb", "x": BIG}], stopReason="stop"),
            KIND,
            "message.content[] type newb",
        ),
        ("pi", pi_said("user", ["words", BIG]), KIND, "message.content[]"),
        ("pi", pi("model_change", provider="p", modelId="m", x=BIG), MEMBER, "x"),
    ],
)
def test_much_that_is_unknown_is_loud(
    agent: str, line: Line, code: str, name: str, tmp_path: Path
) -> None:
    source, file = PLACES[agent]
    place = tmp_path / "home" / file
    place.parent.mkdir()
    place.write_text((DATA / source).read_text() + json.dumps(line) + "\n")
    report = imported(place, tmp_path / "store", agent)
    assert [alarm["code"] for alarm in report.more["alarms"]] == ["unknown-content"]
    assert not report.ok
    found = [f.sentence for f in report.findings if f.code == code]
    assert any(sentence.endswith(f": {name}") for sentence in found)
    assert BIG.strip() in text_of(tmp_path / "store")


@pytest.mark.parametrize("agent", PLACES)
def test_what_is_known_is_not_told(agent: str, tmp_path: Path) -> None:
    source, _ = PLACES[agent]
    report = imported(DATA / source, tmp_path / "store", agent)
    assert [f.code for f in report.findings if f.code.startswith("unknown")] == []
    assert report.ok
    assert '"unknown":[' not in text_of(tmp_path / "store")


def test_unknown_numbers_and_depths_are_no_problem(tmp_path: Path) -> None:
    deep = "[" * 9_500 + "]" * 9_500
    for agent, (source, file) in PLACES.items():
        place = tmp_path / agent / file
        place.parent.mkdir()
        lines = (DATA / source).read_text().splitlines()
        extra = f'"zz":1e999,"yy":{deep},'
        # Behind the first member, which tells a reader what begins here.
        lines[0] = lines[0].replace(",", f",{extra}", 1)
        place.write_text("\n".join(lines) + "\n")
        report = imported(place, tmp_path / f"{agent}-store", agent)
        # To Claude Code's reader a number beyond any double is damage.
        wanted = "unreadable-record" if agent == "claude-code" else "unknown-content"
        assert [alarm["code"] for alarm in report.more["alarms"]] == [wanted]
        with JSONLStore(tmp_path / f"{agent}-store") as store:
            assert len(list(store.list())) == 1


def test_names_are_told_up_to_a_number(tmp_path: Path) -> None:
    source, file = PLACES["pi"]
    place = tmp_path / file
    many = {f"m{number}": 0 for number in range(200)}
    line = {**pi_said("user", "a"), **many, "bell\x07\n" + "x" * 200: 0}
    place.write_text((DATA / source).read_text() + json.dumps(line) + "\n")
    report = imported(place, tmp_path / "store", "pi")
    found = [f for f in report.findings if f.code == MEMBER]
    assert sum(f.count for f in found) == 201
    assert len(found) <= 60
    assert found[-1].sentence.endswith(": and others")
    assert all(f.sentence.isprintable() for f in found)
    assert all(f'"{name}"' in text_of(tmp_path / "store") for name in many)


def test_shapes_look_inside() -> None:
    part = Kinds("type", {"text": shape("type text"), "free": None}, plain=True)
    wanted = shape("role", content=part, usage=shape("input"))
    assert strange({"role": "a", "content": "words", "usage": None}, wanted) == []
    assert strange({"content": ["words", {"type": "free", "x": 1}]}, wanted) == []
    found = strange(
        {"content": [{"type": "text", "x": 1}, {"type": "new"}, 3], "usage": {"y": 2}, "z": 0},
        wanted,
    )
    assert found == [
        Strange("z", "z", 0),
        Strange("content[].x", "content[0].x", 1),
        Strange("content[] type new", "content[1]", {"type": "new"}, is_kind=True),
        Strange("content[]", "content[2]", 3, is_kind=True),
        Strange("usage.y", "usage.y", 2),
    ]
