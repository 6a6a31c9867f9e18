"""Real file systems that are full, read-only, or lose what they took.

They are mounted in a mount namespace of a process of its own, which ends with it. Where
that is not allowed these tests are skipped; the faults are then those of
``test_jsonl_faults.py`` and the tests of the SQLite store.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PREAMBLE = """
import errno, json, os, sys
from pathlib import Path
from agentsession import writing
from agentsession.errors import AgentSessionError, ReadOnly, StoreFailed
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore, SQLiteStore, Summary, SyncPolicy, open_store

place = Path(sys.argv[1])

def names(session):
    return [entry.to_dict()["name"][:12] for entry in session]

def refusal(call, *args):
    try:
        call(*args)
    except AgentSessionError as error:
        code = getattr(error, "errno", None)
        return [type(error).__name__, errno.errorcode.get(code), str(error).isprintable()]
    return "nothing"
"""


def mounted(tmp_path: Path, mounts: str, *codes: str) -> list[Any]:
    """Run code in a mount namespace, each piece in a process of its own; return what it prints."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    # In a user namespace an ordinary user may mount as well, where the system lets him.
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    probe = [*unshare, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("may not mount")
    place = tmp_path / "mounted"
    place.mkdir()
    lines = ["set -e", mounts.format(place=place, tmp=tmp_path)]
    for number, code in enumerate(codes):
        script = tmp_path / f"{number}.py"
        script.write_text(PREAMBLE + code)
        lines.append(f"{sys.executable} {script} {place}")
        lines.append(f"[ ! -f {tmp_path}/{number}.sh ] || . {tmp_path}/{number}.sh")
    done = subprocess.run(
        [*unshare, "sh", "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    if done.returncode == 75:
        pytest.skip(done.stdout)
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


FULL = """
kind = JSONLStore if KIND == "files" else SQLiteStore
target = place / ("root" if KIND == "files" else "s.db")
store = kind(target)
ballast = place / "ballast"
ballast.write_bytes(bytes(200_000))
session = store.create(Header(id="s"))
appended = []
failed = None
for n in range(1000):
    name = f"n{n} " + "x" * 4000
    try:
        store.append("s", InfoEntry(name))
        appended.append(name[:12])
    except StoreFailed as error:
        # A write that took a part of the line has no number.
        failed = errno.errorcode.get(error.errno, "ENOSPC")
        break
print(json.dumps([failed, len(appended) > 20, names(session) == appended]))
print(json.dumps(refusal(store.create, Header(id="t", unknown={"x": "y" * 100_000}))))
print(json.dumps(names(store.open("s")) == appended))
ballast.unlink()
store.append("s", InfoEntry("there is room"))
appended.append("there is roo")
store.create(Header(id="t", unknown={"x": "y" * 100_000}))
store.close()
with kind(target, read_only=True) as store:
    session = store.open("s")
    print(json.dumps([names(session) == appended, session.truncated is None]))
    print(json.dumps(sorted(item.id for item in store.list() if isinstance(item, Summary))))
left = [p.name for p in place.rglob("*") if p.suffix in (".lock", ".tmp")]
print(json.dumps(left))
"""


@pytest.mark.parametrize("kind", ["files", "sqlite"])
def test_a_full_file_system(tmp_path: Path, kind: str) -> None:
    said = mounted(
        tmp_path,
        "mount -t tmpfs -o size=1m tmpfs {place}",
        f"KIND = {kind!r}\n" + FULL,
    )
    assert said == [
        ["ENOSPC", True, True],
        ["StoreFailed", "ENOSPC", True],
        True,
        [True, True],
        ["s", "t"],
        [],
    ]


BEFORE = """
for target in ("root", "s.db"):
    with open_store(place / target) as store:
        session = store.create(Header(id="s"))
        for n in range(5):
            session.append(InfoEntry(f"n{n}"))
# A database as a killed process leaves it: its last rows are in the log alone.
pid = os.fork()
if not pid:
    store = SQLiteStore(place / "s.db")
    store.append("s", InfoEntry("n5"))
    os.kill(os.getpid(), 9)
os.waitpid(pid, 0)
"""

AFTER = """
before = {str(p): p.read_bytes() for p in place.rglob("*") if p.is_file()}
for kind, target in ((JSONLStore, "root"), (SQLiteStore, "s.db")):
    with kind(place / target, read_only=True) as store:
        session = store.open("s")
        listed = [item.id for item in store.list()]
        print(json.dumps([names(session), listed, refusal(store.append, "s", InfoEntry("x"))]))
with JSONLStore(place / "root") as store:
    print(json.dumps([refusal(store.append, "s", InfoEntry("x")), refusal(store.create)]))
    print(json.dumps([refusal(store.open, "s"), refusal(store.delete, "s")]))
print(json.dumps([refusal(JSONLStore, place / "new"), refusal(SQLiteStore, place / "new.db")]))
print(json.dumps(refusal(SQLiteStore, place / "s.db")))
print(json.dumps({str(p): p.read_bytes() for p in place.rglob("*") if p.is_file()} == before))
"""


def test_a_read_only_file_system(tmp_path: Path) -> None:
    (tmp_path / "0.sh").write_text(f"mount -o remount,ro {tmp_path}/mounted\n")
    said = mounted(tmp_path, "mount -t tmpfs -o size=8m tmpfs {place}", BEFORE, AFTER)
    five = [f"n{n}" for n in range(5)]
    refused = ["StoreFailed", "EROFS", True]
    assert said[:2] == [
        [five, ["s"], ["ReadOnly", None, True]],
        [[*five, "n5"], ["s"], ["ReadOnly", None, True]],
    ]
    assert said[2:5] == [[refused] * 2] * 2 + [[refused, said[4][1]]]
    assert said[4][1][0] == said[5][0] == "StoreFailed"
    assert said[6] is True


LYING = """
real = os.fsync
syncs = []

def fsync(fd):
    try:
        real(fd)
    except OSError as error:
        syncs.append(error.errno)
        raise

os.fsync = fsync
store = JSONLStore(place / "root")
session = store.create(Header(id="s"))
appended = 0
failed = None
while failed is None and appended < 500:
    try:
        store.append("s", InfoEntry(f"n{appended} " + "x" * 60_000))
        appended += 1
    except StoreFailed as error:
        failed = error.errno
# The write was taken and the sync failed; a second sync would say that all is well.
print(json.dumps([failed in (errno.EIO, errno.ENOSPC), syncs[0] == failed]))
print(json.dumps([len(session) == appended > 5, refusal(session.append, InfoEntry("x"))[0]]))
size = store.path("s").stat().st_size
with JSONLStore(place / "root", read_only=True) as reader:
    again = reader.open("s")
    print(json.dumps([len(again) == appended, size == len(writing.dump(again))]))
"""


def test_a_device_that_took_a_write_and_cannot_keep_it(tmp_path: Path) -> None:
    """A disk in a file on a file system that is full: the sync is what fails."""
    if shutil.which("mkfs.ext4") is None or not Path("/dev/loop-control").exists():
        pytest.skip("needs ext4 and loop devices")
    said = mounted(
        tmp_path,
        "mkdir {tmp}/under; mount -t tmpfs -o size=3m tmpfs {tmp}/under; "
        "truncate -s 32M {tmp}/under/disk; "
        "mkfs.ext4 -q -O ^has_journal -E nodiscard {tmp}/under/disk; "
        "mount -o loop {tmp}/under/disk {place} 2>&1 || exit 75",
        LYING,
    )
    assert said == [[True, True], [True, "StoreFailed"], [True, True]]
