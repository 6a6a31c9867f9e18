"""Claude Code's requests: the same items as its releases spelled them for Anthropic Messages.

Spec: decision D1, claude-code 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentsession import text as json_text
from agentsession.errors import NotJSON
from agentsession.wire import media
from agentsession.wire.origin import Origin, Piece, Target
from agentsession.wire.profile import Foreign, Profile
from agentsession.wire.turns import content_parts, is_text

NATIVE: Final = "anthropic"
"""The name space in an origin's metadata of what a block has beyond its item."""

SIGNATURE: Final = "signature"
REDACTED: Final = "redactedData"

EXTENSION: Final = "anthropic:"
"""How the type of an item begins that stands for a block no item type fits."""

_NOT_OFFERED: Final = "No such tool available"
_RENAMED: Final = (
    ("Task", "Agent", (2, 1, 63), (10, 0, 0)),
    ("KillShell", "TaskStop", (2, 1, 51), (2, 1, 300)),
    ("KillBash", "TaskStop", (2, 1, 160), (2, 1, 300)),
    ("AgentOutputTool", "TaskOutput", (2, 1, 51), (2, 1, 277)),
    ("BashOutputTool", "TaskOutput", (2, 1, 51), (2, 1, 277)),
    ("BashOutput", "TaskOutput", (2, 1, 160), (2, 1, 277)),
)
"""Names of tools that were changed, and in which releases a call by the old one had the new one.

A tool that is not on offer as such, as some are not in later releases, has no new name.
"""

_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ClaudeCodeProfile(Profile):
    """The spelling of one release.

    Attributes:
        keep_foreign: another model's thinking is sent like the target's own.
        blank_texts: an assistant's blank texts are sent.
        blank_answers: so are answers that are nothing else.
        bare_calls: the names of tools whose arguments are sent as ``{}`` where they were on offer.
        renamed: tools that are called by another name by now, each with that name: calls that
            were made by the old one are sent with the new one.
        named_media: the types of blocks that are sent as their names, ``[image]``, once an
            answer has followed them.
    """

    keep_foreign: bool = False
    blank_texts: bool = False
    blank_answers: bool = False
    bare_calls: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict, hash=False)
    named_media: frozenset[str] = frozenset()


def claude_code_profile(release: str) -> ClaudeCodeProfile:
    """Return how a release spelled its requests; the newest way when it is not known.

    Spec: claude-code 5.2.
    """
    found = _VERSION.match(release)
    version = (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (9, 0, 0)
    plans = (2, 0, 54) <= version < (2, 1, 300)
    named = {"image"} if (2, 1, 45) <= version <= (2, 1, 67) else set[str]()
    if named and version >= (2, 1, 58):
        named.add("document")
    return ClaudeCodeProfile(
        name=f"claude-code {release}".strip(),
        foreign=Foreign.DROP,
        keep_foreign=version < (2, 1, 152),
        blank_texts=version < (2, 1, 94),
        blank_answers=version < (2, 1, 45),
        bare_calls=frozenset({"ExitPlanMode"}) if plans else frozenset(),
        renamed={old: new for old, new, first, end in _RENAMED if first <= version < end},
        named_media=frozenset(named),
    )


def claude_code_messages(
    pieces: Sequence[Piece], target: Target | None = None, profile: Profile | None = None
) -> list[dict[str, Any]]:
    """Return the messages a request of Claude Code holds for these items.

    Neighbours of one role are one message. Messages of role ``system`` stay in their place.
    Marks for the provider's cache are not set.
    """
    target = target or Target()
    spelled = profile if isinstance(profile, ClaudeCodeProfile) else claude_code_profile("")
    messages: list[dict[str, Any]] = []
    blank = set[str]() if spelled.blank_answers else _blank_answers(pieces)
    refused = _refused(pieces) if spelled.bare_calls else set[str]()
    for piece in pieces:
        role, blocks = _blocks(piece, target, spelled, refused)
        if not blocks or (role == "assistant" and piece.origin.message in blank):
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].extend(blocks)
        else:
            messages.append({"role": role, "content": blocks})
    if spelled.named_media:
        _name_media(messages, spelled.named_media)
    return messages


def _blank_answers(pieces: Sequence[Piece]) -> set[str]:
    """Return the answers that are nothing but blank texts."""
    blank: dict[str, bool] = {}
    for piece in pieces:
        message, item = piece.origin.message, piece.item
        if not message or item.type == "function_call_output":
            continue
        says = item.type != "message" or bool((item.text or "").strip())
        blank[message] = blank.get(message, True) and not says
    return {message for message, is_blank in blank.items() if is_blank}


def _name_media(messages: Sequence[dict[str, Any]], kinds: frozenset[str]) -> None:
    """Put names in the place of what users showed before the last answer. Spec: claude-code 5.2."""
    answered = False
    for message in reversed(messages):
        if message["role"] == "assistant":
            answered = True
        elif answered:
            message["content"] = [
                {"type": "text", "text": f"[{block['type']}]"}
                if block.get("type") in kinds
                else block
                for block in message["content"]
            ]


def _refused(pieces: Sequence[Piece]) -> set[str]:
    """Return the calls of tools that were not on offer, as their results say."""
    return {
        str(piece.item.call_id)
        for piece in pieces
        if piece.item.type == "function_call_output" and _NOT_OFFERED in str(piece.item.output)
    }


def _blocks(
    piece: Piece, target: Target, profile: ClaudeCodeProfile, refused: set[str]
) -> tuple[str, list[dict[str, Any]]]:
    item = piece.item
    own = profile.keep_foreign or target.wrote(piece.origin)
    role = item.role if item.type == "message" else "assistant"
    if item.type == "function_call_output":
        role = "user"
    if item.type == "reasoning" and not own:
        return role, []
    is_bare = item.type == "function_call" and item.name in profile.bare_calls
    if is_bare and item.call_id not in refused:
        return role, [{**block, "input": {}} for block in blocks_of(item, piece.origin)]
    blocks = blocks_of(item, piece.origin)
    if item.type == "function_call" and item.name in profile.renamed:
        return role, [{**block, "name": profile.renamed[item.name]} for block in blocks]
    if role == "assistant" and item.type == "message" and not profile.blank_texts:
        blocks = [block for block in blocks if str(block.get("text", "x")).strip()]
    return role or "user", blocks


def blocks_of(item: Mapping[str, Any], origin: Origin) -> list[dict[str, Any]]:
    """Return the content blocks that an item stands for.

    Args:
        item: the item.
        origin: where it comes from; what its metadata says of the blocks outweighs the item.
    """
    native = origin.metadata.get(NATIVE)
    native = native if isinstance(native, Mapping) else {}
    whole = native.get("blocks")
    if isinstance(whole, list):
        return [dict(block) for block in whole if isinstance(block, Mapping)]
    plain = list(_plain_blocks(item, origin))
    if native and len(plain) == 1:
        plain[0].update(native)
    return plain


def _plain_blocks(item: Mapping[str, Any], origin: Origin) -> Iterator[dict[str, Any]]:
    """Yield the blocks that an item stands for when its metadata says nothing of them."""
    kind = item.get("type")
    if kind == "message":
        for part in content_parts(item.get("content")):
            yield _part(part)
    elif kind == "reasoning":
        yield _thinking(item, origin)
    elif kind == "function_call":
        yield {
            "type": "tool_use",
            "id": item.get("call_id", ""),
            "name": item.get("name", ""),
            "input": _input(item.get("arguments")),
        }
    elif kind == "function_call_output":
        output = item.get("output")
        if isinstance(output, list):
            output = [_part(part) for part in output if isinstance(part, dict)]
        yield {"type": "tool_result", "tool_use_id": item.get("call_id", ""), "content": output}
    elif isinstance(kind, str) and kind.startswith(EXTENSION):
        block = item.get("block")
        if isinstance(block, Mapping):
            yield dict(block)


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if is_text(dict(part)):
        return {"type": "text", "text": part["text"]}
    kind = part.get("type")
    if kind in ("input_image", "input_file", "input_video"):
        return media.anthropic_part(dict(part))
    return dict(part)


def _thinking(item: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    secret = item.get("encrypted_content")
    secret = secret if isinstance(secret, str) else ""
    if origin.encrypted.endswith(REDACTED):
        return {"type": "redacted_thinking", "data": secret}
    summary = content_parts(item.get("summary"))
    words = "".join(str(part.get("text", "")) for part in summary)
    return {"type": "thinking", "thinking": words, "signature": secret}


def _input(arguments: object) -> Any:
    if not isinstance(arguments, str):
        return {}
    try:
        return json_text.parse(arguments)
    except NotJSON:
        return arguments
