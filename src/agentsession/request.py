"""The canonical request of a context, and its hash.

Spec: context 4, 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentsession.settings import Settings


def build_request(settings: Settings, items: Iterable[object]) -> dict[str, Any]:
    raise NotImplementedError


def request_hash(request: object) -> str:
    raise NotImplementedError


def hash_request_json(json_text: bytes | str) -> str:
    raise NotImplementedError
