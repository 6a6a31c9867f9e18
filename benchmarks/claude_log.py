"""A Claude Code log to measure with: seeded, and with the sizes and spellings of real ones.

Real logs have short lines and long ones: most bytes stand in the results of tools, which
are kept twice, as the model was sent them and once more as the program had them
(``toolUseResult``), with whole files before an edit. Around them stand answers split into
one line a block, lines that only show progress, undo copies, and lines about the session.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"
FOLDER = "-home-dev-project"
_MODEL = "claude-opus-4-5-20251101"
_WORDS = (
    "the value of each line is read and then written back to a file where return self import "
    "class def None True path name index result error test config parser tree node session "
    "while for with open close async await yield task http request response a[i] x += 1 == 0 "
    "{'key': 'value'} data[\"name\"] \"text\" f(x): -> // /* */ <div> &amp; C:\\temp\\log.txt"
).split(" ")
_RARE = "Größe Überprüfung naïve café 値 文字列 проверка ошибка 🙂 ✓ — … “quoted” →".split(" ")
_RARELY = 0.03


class ClaudeLog:
    """The lines of one session.

    Args:
        size: about how many bytes.
        seed: the same seed gives the same log.
        release: the release that is said to have written it.
    """

    def __init__(self, size: int, seed: int = 7, release: str = "2.1.200") -> None:
        self._size = size
        self._random = random.Random(seed)
        self._made = 0
        self._clock = 1_772_000_000_000
        self._parent: str | None = None
        self._turn = 0
        pool = [
            self._random.choice(_RARE if self._random.random() < _RARELY else _WORDS)
            for _ in range(20_000)
        ]
        self._text = " ".join(
            word + ("\n    " if self._random.random() < 0.12 else "") for word in pool
        )
        self._common = {
            "userType": "external",
            "entrypoint": "cli",
            "cwd": "/home/dev/project",
            "sessionId": SESSION,
            "version": release,
            "gitBranch": "main",
        }

    def __iter__(self) -> Iterator[bytes]:
        while self._made < self._size:
            self._turn += 1
            yield from self._prompt()
            for _ in range(self._random.randint(2, 14)):
                yield from self._step()
            yield from self._end()

    # Pieces.

    def _words(self, low: int, high: int) -> str:
        """Some text whose length is spread as in real logs: mostly short, sometimes long."""
        length = int(low * (high / low) ** self._random.random())
        start = self._random.randrange(len(self._text))
        found = self._text[start : start + length]
        while len(found) < length:
            found += self._text[: length - len(found)]
        return found

    def _name(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _time(self) -> str:
        self._clock += self._random.randint(20, 9000)
        seconds, milli = divmod(self._clock, 1000)
        days, rest = divmod(seconds - 1_772_000_000, 86_400)
        clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}.{milli:03d}Z"
        return f"2026-{3 + days // 28:02d}-{1 + days % 28:02d}T{clock}"

    def _line(self, members: dict[str, Any]) -> bytes:
        written = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._made += len(written)
        return written

    def _tree(self, kind: str, members: dict[str, Any], after: dict[str, Any]) -> bytes:
        name = self._name()
        told = {"parentUuid": self._parent, "isSidechain": False, **members, "type": kind}
        told |= {"uuid": name, "timestamp": self._time(), **after, **self._common}
        self._parent = name
        return self._line(told)

    # Lines.

    def _prompt(self) -> Iterator[bytes]:
        words = self._words(60, 2500)
        queue = {"timestamp": self._time(), "sessionId": SESSION}
        head = {"type": "queue-operation", "operation": "enqueue"}
        yield self._line({**head, **queue, "content": words})
        yield self._line({**head, **queue, "operation": "dequeue"})
        if self._turn % 3 == 0:
            snapshot = {"messageId": self._name(), "timestamp": self._time()}
            backups = {
                f"src/module{n}.py": {"backupFileName": f"{n:016x}@v2", "version": 2}
                for n in range(self._random.randint(1, 20))
            }
            snapshot["trackedFileBackups"] = backups  # type: ignore[assignment]
            yield self._line({"type": "file-history-snapshot", "snapshot": snapshot})
        message = {"role": "user", "content": words}
        yield self._tree("user", {"promptId": self._name(), "message": message}, {})
        told = {"type": "edited_text_file", "filename": "/home/dev/project/notes.txt"}
        if self._turn % 4 == 0:
            yield self._tree(
                "attachment", {"attachment": {**told, "snippet": self._words(100, 3000)}}, {}
            )

    def _answer(self, number: int, block: dict[str, Any], stop: str) -> bytes:
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": 900 + number % 700,
            "cache_read_input_tokens": 40_000 + number % 110_000,
            "output_tokens": 300 + number % 99,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 900},
            "inference_geo": "",
            "iterations": [],
            "speed": "standard",
        }
        message = {"id": f"msg_{number:024d}", "type": "message", "role": "assistant"}
        message |= {"model": _MODEL}
        whole = {**message, "content": [block], "stop_reason": stop, "stop_sequence": None}
        whole |= {"usage": usage, "stop_details": None}
        return self._tree("assistant", {"message": whole, "requestId": f"req_{number:024d}"}, {})

    def _step(self) -> Iterator[bytes]:
        number = self._random.getrandbits(60)
        chance = self._random.random
        if chance() < 0.35:
            thought = {"type": "thinking", "thinking": self._words(100, 3000)}
            signature = "".join(
                self._random.choices("ABCxyz0189+/", k=self._random.randint(300, 900))
            )
            yield self._answer(number, {**thought, "signature": signature}, "tool_use")
        if chance() < 0.5:
            said = {"type": "text", "text": self._words(40, 1500)}
            yield self._answer(number, said, "tool_use")
        for place in range(1 if chance() < 0.85 else 2):
            call = f"toolu_{number:020d}{place}"
            yield from self._call(number, call)

    def _call(self, number: int, call: str) -> Iterator[bytes]:
        tool = self._random.choices(("Bash", "Read", "Edit", "Grep"), (4, 4, 3, 2))[0]
        path = f"/home/dev/project/src/module{number % 50}.py"
        output = self._words(80, 24_000 if tool == "Read" else 9000)
        asked: dict[str, Any]
        kept: dict[str, Any]
        if tool == "Bash":
            if self._random.random() < 0.2:
                output = f"\x1b[32m{output}\x1b[0m"
            asked = {"command": self._words(20, 400), "description": self._words(15, 60)}
            kept = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        elif tool == "Read":
            lines = output.split("\n")
            file = {"filePath": path, "content": output, "numLines": len(lines)}
            kept = {"type": "text", "file": {**file, "startLine": 1, "totalLines": len(lines)}}
            output = "\n".join(f"{at:6d}\t{line}" for at, line in enumerate(lines, 1))
            asked = {"file_path": path}
        elif tool == "Edit":
            old, new = self._words(50, 1200), self._words(50, 1500)
            asked = {"file_path": path, "old_string": old, "new_string": new}
            hunk = {"oldStart": 7, "oldLines": 9, "newStart": 7, "newLines": 11}
            patch = [{**hunk, "lines": ["+" + line for line in new.split("\n")]}]
            kept = {"filePath": path, "oldString": old, "newString": new}
            kept |= {"originalFile": self._words(900, 24_000), "structuredPatch": patch}
            kept |= {"userModified": False, "replaceAll": False}
            output = f"The file {path} has been updated.\n{self._words(80, 2500)}"
        else:
            asked = {"pattern": self._words(5, 40), "output_mode": "content"}
            kept = {"mode": "content", "filenames": [], "content": output, "numLines": 9}
        block = {"type": "tool_use", "id": call, "name": tool, "input": asked}
        yield self._answer(number, block, "tool_use")
        caller = self._parent
        if tool == "Bash" and self._random.random() < 0.4:
            data = {
                "type": "bash_progress",
                "output": self._words(20, 400),
                "elapsedTimeSeconds": 3,
            }
            named = {"toolUseID": f"bash-progress-{self._turn}", "parentToolUseID": call}
            before = self._parent
            yield self._tree("progress", {"data": data, **named}, {})
            self._parent = before
        result = {"tool_use_id": call, "type": "tool_result", "content": output}
        if tool == "Bash":
            result["is_error"] = False  # type: ignore[assignment]
        message = {"role": "user", "content": [result]}
        beside = {"toolUseResult": kept, "sourceToolAssistantUUID": caller}
        yield self._tree("user", {"promptId": self._name(), "message": message}, beside)

    def _end(self) -> Iterator[bytes]:
        number = self._random.getrandbits(60)
        yield self._answer(number, {"type": "text", "text": self._words(200, 3000)}, "end_turn")
        if self._turn % 2 == 0:
            told = {
                "subtype": "turn_duration",
                "durationMs": 81_000 + number % 999,
                "isMeta": False,
            }
            yield self._tree("system", told, {})
        leaf = {"leafUuid": self._parent, "sessionId": SESSION}
        yield self._line({"type": "last-prompt", "lastPrompt": self._words(20, 200), **leaf})


def claude_log(folder: Path, size: int, *, seed: int = 7, release: str = "2.1.200") -> Path:
    """Return the log of a home made in a folder, about so many bytes long."""
    place = folder / "projects" / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{SESSION}.jsonl"
    with path.open("wb") as file:
        file.writelines(ClaudeLog(size, seed, release))
    return path
