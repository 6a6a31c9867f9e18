"""Recording what was sent and what came back; continuing a session in a successor.

Spec: context 7 and 12, decision A10.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from agentsession import payload, text, versions
from agentsession.canonical import canonical_json, sha256
from agentsession.context import build_context
from agentsession.entries import ConfigEntry, Entry, ItemEntry, ResponseEntry
from agentsession.errors import AgentSessionError, InvalidEntry
from agentsession.header import Header
from agentsession.parts import InstructionsPart
from agentsession.record_entries import InfoEntry, LinkEntry
from agentsession.request import (
    CALL_MEMBERS,
    NAMED_MEMBERS,
    build_request,
    is_left_out,
    normal_input,
    setting_texts,
)
from agentsession.session import Session
from agentsession.settings import PART_SEPARATOR, Settings

_NO_RESPONSE_ID = (
    "no request hash was recorded: the response has no id, so a reader cannot tell its output "
    "from its request's input"
)
_LONGEST_SECONDS = 10**9

CONTINUED_IN = "continued_in"
"""The relation of the link from a session to its successor (format 4.14)."""


class Appending(Protocol):
    """What recording needs of a store."""

    def append(self, session_id: str, entry: Entry, /) -> str:
        """Append an entry to a session and return its id."""


class Continuing(Appending, Protocol):
    """What continuing needs of a store."""

    def create(self, header: Header, /) -> Session:
        """Start a session."""

    def open(self, session_id: str, /) -> Session:
        """Return a session."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was recorded of a model call.

    Attributes:
        entry_id: the response entry.
        request_hash: the hash written into it; empty when none was.
        note: why no hash was written; empty when one was.
    """

    entry_id: str
    request_hash: str = ""
    note: str = ""

    @property
    def hashed(self) -> bool:
        """Whether the response records its request's hash."""
        return bool(self.request_hash)


def config_from_request(request: object) -> ConfigEntry:
    """Return the config entry that stands for all settings of a request.

    It replaces what was in force. Members about the one call are left out, and so is what
    the profile does not encode when empty; values keep their spelling. Applied to any
    settings it gives, over the same input, the request's hash, when the request says
    ``store: false`` and no other member about the one call.

    Args:
        request: a mapping, JSON text, or an SDK's request model.

    Spec: context 7.1.

    Raises:
        InvalidEntry: when the request is no JSON object, or a setting has another type.
    """
    return _config(_request_texts(request))


def config_from_request_parts(request: object, *parts: InstructionsPart) -> ConfigEntry:
    """Return the config entry for a request whose instructions are joined from parts.

    Without parts this is :func:`config_from_request`. The entry needs a session of 0.3.

    Spec: context 7.1, format 4.3.1.

    Raises:
        InvalidEntry: when the parts joined are not the request's instructions.
    """
    config = config_from_request(request)
    if not parts:
        return config
    if PART_SEPARATOR.join(part.text for part in parts) != (config.instructions or ""):
        raise InvalidEntry(
            "the parts joined by blank lines differ from the request's instructions",
            type="config",
            member="instructions_parts",
        )
    return _config(_request_texts(request), parts)


def _request_texts(request: object) -> dict[str, bytes]:
    """The members of a request that the profile encodes, as JSON text."""
    texts = text.split_members(payload.encoded_object(request, "a request"))
    return {name: value for name, value in texts.items() if not is_left_out(name, value)}


def _config(texts: dict[str, bytes], parts: tuple[InstructionsPart, ...] = ()) -> ConfigEntry:
    """The config entry of a request's members."""
    instructions = None if parts else _string(texts, "instructions") or None
    extra = {
        name: value
        for name, value in texts.items()
        if name not in CALL_MEMBERS and name not in NAMED_MEMBERS
    }
    return ConfigEntry(
        model=_string(texts, "model"),
        instructions=instructions,
        instructions_parts=parts,
        reasoning=texts.get("reasoning"),
        text=texts.get("text"),
        tools_added=_list(texts, "tools"),
        extra=extra,
        replace=True,
    )


def _string(texts: dict[str, bytes], name: str, what: str = "a request") -> str:
    value = text.parse(texts.get(name, b'""'))
    if not isinstance(value, (str, type(None))):
        raise InvalidEntry(f"{name} of {what} must be a string", member=name)
    return value or ""


def _list(texts: dict[str, bytes], name: str, what: str = "a request") -> list[bytes]:
    value = texts.get(name, b"null")
    if value == b"null":
        return []
    if not value.startswith(b"["):
        raise InvalidEntry(f"{name} of {what} must be a list", member=name)
    return text.split_elements(value)


def record_response(
    store: Appending,
    session_id: str,
    request: object,
    response: object,
    latency: float | timedelta | None = None,
) -> Recorded:
    """Record one model call: an item entry for each output item, then the response entry.

    Record the input items of the request before. The hash written is the one a reader
    rebuilds from :func:`config_from_request` and the input, in its normal form
    (:func:`agentsession.request_hash`): members about the one call do not count, ``store``
    is ``false``, a string input is one user message. A request that goes on from a
    ``previous_response_id`` shows the model more than its input, and the output of a response
    without an id cannot be told from its input; then no hash is written.

    Nothing is written when the request or the response cannot be recorded; what was
    appended before a failing append stays.

    Args:
        store: a store, or anything that appends entries to a session.
        session_id: the session.
        request: the request as sent: a mapping, JSON text, or an SDK's model.
        response: the response, likewise.
        latency: how long the call took, in seconds or as a ``timedelta``.

    Returns:
        The id of the response entry, the hash, and why there is none.

    Spec: context 7.2, decisions A10, A13 and A14.

    Raises:
        InvalidEntry: when the request or the response has not the form of one.
        CannotHash: when the request holds a number beyond any double.
        AgentSessionError: what the store raises; the message says which step failed.
    """
    texts = _response_texts(response)
    with _step("reading the response"):
        outputs = _output_items(texts)
    with _step("hashing the request"):
        request_hash, note = _recorded_hash(_request_texts(request))
        if outputs and not outputs[0].response:
            request_hash, note = "", _NO_RESPONSE_ID
    with _step("reading the response"):
        envelope = _envelope(texts, request_hash, latency)
    for number, output in enumerate(outputs, 1):
        with _step(f"appending output item {number} of {len(outputs)}"):
            store.append(session_id, output)
    with _step("appending the response"):
        return Recorded(store.append(session_id, envelope), request_hash, note)


@contextmanager
def _step(doing: str) -> Iterator[None]:
    """Put the step that failed before an error's sentence."""
    try:
        yield
    except AgentSessionError as error:
        error.args = (f"{doing}: {error}", *error.args[1:])
        raise


def _recorded_hash(texts: dict[str, bytes]) -> tuple[str, str]:
    """The hash to record for a request, or why there is none."""
    if "previous_response_id" in texts:
        return "", (
            "no request hash was recorded: the request goes on from previous_response_id, so "
            "its input is not all the model was shown"
        )
    request = build_request(Settings().apply(_config(texts)), ())
    items = normal_input(text.parse(texts.get("input", b"null")))
    return sha256(canonical_json({**request, "input": items} if items else request)), ""


def _response_texts(response: object) -> dict[str, bytes]:
    if response is None:
        raise InvalidEntry("there is no response to record", type="response")
    return text.split_members(payload.encoded_object(response, "a response"))


def _output_items(texts: dict[str, bytes]) -> list[ItemEntry]:
    """The entries of a response's output items."""
    response_id = _string(texts, "id", "a response")
    outputs = _list(texts, "output", "a response")
    for number, output in enumerate(outputs, 1):
        if not output.startswith(b"{"):
            raise InvalidEntry(f"output item {number} is not an item", type="item", member="item")
    return [ItemEntry(output, response=response_id) for output in outputs]


def _envelope(
    texts: dict[str, bytes], request_hash: str, latency: float | timedelta | None
) -> ResponseEntry:
    return ResponseEntry(
        _string(texts, "id", "a response"),
        model=_string(texts, "model", "a response"),
        status=_string(texts, "status", "a response"),
        usage=_object(texts, "usage"),
        incomplete=_object(texts, "incomplete_details"),
        error=_object(texts, "error"),
        request_hash=request_hash,
        latency_ms=_milliseconds(latency),
    )


def _object(texts: dict[str, bytes], name: str) -> bytes | None:
    value = texts.get(name, b"null")
    if value == b"null":
        return None
    if not value.startswith(b"{"):
        raise InvalidEntry(f"{name} of a response must be an object", member=name)
    return value


def _milliseconds(latency: float | timedelta | None) -> int:
    """Whole milliseconds; 0, which is not written, for none."""
    if isinstance(latency, timedelta):
        return max(0, latency // timedelta(milliseconds=1))
    if latency is None:
        return 0
    if isinstance(latency, bool) or not isinstance(latency, (int, float)):
        raise InvalidEntry(
            f"a latency is seconds or a timedelta, not {type(latency).__name__}", type="response"
        )
    if not math.isfinite(latency) or latency > _LONGEST_SECONDS:
        raise InvalidEntry(f"a latency of {latency} seconds cannot be recorded", type="response")
    return max(0, int(latency * 1000))


def continue_session(store: Continuing, session_id: str, summary: object = None) -> Session:
    """Start the successor of a session that has grown too long, and return it.

    The successor begins with the settings in force at the old session's leaf, then the
    summary and the old display name, where there are any. The old session gets a link to
    it. What was written before a failing step stays.

    Args:
        store: the store that holds the session.
        session_id: the old session.
        summary: the item that carries the conversation over, or ``None``.

    Spec: context 12.

    Raises:
        NoSession: when the session is not in the store.
        NoContext: when its context cannot be built.
        UnsupportedFormat: when a session of its version takes no link.
        InvalidEntry: when the summary is no item.
        AgentSessionError: what the store raises; the message says which step failed.
    """
    with _step("opening the old session"):
        old = store.open(session_id)
        version = versions.continued(old.header.format)
        settings = build_context(old.path()).settings
        entries: list[Entry] = [_config(setting_texts(settings))]
        if summary is not None:
            entries.append(ItemEntry(summary))
        if old.name:
            entries.append(InfoEntry(old.name))
    with _step("creating the successor"):
        new = store.create(_successor(old.header, versions.format_name(version)))
    for entry in entries:
        with _step(f"appending the {entry.type} entry to the successor"):
            store.append(new.id, entry)
    with _step("linking the old session to its successor"):
        store.append(old.id, LinkEntry(CONTINUED_IN, new.id))
    return new


def _successor(old: Header, old_format: str) -> Header:
    """The header of a successor; a newer format than the default is carried over."""
    newer = versions.parse_format(old_format) > versions.parse_format(versions.FORMAT)
    return Header(
        format=old_format if newer else "",
        harness=old.harness,
        records=old.records,
        cwd=old.cwd,
        media=old.media,
        parent_session=old.id,
    )
