"""Puts the help texts of the command into ``docs/cli.md``; a test fails while they differ."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("cli.md")
_SECTION = re.compile(r"^(## (\S+)\n\n```text\n)Usage: .*?(```\n)", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Rewrite the first block of each command's section."""
    page = PAGE.read_text("utf-8")
    PAGE.write_text(_SECTION.sub(_refreshed, page), "utf-8")


def _refreshed(found: re.Match[str]) -> str:
    name = "" if found[2] == "agentsession" else found[2]
    command = [sys.executable, "-m", "agentsession", *filter(None, [name]), "--help"]
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment, text=True)
    return found[1] + done.stdout + found[3]


if __name__ == "__main__":
    main()
