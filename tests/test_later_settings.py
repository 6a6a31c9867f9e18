"""Parts kept by number and by hash, omitted parts in force, items left out of requests.

Spec: later drafts 8.1 to 8.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession.canonical import sha256
from agentsession.testing import SessionBuilder

Part = ags.InstructionsPart
Omitted = ags.OmittedPart
keep = Part.keeping
skip = Omitted.keeping

A, B, C, D = (Part(name, name.upper() * 2, "layer") for name in "abcd")


def by_hash(part: ags.InstructionsPart, **members: Any) -> ags.InstructionsPart:
    return Part(part.id, hash=sha256(part.text.encode()), **members)


class Path:
    """Config entries one after the other, whatever append would say about them."""

    def __init__(self) -> None:
        self.settings = ags.Settings()
        self.session = ags.Session(ags.Header(format="agentsession/0.11"))
        self.ids: list[str] = []

    def take(self, **members: Any) -> ags.Settings:
        entry = ags.ConfigEntry(**members)
        sealed = entry.sealed(f"c{len(self.ids)}", None, "2026-01-01T00:00:00Z", (0, 11))
        self.ids.append(sealed.id)
        self.settings = self.settings.apply(sealed)
        return self.settings

    def parts(self, *listed: ags.InstructionsPart, **members: Any) -> tuple[Any, ...]:
        return self.take(instructions_parts=listed, **members).instructions_parts

    def omitted(self, *listed: ags.OmittedPart, **members: Any) -> tuple[Any, ...]:
        return self.take(instructions_omitted=listed, **members).instructions_omitted


class TestParts:
    def test_keep_counts_from_the_cursor(self) -> None:
        path = Path()
        path.parts(A, B, C, D)
        assert path.parts(keep(1), Part("b", "new", "layer"), keep(2)) == (
            A,
            Part("b", "new", "layer"),
            C,
            D,
        )
        assert path.parts(by_hash(C), keep(1)) == (C, D)
        assert path.settings.instructions == "CC\n\nDD"

    def test_keep_that_takes_a_named_part_or_too_many(self) -> None:
        for listed in ((keep(5),), (keep(2), Part("b", "x")), (A, keep(9))):
            path = Path()
            path.parts(A, B, C, D)
            found = path.parts(*listed)
            assert any(not part.id for part in found)
            path = Path()
            path.parts(A, B, C, D)
            assert path.take(instructions_parts=listed, instructions="told").instructions == "told"

    def test_an_unresolved_keep_moves_the_cursor(self) -> None:
        path = Path()
        path.parts(A, B, C, D)
        assert path.parts(keep(2), keep(1), Part("b", "x"))[1:] == (C, Part("b", "x"))

    def test_a_hash_must_be_the_one(self) -> None:
        path = Path()
        path.parts(A, B)
        wrong = Part("a", hash="sha256:00")
        assert path.parts(wrong, keep(1)) == (wrong, B)
        assert path.settings.instructions == "\n\nBB"

    def test_what_left_force_comes_back_by_hash(self) -> None:
        path = Path()
        path.parts(A, B)
        path.parts(Part("a", "other", "else"))
        assert path.parts(by_hash(A), by_hash(B, source="mine")) == (A, Part("b", "BB", "mine"))
        path.take(instructions="plain")
        assert path.settings.instructions_parts == ()
        assert path.parts(by_hash(Part("a", "other"))) == (Part("a", "other", "else"),)
        path.take(replace=True, instructions="new")
        assert path.parts(by_hash(A)) == (by_hash(A),)

    def test_the_one_in_force_is_preferred(self) -> None:
        path = Path()
        path.parts(Part("a", "AA", "old"))
        path.parts(Part("a", "AA", "new"))
        assert path.parts(by_hash(A)) == (Part("a", "AA", "new"),)

    def test_a_part_with_only_an_id_is_empty(self) -> None:
        path = Path()
        assert path.take(instructions_parts=[A, Part("e")], instructions="x").instructions == (
            "AA\n\n"
        )

    def test_a_keep_of_another_form_is_unknown(self) -> None:
        odd = Part.from_json(b'{"id":"a","keep":"x","text":"t"}')
        assert (odd.keep, odd.unknown) == (0, {"keep": "x"})
        assert Path().parts(odd) == (odd,)
        line = (
            b'{"type":"config","id":"a","parent":null,"ts":"2026-01-01T00:00:00Z",'
            b'"instructions_parts":[{"id":"a","keep":"x"}],"omit":7,"instructions_omitted":'
            b'[{"id":"b","of":7}]}'
        )
        assert ags.unmarshal_entry(line).type == "config"

    def test_the_size_example(self) -> None:
        parts = [Part(f"m{n}", f"text {n}") for n in range(126)]
        path = Path()
        path.parts(*parts)
        parts[60] = Part("m60", "changed")
        entry = path.settings.instructions_delta(parts)
        assert entry is not None
        assert entry.instructions_parts == (keep(60), Part("m60", "changed"), keep(65))

    @settings(max_examples=150, deadline=None)
    @given(
        st.lists(
            st.lists(
                st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")),
                unique_by=lambda pair: pair[0],
                min_size=1,
                max_size=6,
            ),
            min_size=1,
            max_size=5,
        )
    )
    def test_a_delta_brings_what_was_asked_for(self, wishes: list[list[tuple[str, str]]]) -> None:
        path = Path()
        path.take(model="m")
        for wish in wishes:
            wanted = tuple(Part(name, words, words) for name, words in wish)
            entry = path.settings.instructions_delta(wanted)
            if entry is not None:
                assert entry.check_append() == ""
                path.parts(*entry.instructions_parts)
            assert path.settings.instructions_parts == wanted
            assert path.settings.instructions == "\n\n".join(words for _, words in wish)


class TestOmitted:
    def test_it_stays_in_force(self) -> None:
        path = Path()
        listed = (Omitted("a", "budget", 1), Omitted("b"))
        path.omitted(*listed)
        assert path.take(model="m").instructions_omitted == listed
        assert path.take(instructions_omitted=[]).instructions_omitted == ()
        path.omitted(*listed)
        assert path.take(replace=True).instructions_omitted == ()

    def test_keep_and_of(self) -> None:
        path = Path()
        a, b, c, d = (Omitted(name) for name in "abcd")
        path.omitted(a, b)
        path.omitted(c)
        assert path.omitted(skip(1), d, skip(2, "c0")) == (c, d, a, b)
        assert path.omitted(skip(1), skip(1, "c0"), skip(2)) == (c, a, d, a)
        assert path.omitted(b, skip(1, "c0")) == (b, skip(1, "c0"))

    @pytest.mark.parametrize(
        "element",
        [skip(3), skip(1, "nowhere"), skip(3, "c0"), skip(1, "c1"), Omitted.from_json(b"{}")],
    )
    def test_what_cannot_be_told_stays(self, element: ags.OmittedPart) -> None:
        path = Path()
        path.omitted(Omitted("a"), Omitted("b"))
        path.take(model="m")
        assert path.omitted(element, Omitted("z")) == (element, Omitted("z"))

    def test_a_replace_forgets_the_lists(self) -> None:
        path = Path()
        path.omitted(Omitted("a"))
        path.omitted(Omitted("b"), replace=True)
        assert path.omitted(skip(1, "c0"), skip(1, "c1")) == (skip(1, "c0"), Omitted("b"))


def session(*models: str, omit: Any = None) -> SessionBuilder:
    """A session with reasoning of each model."""
    build = SessionBuilder("agentsession/0.11")
    for model in models:
        build.config(model=model)
        build.user("go")
        thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": model}]}
        build.response([thought])
    if omit is not None:
        build.config(omit=omit)
    build.user("last")
    return build


def thoughts(context: ags.Context) -> list[str]:
    return [item.text for item in context.items if item.type == "reasoning"]


class TestOmission:
    def test_reasoning_of_other_models(self) -> None:
        build = session("m1", "m2", "m1", omit={"reasoning": "other_models"})
        context = build.session.context()
        assert thoughts(context) == ["m1", "m1"]
        assert list(context.omitted.values()) == ["other_models"]
        assert all(entry.id not in context.omitted for entry in context.item_entries)
        assert {entry.id for entry in context.entries} >= set(context.omitted)
        build.config(model="m2")
        assert thoughts(build.session.context()) == ["m2"]
        build.config(omit={})
        assert len(thoughts(build.session.context())) == 3

    def test_listed_items(self) -> None:
        build = session("m1", "m2")
        ids = [entry.id for entry in build.session if entry.type == "item"]
        build.config(omit={"items": ids[:1]})
        build.config(omit={"items": [ids[2], 7], "reasoning": "unknown"})
        context = build.session.context()
        assert dict(context.omitted) == {ids[0]: "items", ids[2]: "items"}
        assert context.settings.omit == {"items": [ids[0], ids[2]]}
        build.config(omit={"reasoning": "other_models"})
        assert len(build.session.context().omitted) == 3

    def test_a_checkpoint_carries_it(self) -> None:
        build = session("m1", "m2", omit={"reasoning": "other_models"})
        kept = build.session.entries[1].id
        entry = build.session.compact(kept, {"type": "message", "role": "user", "content": "s"})
        assert entry.config.omit == {"reasoning": "other_models"}
        build.append(entry)
        assert thoughts(build.session.context()) == ["m2"]

    def test_items_without_a_response_stay(self) -> None:
        build = SessionBuilder("agentsession/0.11")
        build.config(model="m1")
        build.item({"type": "reasoning", "summary": []})
        build.config(model="m2", omit={"reasoning": "other_models"})
        assert len(build.session.context().items) == 1

    def test_early_drafts_do_not_know_it(self) -> None:
        early = ags.Session(ags.Header(format="agentsession/0.3"))
        with pytest.raises(ags.InvalidEntry, match=r"omit; it came with agentsession/0\.11"):
            early.append(ags.ConfigEntry(omit={}))

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.sampled_from(["m1", "m2", "all", "clear", "item", "ask", "fold", "back"]),
            min_size=1,
            max_size=14,
        )
    )
    def test_hashes_one_by_one_and_all_at_once(self, moves: Sequence[str]) -> None:
        build = SessionBuilder("agentsession/0.11")
        build.config(model="m0")
        for number, move in enumerate(moves):
            if move in ("m1", "m2"):
                build.config(model=move)
            elif move == "all":
                build.config(omit={"reasoning": "other_models"})
            elif move == "clear":
                build.config(omit={})
            elif move == "item":
                ids = [e.id for e in build.session if e.type == "item"]
                build.config(omit={"items": ids[:1]})
            elif move == "fold":
                summary = {"type": "message", "role": "user", "content": "s"}
                build.append(build.session.compact(build.session.path()[0].id, summary))
            elif move == "back":
                at = min(number // 2, len(build.session) - 1)
                build.session.branch(build.session.entries[at].id)
            else:
                build.user("go")
                build.response([{"type": "reasoning", "summary": []}])
        assert build.session.verify_all().ok
        for result in build.session.verify_all():
            assert build.session.verify(result.entry_id) is result.form


class TestWriting:
    @pytest.fixture
    def started(self) -> ags.Session:
        made = ags.Session(ags.Header(format="agentsession/0.11"))
        made.append(ags.ConfigEntry(instructions_parts=[A, B, C]))
        return made

    @pytest.mark.parametrize(
        "members",
        [
            {"instructions_parts": [keep(4)]},
            {"instructions_parts": [keep(2), B]},
            {"instructions_parts": [keep(0)]},
            {"instructions_parts": [A, A]},
            {"instructions_parts": [Part.from_json(b'{"keep":1,"x":2}')]},
            {"instructions_parts": [keep(1)], "replace": True},
            {"instructions_parts": [by_hash(A)], "replace": True},
            {"instructions_omitted": [skip(1)], "replace": True},
            {"instructions_omitted": [skip(0)]},
        ],
    )
    def test_what_writers_must_not_write(
        self, started: ags.Session, members: dict[str, Any]
    ) -> None:
        with pytest.raises(ags.InvalidEntry):
            started.append(ags.ConfigEntry(**members))

    def test_what_they_may(self, started: ags.Session) -> None:
        started.append(ags.ConfigEntry(instructions_parts=[keep(1), Part("b", "x"), keep(1)]))
        started.append(ags.ConfigEntry(instructions_parts=[by_hash(B)]))
        assert started.context().settings.instructions == "BB"
        started.append(
            ags.ConfigEntry(instructions_parts=[by_hash(D)], instructions="x", replace=True)
        )
        assert started.context().settings.instructions == "x"
        folded = started.compact(
            started.leaf or "", {"type": "message", "role": "user", "content": ""}
        )
        assert folded.config.instructions == "x"
        assert folded.config.instructions_parts == ()
