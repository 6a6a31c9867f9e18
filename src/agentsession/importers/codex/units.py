"""Units: the items of the history Codex sends, and what it does to that history.

Spec: codex 2.2, 5.1, 6 and 8.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsession import text
from agentsession.importers.codex.lines import mapping, sequence, string

ABORTED: Final = "aborted"
"""The output that a call without one is sent with. Spec: codex 8.1."""

GHOST: Final = "ghost_snapshot"

_OUTPUT_TYPES: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
_OTHER_TYPES: Final = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "web_search_call",
        "local_shell_call",
        "image_generation_call",
        "tool_search_call",
        "tool_search_output",
        "compaction",
        "additional_tools",
        "agent_message",
    }
)
_ENVIRONMENT: Final = "<environment_context>"
_PERMISSIONS: Final = "<permissions instructions>"
_CONTEXT_STARTS: Final = (
    _ENVIRONMENT,
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
    "<user_action>",
    _PERMISSIONS,
    "<skills_instructions>",
    "<collaboration_mode>",
    "<multi_agent_mode>",
    "<model_switch>",
)
_ACTION: Final = "<user_action>"
_INTERRUPT: Final = "<turn_aborted>"
_SUMMARY: Final = "compaction.summary"
_IMAGE: Final = "input_image"
_OPENING_TAGS: Final = re.compile(r"<image(?: name=.*)?>", re.DOTALL)
_CLOSING_TAG: Final = "</image>"
_USER_BUDGET: Final = 80_000
_OPENING: Final = (
    "You were originally given instructions from a user over one or more turns. "
    "Here were the user messages:"
)
_BRIDGE: Final = (
    "Another language model started to solve this problem and produced a summary of its thinking "
    "process. You also have access to the state of the tools that were used by that language "
    "model. Use this to build on the work that has already been done and avoid duplicating work. "
    "Here is the summary produced by the other language model, use the information in this "
    "summary to assist with your own analysis:"
)


@dataclass(slots=True, eq=False)
class Unit:
    """One item of a history.

    Attributes:
        text: the item's JSON text.
        type, role, call_id, native_id: the item's own.
        words: the first words of a message, as far as they tell what it is.
        turn: whether it is a message that a user's turn begins with.
        context: whether it is a message that Codex itself put there.
        summary: whether a compaction made it.
        sequence: its place in the history (third generation).
        made: whether it is in no file.
        home: the entry that holds it; empty before it has one.
        key: tells it apart among the items of a session; 0 before it is written.
        value: the item, as long as it is not written and was decoded.
    """

    text: bytes
    type: str
    role: str = ""
    call_id: str = ""
    native_id: str = ""
    words: str = ""
    turn: bool = False
    context: bool = False
    summary: bool = False
    sequence: int | None = None
    made: bool = False
    home: str = ""
    key: int = 0
    value: dict[str, Any] | None = None

    @property
    def is_call(self) -> bool:
        """Whether the history needs an output for it."""
        return self.type in _OUTPUT_TYPES and bool(self.call_id)

    @property
    def is_result(self) -> bool:
        """Whether it is what a call returned."""
        return self.type.endswith("_output")

    @property
    def is_action(self) -> bool:
        """Whether it tells the model of something a user did, such as a review."""
        return self.role == "user" and self.words.startswith(_ACTION)

    @property
    def is_interrupt(self) -> bool:
        """Whether it tells the model that a user cut the turn before short.

        For some models a developer tells it.
        """
        return self.role in {"user", "developer"} and self.words.startswith(_INTERRUPT)


def is_sent(item_type: str) -> bool:
    """Return whether items of a type are ever sent to a model."""
    return item_type in _OTHER_TYPES


def is_output(item_type: str, role: str) -> bool:
    """Return whether items of this kind are a model's. Spec: codex 8, rule 1."""
    if item_type == "message":
        return role == "assistant"
    return item_type in {"reasoning", "compaction"} or item_type.endswith("_call")


def unit_of(item: dict[str, Any], json_text: bytes, *, sequence_number: int | None = None) -> Unit:
    """Return an item as a unit."""
    unit = Unit(
        json_text,
        string(item.get("type")),
        string(item.get("role")),
        string(item.get("call_id")),
        string(item.get("id")),
        sequence=sequence_number,
        value=item,
    )
    if unit.type == "message":
        unit.words = _first_words(item)
        unit.turn = unit.role == "user" and _is_turn(item, unit.words)
        unit.context = unit.role in {"user", "developer", "system"} and not unit.turn
    elif unit.type == "additional_tools":
        unit.context = True
    return unit


def _first_words(item: dict[str, Any]) -> str:
    content = item.get("content")
    if isinstance(content, str):
        return content[:40]
    for part in sequence(content):
        found = mapping(part).get("text")
        if isinstance(found, str):
            return found[:40]
    return ""


def _is_turn(item: dict[str, Any], words: str) -> bool:
    """Whether a user's message is one of theirs, and not context. Spec: codex 5.1."""
    kinds = mapping(item.get("internal_chat_message_metadata_passthrough")).get(
        "content_item_kinds"
    )
    named = [kind for kind in sequence(kinds) if isinstance(kind, str)]
    if named:
        return any(kind.startswith("user.") or kind == _SUMMARY for kind in named)
    return not words.startswith(_CONTEXT_STARTS)


def aborted(call: Unit) -> Unit:
    """Return the output that a call without one is sent with."""
    output_type = _OUTPUT_TYPES[call.type]
    item = {"type": output_type, "call_id": call.call_id, "output": ABORTED}
    return Unit(text.encode(item), output_type, call_id=call.call_id, made=True)


def instructed(words: str) -> Unit:
    """Return the message that a user's instructions of the first generation are sent as."""
    said = f"<user_instructions>\n\n{words}\n\n</user_instructions>"
    content = [{"type": "input_text", "text": said}]
    item = {"type": "message", "id": None, "role": "user", "content": content}
    made = unit_of(item, text.encode(item))
    made.made = True
    return made


def normalised(history: Sequence[Unit]) -> list[Unit]:
    """Return a history as it is sent: each call with an output, each output with a call.

    Spec: codex 8.1.
    """
    answered = {unit.call_id for unit in history if unit.is_result}
    called = {unit.call_id or unit.native_id for unit in history if unit.type.endswith("_call")}
    sent: list[Unit] = []
    for unit in history:
        if unit.is_result and unit.call_id not in called:
            continue
        sent.append(unit)
        if unit.is_call and unit.call_id not in answered:
            sent.append(aborted(unit))
    return sent


def rolled_back(history: Sequence[Unit], turns: int, *, with_context: bool) -> list[Unit]:
    """Return a history without its last user turns.

    Args:
        history: the history.
        turns: how many turns go.
        with_context: whether the context messages before the first of them go too.

    Spec: codex 5.1.
    """
    # To Codex the summary of a compaction is a user's message and counts as a turn, and so does
    # what it tells of a review.
    begins = [at for at, unit in enumerate(history) if unit.turn or unit.summary or unit.is_action]
    if not begins or turns <= 0:
        return list(history)
    first = max(len(begins) - turns, 0)
    cut = begins[first]
    if with_context and first > 0:
        while cut > begins[first - 1] + 1 and history[cut - 1].context:
            cut -= 1
    return list(history[:cut])


def said(history: Sequence[Unit], *, interrupts: bool) -> list[Unit]:
    """Return what a compaction takes for a user's own messages. Spec: codex 6.

    What tells of a review is one of them. Of earlier summaries those are left out that begin
    with the fixed lead-in, as they all do from 0.59 on.

    Args:
        history: the history before the compaction.
        interrupts: whether what tells of an interrupt is one of them, as up to 0.98.
    """
    return [unit for unit in history if _is_said(unit, interrupts=interrupts)]


def _is_said(unit: Unit, *, interrupts: bool) -> bool:
    if unit.summary:
        return is_bare(unit.words)
    return unit.turn or unit.is_action or (interrupts and unit.is_interrupt)


def rebuilt(context: Sequence[Unit], told: Sequence[tuple[Unit, str]], summary: str) -> list[Unit]:
    """Return the history after a compaction of 0.55 to 0.101. Spec: codex 6.

    Args:
        context: what it begins with, by :func:`anew`.
        told: the user's messages in it, each with the text that it is told by, in order.
        summary: the compaction's message.
    """
    kept: list[Unit] = []
    left = _USER_BUDGET
    for unit, words in reversed(told):
        left -= len(words.encode("utf-8", "replace"))
        if left < 0:
            break
        kept.append(unit)
    return [*context, *reversed(kept), _summary(summary)]


def anew(history: Sequence[Unit]) -> list[Unit]:
    """Return the context messages a history begins with, each as it was told last.

    What the first turn added to them stands in its place then.
    """
    newest = {_kind(unit): unit for unit in history if unit.context}
    begun = {_kind(unit) or id(unit): unit for unit in leading(history)}
    told = [newest[kind] if isinstance(kind, str) else unit for kind, unit in begun.items()]
    return sorted(told, key=lambda unit: unit.role == "user")


def settled_with(told: Sequence[Unit], begun: Sequence[Unit]) -> list[Unit]:
    """Return the context messages of the settings that a process began with.

    From 0.90 on a process tells its surroundings whole before its first turn, from the
    permissions to the environment; a change within it tells what changed, the environment
    first. Where a thread is resumed the whole has the first turn's settings already, and what
    differs from the process's own is told again at once behind it. Its own are then in no
    file: what the thread began with is the nearest to them.

    Args:
        told: context messages that stand together in a file.
        begun: those that the thread began with, when they are known.

    Returns:
        The messages; none where there is no whole among those told.
    """
    kinds = [_kind(unit) for unit in told]
    if _PERMISSIONS not in kinds:
        return []
    first = kinds.index(_PERMISSIONS)
    if _ENVIRONMENT not in kinds[first:]:
        return []
    end = kinds.index(_ENVIRONMENT, first) + 1
    before = {_kind(unit): unit for unit in begun}
    own = {kind: before[kind] for kind in kinds[end:] if kind in before}
    return [
        own.get(kind, unit) for kind, unit in zip(kinds[first:end], told[first:end], strict=True)
    ]


def _kind(unit: Unit) -> str:
    """What a context message tells of; empty where its first words do not say."""
    return next((start for start in _CONTEXT_STARTS if unit.words.startswith(start)), "")


def bridged(history: Sequence[Unit], texts: Iterable[str], summary: str) -> list[Unit]:
    """Return the history after a compaction of 0.36 to 0.53. Spec: codex 6."""
    said = "\n\n".join([_OPENING, *texts, _BRIDGE, summary])
    return [*leading(history), _summary(said)]


def is_bare(summary: str) -> bool:
    """Return whether a compaction's message is the summary alone, as up to 0.58."""
    return not summary.startswith(_BRIDGE[:40])


def leading(history: Sequence[Unit]) -> list[Unit]:
    """Return the context messages a history begins with."""
    found: list[Unit] = []
    for unit in history:
        if not unit.context:
            break
        found.append(unit)
    return found


def told_text(content: object) -> str:
    """Return the text that a compaction tells a user's message by: without images.

    The tags that stand around an image are none of it.
    """
    parts = [mapping(part) for part in sequence(content)]
    if not parts:
        return string(content)
    return "".join(
        string(part.get("text")) for at, part in enumerate(parts) if not _is_tag(parts, at)
    )


def _is_tag(parts: Sequence[Mapping[str, Any]], at: int) -> bool:
    """Whether a part is a tag that opens or closes the image beside it."""
    words = string(parts[at].get("text"))
    if words == _CLOSING_TAG:
        return at > 0 and parts[at - 1].get("type") == _IMAGE
    opens = _OPENING_TAGS.fullmatch(words) is not None and at + 1 < len(parts)
    return opens and parts[at + 1].get("type") == _IMAGE


def alone(unit: Unit, content: object, words: str) -> Unit:
    """Return a user's message as a compaction keeps it: its text, in one part.

    A message that is an image and nothing else, as `view_image` put there up to 0.101, stays
    with an empty text.

    Args:
        unit: the message.
        content: its content.
        words: its text, by :func:`told_text`.
    """
    parts = [mapping(part) for part in sequence(content)]
    if len(parts) < 2 and not any(part.get("type") == _IMAGE for part in parts):
        return unit
    kept = _user_message(words)
    kept.turn, kept.context = unit.turn, unit.context
    return kept


def _summary(words: str) -> Unit:
    made = _user_message(words)
    made.summary = True
    return made


def _user_message(words: str) -> Unit:
    content = [{"type": "input_text", "text": words}]
    item = {"type": "message", "role": "user", "content": content}
    return Unit(text.encode(item), "message", "user", words=words[:40], made=True)
