"""A check from the text on: JSON, encoding, rules and advice, as one value.

Spec: atif 4, decisions D11 and E1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsession import text
from agentsession.atif.advice import advise
from agentsession.atif.parse import BYTE_ORDER_MARK, load
from agentsession.atif.problems import Problem, problem
from agentsession.atif.validate import validate
from agentsession.errors import NotJSON


@dataclass(frozen=True, slots=True)
class Report:
    """What checking one text found.

    Attributes:
        problems: why the document is refused; empty when it is valid.
        warnings: what is valid and still unwise; only looked for in valid documents.
        strict: whether the check was strict.
        schema_version: the version as written, empty when there is none.
        documents: documents in the text, embedded ones included.
        steps: steps in all of them.
    """

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = ()
    strict: bool = False
    schema_version: str = ""
    documents: int = 0
    steps: int = 0

    @property
    def valid(self) -> bool:
        """Whether nothing was refused."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """The report as a JSON object: verdict, totals and findings.

        ``findings`` holds the problems (``level`` ``error``), then the warnings.
        """
        levels = (("error", self.problems), ("warning", self.warnings))
        return {
            "schema": 1,
            "valid": self.valid,
            "strict": self.strict,
            "schema_version": self.schema_version,
            "totals": {
                "documents": self.documents,
                "steps": self.steps,
                "problems": len(self.problems),
                "warnings": len(self.warnings),
            },
            "findings": [
                {"level": level, **found.to_dict()} for level, group in levels for found in group
            ],
        }


def validate_text(data: bytes | str, *, strict: bool = False) -> Report:
    """What checking a JSON text finds, from its bytes to its rules; never an exception.

    Besides the rules of `validate` these codes: ``byte-order-mark``, ``utf-8``, ``json`` and,
    when strict, ``json-constant`` for ``NaN`` and ``Infinity``.
    Spec: atif 4, decision E1.

    Args:
        data: the text of one document.
        strict: refuse what either Harbor or the reference refuses.
    """
    found = list(_encoding(data))
    try:
        value = load(data)
    except NotJSON as refused:
        found.append(problem(None, "json", f"not JSON: {refused}"))
        return Report(tuple(found), strict=strict)
    if strict and not _is_json(data):
        message = "NaN and Infinity are not JSON; only Python's own reader takes them"
        found.append(problem(None, "json-constant", message))
    found.extend(validate(value, strict=strict))
    documents, steps = _counts(value)
    version = value.get("schema_version") if isinstance(value, Mapping) else None
    return Report(
        tuple(found),
        warnings=() if found else advise(value),
        strict=strict,
        schema_version=version if isinstance(version, str) else "",
        documents=documents,
        steps=steps,
    )


def _encoding(data: bytes | str) -> list[Problem]:
    if isinstance(data, str):
        marked, encoded = data.startswith("\ufeff"), True
    else:
        marked, encoded = data.startswith(BYTE_ORDER_MARK), text.is_utf8(data)
    found = []
    if marked:
        found.append(problem(None, "byte-order-mark", "starts with a byte order mark; remove it"))
    if not encoded:
        found.append(problem(None, "utf-8", "not UTF-8; write the text in UTF-8"))
    return found


def _is_json(data: bytes | str) -> bool:
    try:
        if isinstance(data, str):
            text.parse(data.removeprefix("\ufeff"))
        else:
            text.check(data.removeprefix(BYTE_ORDER_MARK))
    except NotJSON:
        return False
    return True


def _counts(root: object) -> tuple[int, int]:
    documents = steps = 0
    pending = [root]
    while pending:
        value = pending.pop()
        if not isinstance(value, Mapping):
            continue
        documents += 1
        listed = value.get("steps")
        steps += len(listed) if isinstance(listed, list) else 0
        embedded = value.get("subagent_trajectories")
        pending.extend(embedded if isinstance(embedded, list) else ())
    return documents, steps
