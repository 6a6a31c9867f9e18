"""``agentsession atif validate``: verdicts, places, exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from cli_runner import Caller, command, run

DATA = Path(__file__).parents[1] / "data" / "atif"
PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
VALID = sorted((DATA / "valid").glob("*.json"), key=lambda path: "audio" in path.name)
INVALID = sorted((DATA / "invalid").glob("*.json"))


def test_valid_documents(call: Caller) -> None:
    ran = call("atif", "validate", *VALID)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("  valid ATIF-v1.") == len(VALID)


def test_every_invalid_document_names_a_place_and_a_rule(call: Caller) -> None:
    for path in INVALID:
        ran = call("atif", "validate", path)
        assert (ran.code, ran.err) == (1, "")
        for line in ran.out.splitlines():
            assert line.startswith(f"{path}  INVALID $")
            assert line.endswith("]")


def test_one_bad_file_does_not_stop_the_others(call: Caller, tmp_path: Path) -> None:
    ran = call("atif", "validate", tmp_path / "nothing.json", tmp_path, VALID[0])
    lines = ran.out.splitlines()
    assert ran.code == 1
    assert lines[0].endswith("ERROR no such file or directory")
    assert lines[1].endswith("ERROR is a directory")
    assert "  valid " in lines[2]


def test_strict_is_told_apart(call: Caller, tmp_path: Path) -> None:
    verdicts = json.loads((DATA / "expected.json").read_bytes())
    assert verdicts
    odd = tmp_path / "nan.json"
    document = json.loads(VALID[0].read_bytes())
    document.setdefault("extra", {})["x"] = float("nan")
    odd.write_text(json.dumps(document))
    assert call("atif", "validate", odd).code == 0
    assert call("atif", "validate", "--strict", odd).code == 1
    assert call("atif", "validate", odd, "-strict").code == 1


def test_json(call: Caller, tmp_path: Path) -> None:
    ran = call("atif", "validate", VALID[0], INVALID[0], tmp_path / "nothing", "--json")
    report = ran.json
    assert ran.code == 1
    assert (report["schema"], report["command"], report["ok"]) == (1, "atif validate", False)
    good, bad, missing = report["files"]
    assert (good["valid"], good["error"], good["findings"]) == (True, None, [])
    assert bad["findings"][0]["level"] == "error"
    assert missing == {
        "file": str(tmp_path / "nothing"),
        "valid": False,
        "error": "no such file or directory",
    }
    section = PAGE.partition("field of `atif validate --json`")[2].partition("\n## ")[0]
    for field in (*good, *bad["findings"][0], *good["totals"]):
        assert re.search(rf"[.`]{field}\b", section), field


def test_standard_input_and_wrong_usage(tmp_path: Path) -> None:
    done = subprocess.run(
        command("atif", "validate", "-"),
        input=VALID[0].read_bytes(),
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=dict(os.environ),
    )
    assert done.returncode == 0
    assert run("atif", "validate").code == 2
    assert run("atif").code == 2
    assert "unknown command" in run("atif", "nope").err


def test_the_help_is_documented(call: Caller) -> None:
    assert f"```text\n{call('atif', 'validate', '--help').out}```\n" in PAGE
