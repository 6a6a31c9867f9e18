"""What still looks like a secret in a document, and where; never what it is.

Spec: export 11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from agentsession import atif
from agentsession.atif.problems import Path, rendered
from agentsession.export.detection import Detector
from agentsession.export.media import is_data_url
from agentsession.export.source import Source
from agentsession.export.walk import texts
from agentsession.findings import Finding

REMAINS: Final = "secret-remains"


def find_secrets(
    document: atif.Trajectory | Mapping[str, Any], detector: Detector | None = None
) -> tuple[Finding, ...]:
    """Return a finding for everything in a document that looks like a credential.

    Each names the kind and the JSON path, never the value.

    Spec: export 11.

    Args:
        document: a document, or any JSON value of one.
        detector: what to look for; what `detect_secrets` finds by default.
    """
    seek = detector or Detector()
    value = document.to_dict() if isinstance(document, atif.Trajectory) else document
    if not seek.may_hold("\n".join(dict.fromkeys(texts(value)))):
        return ()
    found = []
    for path, text in _strings(value):
        for one in seek.detect(text):
            sentence = f"something that looks like a secret remains: {one.kind}"
            found.append(Finding(REMAINS, sentence, rendered(path)))
    return tuple(found)


def remaining(source: Source, detector: Detector, place: str) -> Iterator[Finding]:
    """Yield what still looks like a credential in a document that is gone through step by step.

    Args:
        source: the document, redacted.
        detector: what to look for.
        place: how people call the document.
    """
    for finding in find_secrets(source.head(), detector):
        yield replace(finding, where=f"{place} {finding.where}")
    for number, step in enumerate(source.steps()):
        for finding in find_secrets(step, detector):
            path = finding.where.replace("$", f"$.steps[{number}]", 1)
            yield replace(finding, where=f"{place} {path}")
    for number, child in enumerate(source.children):
        yield from remaining(child, detector, f"{place} embedded {number + 1}")


def _strings(value: Any) -> Iterator[tuple[Path, str]]:
    """Every string and member name in a value, in document order; media are passed over."""
    pending: list[tuple[Path, Any]] = [(None, value)]
    while pending:
        path, found = pending.pop()
        if isinstance(found, str):
            if not (is_data_url(found) and found[5:11].lower() in {"image/", "audio/", "video/"}):
                yield path, found
        elif isinstance(found, Mapping):
            for name in found:
                yield path, name
            pending += [((path, name), inner) for name, inner in reversed([*found.items()])]
        elif isinstance(found, list | tuple):
            pending += [((path, at), inner) for at, inner in reversed([*enumerate(found)])]
