"""Settings: the model, its instructions and the surroundings, where they change.

Spec: codex 3 and 9.
"""

from __future__ import annotations

from typing import Any, Final

from agentsession.entries import ConfigEntry
from agentsession.importers.codex.lines import Line, mapping, string
from agentsession.importers.codex.state import State
from agentsession.importers.codex.writer import NAMESPACE, Writer
from agentsession.parts import VCS
from agentsession.record_entries import EnvEntry

_ELSEWHERE: Final = frozenset({"model", "effort", "turn_id", "root_turn_id", "cwd", "type"})
_HISTORY: Final = frozenset({"base_instructions", "instructions"})


class Settings:
    """Writes config and env entries of a session.

    Args:
        writer: the session.

    Attributes:
        instructions: the stored instructions; ``None`` when there are none.
        repeated: whether the last turn context said what the one before did.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.instructions: str | None = None
        self.repeated = False

    def meta(self, state: State, line: Line) -> list[str]:
        """Write what a file says of its thread; return the entries' ids."""
        payload, writer = line.payload, self._writer
        base = mapping(payload.get("base_instructions")).get("text")
        if isinstance(base, str):
            self.instructions = base
        kept = {name: value for name, value in payload.items() if name not in _HISTORY}
        user = payload.get("instructions")
        if isinstance(user, str) and user:
            kept["instructions"] = user
        provenance = mapping(payload.get("base_instructions")).get("provenance")
        if provenance is not None:
            kept["base_instructions"] = {"provenance": provenance}
        name = string(payload.get("id"))
        entries = [writer.note({"session_meta": kept}, name, "meta", line.time)]
        git = mapping(payload.get("git"))
        state.cwd = string(payload.get("cwd")) or state.cwd
        commit = string(git.get("commit_hash"))
        if commit:
            branch = {"branch": git["branch"]} if string(git.get("branch")) else {}
            url = {"repository_url": git["repository_url"]} if git.get("repository_url") else {}
            env = EnvEntry(cwd=state.cwd, vcs=VCS("git", commit, unknown={**branch, **url}))
            entries.append(writer.add(env, name, "env", line.time))
        return entries

    def context(self, state: State, line: Line) -> tuple[str, bool]:
        """Take a turn context; return the entry that says it, and whether that is new."""
        payload, writer = line.payload, self._writer
        state.model = string(payload.get("model")) or state.model
        state.policy = mapping(payload.get("truncation_policy"))
        cwd = string(payload.get("cwd"))
        beside = {name: value for name, value in payload.items() if name not in _ELSEWHERE}
        wanted: dict[str, Any] = {
            "model": state.model,
            "effort": string(payload.get("effort")),
            "provider": state.provider,
            "instructions": self.instructions,
            "beside": beside,
        }
        entry_id, is_new = string(writer.configured.get("entry")), False
        said = {name: value for name, value in writer.configured.items() if name != "entry"}
        self.repeated = said == wanted
        if not self.repeated:
            entry_id, is_new = self._configure(wanted, said, line), True
            writer.configured = {**wanted, "entry": entry_id}
        if cwd and cwd != state.cwd:
            state.cwd = cwd
            entry_id, is_new = writer.add(EnvEntry(cwd=cwd), cwd, "env", line.time), True
        return entry_id, is_new

    def _configure(self, wanted: dict[str, Any], said: dict[str, Any], line: Line) -> str:
        unknown: dict[str, Any] = {NAMESPACE: wanted["beside"]} if wanted["beside"] else {}
        if wanted["provider"]:
            unknown["provider"] = wanted["provider"]
        reasoning: dict[str, Any] | None = None
        if wanted["effort"] != string(said.get("effort")):
            reasoning = {"effort": wanted["effort"]} if wanted["effort"] else {}
        instructions = wanted["instructions"]
        entry = ConfigEntry(
            model=wanted["model"],
            instructions=instructions if instructions != said.get("instructions") else None,
            reasoning=reasoning,
            unknown=unknown,
        )
        return self._writer.add(entry, "", "config", line.time)
