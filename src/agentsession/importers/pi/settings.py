"""Settings of pi's requests, and the config entries that say how they change.

Spec: pi 3, 4, 6, format 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from agentsession import text
from agentsession.entries import ConfigEntry
from agentsession.importers.pi.lowering import kept
from agentsession.importers.pi.records import mapping, objects, string
from agentsession.importers.prompts import part_of
from agentsession.parts import InstructionsPart

NAMESPACE: Final = "pi"

IMAGES: Final = "images"
"""The member of a response's ``pi`` that is ``False`` where the model takes no images."""

_OFF: Final = frozenset({"", "off"})
_CONTENT: Final = "content"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a request is sent with, as far as pi stores it.

    Attributes:
        model, provider: who it goes to.
        level: how hard the model is to think, in pi's words; empty when nothing said so.
        content: what the system prompt begins with.
        sections: its named parts, in order.
        tools: the tools by name, each as JSON text.
    """

    model: str = ""
    provider: str = ""
    level: str = ""
    content: str = ""
    sections: tuple[tuple[str, str], ...] = ()
    tools: tuple[tuple[str, bytes], ...] = ()

    @property
    def prompt(self) -> tuple[tuple[str, str], ...]:
        """The parts of the system prompt that say anything, by name."""
        named = dict(self.sections)
        first = _CONTENT
        while first in named:
            first += "+"
        return tuple((n, t) for n, t in ((first, self.content), *self.sections) if n and t)

    def instructed(self, message: Mapping[str, Any], *, anew: bool = False) -> Setting:
        """Return the settings after a system message. Spec: pi 6.

        Args:
            message: the message.
            anew: it stands for all that came before, as a compaction's does.
        """
        sections = {} if anew else dict(self.sections)
        for name, words in mapping(message.get("sections")).items():
            if isinstance(words, str):
                sections[name] = words
            elif words is None:
                sections.pop(name, None)
        tools = {} if anew else dict(self.tools)
        for tool in objects(message.get("toolsRemoved")):
            tools.pop(string(tool.get("name")), None)
        for tool in objects(message.get("toolsAdded")):
            name = string(tool.get("name"))
            if name:
                tools[name] = _tool(name, tool)
        content = _content(message.get("content")) or ("" if anew else self.content)
        return replace(
            self, content=content, sections=tuple(sections.items()), tools=tuple(tools.items())
        )


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(string(part.get("text")) for part in objects(content))


def _tool(name: str, tool: Mapping[str, Any]) -> bytes:
    said = {
        "type": "function",
        "name": name,
        "description": string(tool.get("description")),
        "parameters": tool.get("parameters"),
    }
    return text.encode(said)


def change(before: Setting, after: Setting, native: Mapping[str, Any]) -> ConfigEntry:
    """Return the config entry that leads from one setting to another.

    Args:
        before: what is in force.
        after: what is to be.
        native: what pi recorded beside it.
    """
    unknown: dict[str, Any] = {}
    if after.provider and (after.provider, after.model) != (before.provider, before.model):
        unknown["provider"] = after.provider
    if native:
        unknown[NAMESPACE] = kept(native)
    tools, gone = _tools(before, after)
    parts = _parts(before, after)
    return ConfigEntry(
        model=after.model if after.model != before.model else "",
        instructions="" if not parts and before.prompt != after.prompt else None,
        reasoning=_reasoning(before, after),
        instructions_parts=parts,
        tools_added=tools,
        tools_removed=gone,
        unknown=unknown,
    )


def _reasoning(before: Setting, after: Setting) -> dict[str, Any] | None:
    if before.level == after.level:
        return None
    return {} if after.level in _OFF else {"effort": after.level}


def _parts(before: Setting, after: Setting) -> list[InstructionsPart]:
    """Return the system prompt's parts, those that stay named by hash; none for no change."""
    if before.prompt == after.prompt:
        return []
    known = set(before.prompt)
    return [part_of(name, words, stays=(name, words) in known) for name, words in after.prompt]


def _tools(before: Setting, after: Setting) -> tuple[list[bytes], list[str]]:
    had, has = dict(before.tools), dict(after.tools)
    gone = [name for name in had if name not in has]
    return [tool for name, tool in has.items() if had.get(name) != tool], gone
