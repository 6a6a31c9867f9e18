"""Rows: one for each step, with fixed columns, for people who train and analyse.

Spec: decision E8.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from agentsession import text
from agentsession.export.atomic import write_whole
from agentsession.export.errors import CannotExport

COLUMNS: Final[dict[str, str]] = {
    "document_id": "string",
    "session_id": "string",
    "trajectory_id": "string",
    "main": "bool",
    "step_id": "int64",
    "entry_id": "string",
    "timestamp": "string",
    "source": "string",
    "model": "string",
    "text": "string",
    "reasoning": "string",
    "tool_name": "string",
    "arguments": "string",
    "observation": "string",
    "prompt_tokens": "int64",
    "completion_tokens": "int64",
    "cached_tokens": "int64",
    "cost_usd": "double",
    "llm_call_count": "int64",
    "is_copied_context": "bool",
    "labels": "string",
    "outcome": "string",
    "document_outcome": "string",
}
"""The columns in order, and their types as Arrow calls them. Open values are JSON text."""

_BATCH: Final = 5_000


class Rows:
    """Makes the rows of one document.

    Args:
        head: its root.
    """

    def __init__(self, head: Mapping[str, Any]) -> None:
        extra = head.get("extra") or {}
        own = extra.get("agentsession") or {}
        self._labels = own.get("labels") or {}
        session_id, trajectory_id = head.get("session_id"), head.get("trajectory_id")
        outcomes = ((head.get("final_metrics") or {}).get("extra") or {}).get("outcome")
        self._shared: dict[str, Any] = {
            "document_id": "/".join(filter(None, (session_id, trajectory_id))),
            "session_id": session_id,
            "trajectory_id": trajectory_id,
            "main": own.get("main") is True,
            "document_outcome": _json(outcomes),
        }
        self._model = (head.get("agent") or {}).get("model_name")

    def row(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a step, every column in it."""
        extra = step.get("extra") or {}
        calls = step.get("tool_calls") or []
        metrics = step.get("metrics") or {}
        agent = step["source"] == "agent"
        found = {
            **self._shared,
            "step_id": step["step_id"],
            "entry_id": (extra.get("agentsession") or {}).get("entry_id"),
            "timestamp": step.get("timestamp"),
            "source": step["source"],
            "model": step.get("model_name") or (self._model if agent else None),
            "text": _text(step["message"]),
            "reasoning": step.get("reasoning_content"),
            "tool_name": ", ".join(call["function_name"] for call in calls) or None,
            "arguments": _arguments(calls),
            "observation": _observation(step),
            "cost_usd": metrics.get("cost_usd"),
            "llm_call_count": step.get("llm_call_count"),
            "is_copied_context": step.get("is_copied_context") is True,
            "labels": _json(self._labels_of(step, extra)),
            "outcome": _json(extra.get("outcome")),
        }
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            found[name] = metrics.get(name)
        return {name: found[name] for name in COLUMNS}

    def _labels_of(self, step: Mapping[str, Any], extra: Mapping[str, Any]) -> list[str]:
        if not self._labels:
            return []
        ids = [(extra.get("agentsession") or {}).get("entry_id"), *extra.get("item_entry_ids", ())]
        return [self._labels[entry_id] for entry_id in ids if entry_id in self._labels]


def _json(value: Any) -> str | None:
    return text.encode(value).decode() if value else None


def _text(content: Any) -> str:
    """The text of a content; a media part stands in it as a placeholder."""
    if isinstance(content, str):
        return content
    return "".join(
        part["text"] if part["type"] == "text" else f"[{part['type']}]" for part in content
    )


def _arguments(calls: Sequence[Mapping[str, Any]]) -> str | None:
    """The arguments of one call, or the list of them when there are several."""
    found = [call["arguments"] for call in calls]
    if not found:
        return None
    return text.encode(found[0] if len(found) == 1 else found).decode()


def _observation(step: Mapping[str, Any]) -> str | None:
    observation = step.get("observation")
    if not observation:
        return None
    return "\n".join(_text(result.get("content") or "") for result in observation["results"])


def write_parquet(target: Path, rows: Path) -> None:
    """Write the rows of a table file once more as a Parquet file, whole or not at all.

    Args:
        target: the Parquet file.
        rows: a file with one row as JSON on each line.

    Raises:
        CannotExport: when pyarrow is not installed.
        StoreFailed: when the file cannot be written.
    """
    try:
        # An extra that most users do not have.
        pa = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise CannotExport(
            "a Parquet file needs pyarrow, which is not installed; "
            "install agentsession[parquet], or write --flat, which has the same columns"
        ) from error
    types = {"string": pa.string(), "bool": pa.bool_(), "int64": pa.int64(), "double": pa.float64()}
    schema = pa.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
    with write_whole(target) as file, parquet.ParquetWriter(file, schema) as writer:
        for batch in _batches(rows):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _batches(rows: Path) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    with rows.open("rb") as lines:
        for line in lines:
            batch.append(text.parse(line))
            if len(batch) >= _BATCH:
                yield batch
                batch = []
    yield batch
