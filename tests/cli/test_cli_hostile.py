"""Every damaged or awkward file through every command: a sentence, an exit code, no more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cli_runner import HOSTILE, Caller

READS = ""

# File: (what refuses it, or READS; then for a file that reads: exit of verify, and a
# piece of its last line). A refused file is refused by every command with that sentence.
TABLE = {
    "asf-bad-line-in-middle": ("line 4: not JSON: ", 1, ""),
    "asf-bom-and-crlf": ("line 1: the file starts with a byte order mark", 1, ""),
    "asf-deep-nesting": (READS, 0, "0 verified"),
    "asf-duplicate-entry-id": ('line 5: entry id "i2" is already used', 1, ""),
    "asf-duplicate-keys": (READS, 0, "0 verified"),
    "asf-empty": ("the file is empty", 1, ""),
    "asf-header-only": (READS, 1, "nothing to verify"),
    "asf-header-torn": ("line 1: header is not a JSON object", 1, ""),
    "asf-key-order-utf16": (READS, 0, "0 verified"),
    "asf-lone-surrogate": (READS, 0, "0 verified"),
    "asf-member-order-and-spaces": (READS, 0, "0 verified"),
    "asf-not-entries": ("line 5: not JSON: ", 1, ""),
    "asf-nul-run": ("line 4: not JSON: a NUL byte", 1, ""),
    "asf-nul-tail": (READS, 1, "truncated: line 5 was cut short: not JSON: a NUL byte"),
    "asf-only-newline": ("the file has only blank lines", 1, ""),
    "asf-parallel-calls": (READS, 0, "0 verified"),
    "asf-parent-missing": ('line 4: entry i2 has parent "nowhere"', 1, ""),
    "asf-same-image-five-times": (READS, 0, "0 verified"),
    "asf-tail-complete-without-newline": (READS, 0, "0 verified"),
    "asf-timestamps": (READS, 1, "truncated: line 6 was cut short: entry ts: "),
    "asf-torn-tail": (READS, 1, "truncated: line 6 was cut short: not JSON: "),
    "asf-two-records-one-line": ("line 4: not JSON: ", 1, ""),
}
FORGIVEN = {"asf-duplicate-keys", "asf-lone-surrogate"}
"""Readable, with something inside a body that other readers may take in another way."""

UNLISTABLE = {"asf-bom-and-crlf", "asf-empty", "asf-header-torn", "asf-only-newline"}


def path_of(name: str) -> Path:
    return HOSTILE / f"{name}.jsonl"


def test_the_table_has_every_file() -> None:
    assert {path.stem for path in HOSTILE.glob("*.jsonl")} == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_show(call: Caller, name: str) -> None:
    problem, _, ending = TABLE[name]
    for options in ([], ["-v"], ["--json"]):
        shown = call("show", *options, path_of(name))
        if problem:
            assert (shown.code, shown.out) == (1, "")
            assert shown.err.startswith(f"agentsession: {path_of(name)}: {problem}")
            assert shown.err.count("\n") == 1
        else:
            assert (shown.code, shown.err) == (0, "")
            assert all(line.isprintable() for line in shown.out.split("\n"))
    if not problem:
        is_cut = ending.startswith("truncated")
        assert (call("show", "--json", path_of(name)).json["truncated"] is not None) is is_cut
        assert call("show", path_of(name)).out.splitlines()[-1].startswith("truncated:") is is_cut


@pytest.mark.parametrize("name", TABLE)
def test_verify(call: Caller, name: str) -> None:
    problem, code, ending = TABLE[name]
    checked = call("verify", path_of(name))
    assert checked.code == code
    report = call("verify", "--json", path_of(name))
    assert report.code == code
    if problem:
        assert (checked.out, report.out) == ("", "")
        assert checked.err == report.err
        assert checked.err.startswith(f"agentsession: {path_of(name)}: {problem}")
        assert checked.err.count("\n") == 1
    else:
        assert (checked.err, report.err) == ("", "")
        lines = checked.out.splitlines()
        assert [line for line in lines if not line.startswith("note: ")][-1].startswith(ending)
        unclear = "used twice" if name == "asf-duplicate-keys" else "lone surrogate"
        forgiven = [line for line in lines if line.startswith("note: entry ")]
        assert all(unclear in line for line in forgiven)
        assert bool(forgiven) is (name in FORGIVEN)
        assert report.json["ok"] is (code == 0)


def test_list(call: Caller, tmp_path: Path) -> None:
    project = tmp_path / "default"
    project.mkdir()
    for name in TABLE:
        shutil.copy(path_of(name), project / f"2026-03-04T05-06-00.000Z_{name}.jsonl")
    listed = call("list", tmp_path)
    assert listed.code == 1
    good = listed.out.splitlines()[1:]
    assert len(good) == len(TABLE) - len(UNLISTABLE)
    complaints = listed.err.splitlines()
    assert len(complaints) == len(UNLISTABLE)
    for name in UNLISTABLE:
        (complaint,) = [line for line in complaints if f"_{name}.jsonl: " in line]
        assert complaint.startswith("agentsession: ")
        assert TABLE[name][0].partition(": ")[2] in complaint
    report = call("list", "--json", tmp_path)
    assert report.code == 1
    assert len(report.json["sessions"]) == len(good)
    assert [f"agentsession: {error}" for error in report.json["errors"]] == complaints
