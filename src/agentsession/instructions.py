"""Instructions in parts: how a config entry names parts that are known already.

An element of a list gives a part, names one by its id and the hash of its text, or takes
over the next few of a list in force. What left force is remembered until everything is
replaced, for it may come back by hash.

Spec: later drafts 8.1 and 8.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentsession.canonical import sha256
from agentsession.parts import InstructionsPart, OmittedPart

Parts = tuple[InstructionsPart, ...]
Omitted = tuple[OmittedPart, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """What left force since the settings were last replaced as a whole.

    Attributes:
        parts: by id, the parts that left force, newest last.
        lists: by config entry, the list of omitted parts it put in force.
    """

    parts: Mapping[str, Parts] = field(default_factory=dict)
    lists: Mapping[str, Omitted] = field(default_factory=dict)

    def without(self, before: Parts, after: Parts) -> Past:
        """Return the past with the parts that one change took out of force."""
        kept = {(part.id, part.text) for part in after}
        left = [p for p in before if is_resolved(p) and (p.id, p.text) not in kept]
        if not left:
            return self
        parts = dict(self.parts)
        for part in left:
            parts[part.id] = (*parts.get(part.id, ()), part)
        return Past(parts, self.lists)

    def listing(self, config_id: str, omitted: Omitted) -> Past:
        """Return the past with the list that a config entry put in force."""
        return Past(self.parts, {**self.lists, config_id: omitted})


def is_resolved(part: InstructionsPart) -> bool:
    """Return whether an element of a resolved list is a part with its text, if an empty one."""
    return bool(part.id) and (bool(part.text) or not part.hash)


def resolve_parts(listed: Sequence[InstructionsPart], in_force: Parts, past: Past) -> Parts:
    """Return the parts a config entry lists, each with its text where that can be told.

    What cannot be told stays as it is written; :func:`is_resolved` tells.

    Spec: later drafts 8.1.
    """
    places = {part.id: at for at, part in reversed(list(enumerate(in_force)))}
    named = {part.id for part in listed if part.id}
    found: list[InstructionsPart] = []
    cursor = 0
    for element in listed:
        if element.id:
            at = places.get(element.id)
            cursor = cursor if at is None else at + 1
            known = in_force[at] if at is not None else None
            found.append(_named(element, known, past.parts.get(element.id, ())))
        elif element.keep > 0:
            taken = in_force[cursor : cursor + element.keep]
            cursor += element.keep
            whole = len(taken) == element.keep and named.isdisjoint(part.id for part in taken)
            found += taken if whole else [element]
        else:
            found.append(element)
    return tuple(found)


def _named(
    element: InstructionsPart, known: InstructionsPart | None, left: Parts
) -> InstructionsPart:
    """The part an element names, from the one in force and those that left it."""
    if element.text or not element.hash:
        return element
    candidates = (*left, *((known,) if known is not None else ()))
    for part in reversed(candidates):
        if is_resolved(part) and sha256(part.text.encode("utf-8", "replace")) == element.hash:
            return _with_text_of(element, part)
    return element


def _with_text_of(element: InstructionsPart, part: InstructionsPart) -> InstructionsPart:
    """The element with another's text, and its source where it gives none itself."""
    texts = {wire: value for wire, value in element._loaded().items() if wire != "hash"}
    found = {**texts, "text": part.text_of("text") or b""}
    if not element.source:
        found["source"] = part.text_of("source") or b""
    ordered = [wire for wire in InstructionsPart.MEMBERS if found.get(wire)]
    ordered += [wire for wire in texts if wire not in InstructionsPart.MEMBERS]
    return InstructionsPart.from_texts({wire: found[wire] for wire in ordered})


def resolve_omitted(listed: Sequence[OmittedPart], in_force: Omitted, past: Past) -> Omitted:
    """Return the omitted parts a config entry lists, written out where that can be told.

    Each list that is counted over has a cursor of its own. What cannot be told stays as it
    is written: it has no id.

    Spec: later drafts 8.2.
    """
    counted = {part.of for part in listed if not part.id} | {""}
    lists: dict[str, Omitted | None] = {of: past.lists.get(of) for of in counted}
    lists[""] = in_force
    cursors = dict.fromkeys(lists, 0)
    named = {part.id for part in listed if part.id}
    found: list[OmittedPart] = []
    for element in listed:
        if element.id:
            for of, parts in lists.items():
                ids = [part.id for part in parts or ()]
                if element.id in ids:
                    cursors[of] = ids.index(element.id) + 1
            found.append(element)
        elif element.keep > 0:
            start = cursors[element.of]
            cursors[element.of] += element.keep
            taken = (lists[element.of] or ())[start : start + element.keep]
            whole = len(taken) == element.keep and named.isdisjoint(part.id for part in taken)
            found += taken if whole else [element]
        else:
            found.append(element)
    return tuple(found)


def listed_parts(wanted: Sequence[InstructionsPart], in_force: Parts, past: Past) -> Parts:
    """Return the shortest list that brings parts into force: kept, by hash, or with their text.

    Args:
        wanted: every part, in order, with its text; no id twice.
        in_force: the parts in force.
        past: what left force.

    Spec: later drafts 8.1.
    """
    places = {part.id: at for at, part in reversed(list(enumerate(in_force)))}
    found: list[InstructionsPart] = []
    cursor = run = 0
    for part in wanted:
        if cursor < len(in_force) and _same(in_force[cursor], part):
            run += 1
            cursor += 1
            continue
        if run:
            found.append(InstructionsPart.keeping(run))
            run = 0
        at = places.get(part.id)
        cursor = cursor if at is None else at + 1
        known = (*past.parts.get(part.id, ()), *((in_force[at],) if at is not None else ()))
        if _comes_back(known, part):
            found.append(
                InstructionsPart(part.id, hash=sha256(part.text.encode("utf-8", "replace")))
            )
        else:
            found.append(InstructionsPart(part.id, part.text, part.source))
    if run:
        found.append(InstructionsPart.keeping(run))
    return tuple(found)


def _same(known: InstructionsPart, part: InstructionsPart) -> bool:
    return is_resolved(known) and (known.id, known.text, known.source) == (
        part.id,
        part.text,
        part.source,
    )


def _comes_back(known: Parts, part: InstructionsPart) -> bool:
    """Whether a part's hash would bring back its text with its source."""
    newest = next((p for p in reversed(known) if is_resolved(p) and p.text == part.text), None)
    return newest is not None and newest.source == part.source
