"""The tools of the example agent, what the model is told about them, and its policy.

Nothing here knows of sessions: a tool takes JSON arguments and gives back a text.
"""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONGEST_READ = 20_000  # characters
LONGEST_WAIT = 600  # seconds


class Toolbox:
    """Four tools over the files of one directory."""

    def __init__(self, directory: Path) -> None:
        """Take the directory that paths are relative to."""
        self.directory = directory
        self.tools: dict[str, Callable[..., str]] = {
            "add": self.add,
            "read_file": self.read_file,
            "wait_for_file": self.wait_for_file,
            "delete_file": self.delete_file,
        }

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The tools as the model is told about them."""
        number_list = {"type": "array", "items": {"type": "number"}}
        path, seconds = {"type": "string"}, {"type": "number"}
        return [
            function("add", "Adds numbers.", numbers=number_list),
            function("read_file", "Reads a file of the project.", path=path),
            function(
                "wait_for_file", "Waits for a file, then reads it.", path=path, seconds=seconds
            ),
            function("delete_file", "Deletes a file of the project.", path=path),
        ]

    def policy(self, name: str, arguments: str) -> tuple[str, str]:
        """Return a verdict on a call, ``proceed``, ``hold`` or ``reject``, and why."""
        try:
            values = parse_arguments(arguments)
        except ValueError:
            return "proceed", ""  # the tool says what is wrong with them
        if "path" in values and not self.is_inside(str(values["path"])):
            return "reject", f"{values['path']} is outside of the project"
        if name == "delete_file":
            return "hold", "deleting a file needs a yes"
        return "proceed", ""

    def run(self, name: str, arguments: str) -> str:
        """Return what a tool says; what goes wrong is said to the model, not raised."""
        tool = self.tools.get(name)
        if tool is None:
            return f"error: there is no tool named {name}"
        try:
            return tool(**parse_arguments(arguments))
        except (OSError, TypeError, ValueError, OverflowError) as error:
            return f"error: {error}"

    def is_inside(self, path: str) -> bool:
        """Return whether a path stays inside the directory."""
        try:
            return (self.directory / path).resolve().is_relative_to(self.directory.resolve())
        except (OSError, ValueError):
            return False

    def inside(self, path: str) -> Path:
        """Return a path inside the directory.

        Raises:
            ValueError: when it leads out of it.
        """
        if not self.is_inside(path):
            raise ValueError(f"{path} is outside of the project")
        return self.directory / path

    def add(self, numbers: list[float]) -> str:
        """Return a sum."""
        return f"{math.fsum(numbers):.12g}"

    def read_file(self, path: str) -> str:
        """Return the text of a file, cut when it is very long."""
        return self.inside(path).read_text(encoding="utf-8", errors="replace")[:LONGEST_READ]

    def wait_for_file(self, path: str, seconds: float = 60) -> str:
        """Return the text of a file as soon as it is there. The slow tool."""
        deadline = time.monotonic() + min(seconds, LONGEST_WAIT)
        while not self.inside(path).exists():
            if time.monotonic() > deadline:
                return f"error: {path} is still not there after {seconds} seconds"
            time.sleep(0.05)
        return self.read_file(path)

    def delete_file(self, path: str) -> str:
        """Delete a file."""
        self.inside(path).unlink()
        return f"{path} is deleted"


def function(name: str, description: str, **parameters: Any) -> dict[str, Any]:
    """Return a function tool whose parameters are all required."""
    schema = {
        "type": "object",
        "properties": parameters,
        "required": list(parameters),
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "name": name,
        "description": description,
        "parameters": schema,
        "strict": True,
    }


def parse_arguments(arguments: str) -> dict[str, Any]:
    """Return the arguments of a call.

    Raises:
        ValueError: when they are no JSON object.
    """
    try:
        values = json.loads(arguments)
    except RecursionError:
        values = None
    if not isinstance(values, dict):
        raise ValueError("arguments must be a JSON object")  # noqa: TRY004
    return values
