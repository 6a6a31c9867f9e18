"""The document of a trajectory: its frame, its root, and its steps one after the other.

Spec: export 2, 8 and 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentsession import text, versions
from agentsession.entries import CompactionEntry, ConfigEntry, Entry
from agentsession.export import records
from agentsession.export.links import Embedding, resolve_links
from agentsession.export.names import EXTRA_AGENTSESSION, EXTRA_OPENRESPONSES
from agentsession.export.options import Options
from agentsession.export.plan import Kind, Plan, Step
from agentsession.export.planner import Planner
from agentsession.export.render import Renderer
from agentsession.export.trajectory import Trajectory
from agentsession.export.usage import MODEL_CALLS, Totals, totals, view
from agentsession.findings import Finding
from agentsession.settings import Settings

AGENT: Final = "agentsession"
AGENT_VERSION: Final = versions.format_name(versions.NEWEST_SHORT)
"""The version of an agent nobody named, as the reference wrote it (decision E9)."""

_STEPPED_OVER: Final = frozenset(
    {"compaction", "env", "info", "label", "custom", "run", "dispatch", "decision"}
)


@dataclass(slots=True)
class Counts:
    """What one document holds and what it leaves out.

    Attributes:
        steps: its steps.
        tool_calls: the calls its steps make.
        model_calls: responses, compactions and branch summaries of the whole path.
        folded: those of them that no step shows.
        dropped: failed ones that were left out on request.
        degraded: media parts that became text, by kind.
        embedded: documents inside this one.
    """

    steps: int = 0
    tool_calls: int = 0
    model_calls: int = 0
    folded: int = 0
    dropped: int = 0
    degraded: dict[str, int] = field(default_factory=dict)
    embedded: int = 0


class Outline:
    """One document that is rendered step by step, as often as it is asked for.

    Attributes:
        trajectory: what it shows.
        children: the documents embedded in it.
        findings: what a user should know about it.
        trajectory_id: its id.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        options: Options,
        embedding: Embedding | None = None,
        *,
        trajectory_id: str = "",
    ) -> None:
        if trajectory.error is not None:
            raise trajectory.error
        self.trajectory = trajectory
        self.options = options
        self.trajectory_id = trajectory_id or trajectory.leaf_id
        self.findings: list[Finding] = []
        whole = options.history == "path"
        path = trajectory.path or trajectory.entries
        entries = path if whole else trajectory.entries
        planner = Planner(entries, path, whole=whole, drop_failed=options.failed_calls == "drop")
        self._plan: Plan = planner.run()
        self._settings = leading_settings(entries)
        self._totals: Totals = totals(path, options.cost)
        shown = sum(isinstance(entry, MODEL_CALLS) for entry in entries)
        self._folded = self._totals.calls - shown
        self._add_instructions(entries, planner.settings)
        self._renderer = Renderer(
            model_name=options.model_name,
            text_only=options.text_only,
            mark_failed=options.failed_calls == "mark",
            costs=self._totals.costs,
            omitted=self._plan.omitted,
        )
        embedding = embedding or Embedding.of(trajectory.header.id)
        found = resolve_links(planner, options, embedding)
        self.children: tuple[Outline, ...] = found.children
        self._links = found.links
        self.findings += found.findings
        self._note_losses(planner)
        self._tool_calls = 0
        self._check_trailing_environment()

    # What the document says.

    def head(self) -> dict[str, Any]:
        """Return the document without its steps and embedded documents, members in order."""
        head: dict[str, Any] = {
            "schema_version": self.options.schema_version,
            "session_id": self.trajectory.header.id,
            "trajectory_id": self.trajectory_id,
            "agent": self._agent(),
            "steps": [],
        }
        if not head["session_id"]:
            del head["session_id"]
        notes = self._notes()
        if notes:
            head["notes"] = notes
        head["final_metrics"] = self._final_metrics()
        head["extra"] = self._extra()
        return head

    def steps(self) -> Iterator[dict[str, Any]]:
        """Render the steps in order."""
        self._tool_calls = 0
        self._renderer.reader.degraded.clear()
        for number, plan in enumerate(self._plan.steps, 1):
            step = self._renderer.step(plan, number)
            self._tool_calls += len(step.get("tool_calls", ()))
            yield step

    def document(self) -> dict[str, Any]:
        """Return the whole document as a JSON value."""
        found = self.head()
        found["steps"] = list(self.steps())
        if self.children:
            found["subagent_trajectories"] = [child.document() for child in self.children]
        return found

    @property
    def is_empty(self) -> bool:
        """Whether there is not a single step, so that no reader takes the document."""
        return not self._plan.steps

    def counts(self) -> Counts:
        """Return what was counted; calls and degraded media belong to the last rendering."""
        found = Counts(
            steps=len(self._plan.steps),
            tool_calls=self._tool_calls,
            model_calls=self._totals.calls,
            folded=self._folded,
            dropped=len(self._plan.dropped),
            degraded=dict(self._renderer.reader.degraded),
            embedded=len(self.children),
        )
        for child in self.children:
            inner = child.counts()
            found.embedded += inner.embedded
            for kind, count in inner.degraded.items():
                found.degraded[kind] = found.degraded.get(kind, 0) + count
        return found

    # How it says it.

    def _agent(self) -> dict[str, Any]:
        options, harness = self.options, self.trajectory.header.harness
        name, version = options.agent_name, options.agent_version
        if not name and harness is not None and harness.name:
            name, version = harness.name, version or harness.version
        agent: dict[str, Any] = {"name": name or AGENT, "version": version or AGENT_VERSION}
        model = options.model_name or self._settings.model
        if model:
            agent["model_name"] = model
        if self._settings.tools:
            agent["tool_definitions"] = [
                records.tool_definition(tool) for tool in self._settings.tools
            ]
        return agent

    def _notes(self) -> str:
        lines = [self.options.notes] if self.options.notes else []
        if self._folded:
            lines.append(
                f"The steps are the context after compaction and leave out {self._folded} model "
                "call(s) that were folded away; total_steps counts them and final_metrics totals "
                "the whole path."
            )
        if self._plan.dropped:
            lines.append(
                f"The steps leave out {len(self._plan.dropped)} failed model call(s); total_steps "
                "counts them and final_metrics totals the whole path."
            )
        if self.children and self.options.note_embedded:
            lines.append(
                f"final_metrics leaves out the {len(self.children)} embedded trajectories, "
                "which have totals of their own."
            )
        return "\n".join(lines)

    def _final_metrics(self) -> dict[str, Any]:
        tokens = self._totals.tokens
        metrics: dict[str, Any] = {
            "total_prompt_tokens": tokens.prompt,
            "total_completion_tokens": tokens.completion,
            "total_cached_tokens": tokens.cached,
        }
        if self._totals.cost is not None:
            metrics["total_cost_usd"] = self._totals.cost
        hidden = self._folded + len(self._plan.dropped)
        metrics["total_steps"] = len(self._plan.steps) + hidden
        if self._plan.outcomes:
            metrics["extra"] = {"outcome": self._plan.outcomes}
        return metrics

    def _extra(self) -> dict[str, Any]:
        trajectory, plan = self.trajectory, self._plan
        extra: dict[str, Any] = {
            **plan.root,
            **plan.pending.members,
            **self._renderer.listed(plan.pending.listed),
            EXTRA_OPENRESPONSES: {"payload": trajectory.header.payload},
            EXTRA_AGENTSESSION: self._own_extra(),
        }
        if trajectory.preferred_over:
            extra["preferred_over"] = list(trajectory.preferred_over)
        if trajectory.abandoned_at:
            extra["abandoned_at"] = trajectory.abandoned_at
        if self._links:
            extra["links"] = self._links
        fork_of = _fork_of(trajectory.path)
        if fork_of:
            extra["fork_of"] = fork_of
        return dict(sorted(extra.items()))

    def _own_extra(self) -> dict[str, Any]:
        trajectory, header = self.trajectory, self.trajectory.header
        own: dict[str, Any] = {"format": header.format, "leaf": trajectory.leaf_id}
        given = {
            "cwd": header.cwd,
            "parent_session": header.parent_session,
            "spawned_by": header.spawned_by,
            "records": list(header.records),
            "name": trajectory.name,
            "labels": dict(sorted(trajectory.labels.items())),
            "main": trajectory.main,
        }
        if self._plan.item_order is not None:
            own["item_order"] = self._plan.item_order
        return own | {name: value for name, value in given.items() if value}

    # Preparations.

    def _add_instructions(self, entries: Sequence[Entry], last: Settings) -> None:
        if not self.options.instructions or not self._plan.steps:
            return
        instructions = self._settings.instructions
        if last.instructions != instructions:
            self.findings.append(
                Finding(
                    "instructions-changed",
                    "the instructions changed along the path; the document has the first ones",
                    self.trajectory_id,
                )
            )
        if instructions:
            step = Step(Kind.INSTRUCTIONS, entries[0], instructions=instructions)
            self._plan.steps.insert(0, step)

    def _note_losses(self, planner: Planner) -> None:
        if planner.lost_environments:
            self.findings.append(
                Finding(
                    "environment-replaced",
                    "an environment was replaced before a step took it",
                    self.trajectory_id,
                    planner.lost_environments,
                )
            )

    def _check_trailing_environment(self) -> None:
        """Keep the first environment from being lost to one that no step took.

        It gives way only where it says no more than the header does.
        """
        trailing = self._plan.pending.members.get("environment")
        if trailing is None:
            return
        first = self._plan.root.get("environment", {})
        said = {name: value for name, value in first.items() if name != "entry_id"}
        if said and said != {"cwd": self.trajectory.header.cwd}:
            del self._plan.pending.members["environment"]
            self._plan.root["environment_at_end"] = trailing


def leading_settings(entries: Sequence[Entry]) -> Settings:
    """Return the settings the agent starts with: those before the first step.

    Spec: export 2, leading entries.
    """
    settings = Settings()
    for position, entry in enumerate(entries):
        seen = view(entry)
        if isinstance(seen, CompactionEntry):
            settings = seen.config if position == 0 else settings
        elif isinstance(seen, ConfigEntry):
            settings = settings.apply(seen)
        elif seen.type not in _STEPPED_OVER:
            break
    return settings


def _fork_of(path: Sequence[Entry]) -> list[Any]:
    found = view(path[0]).text_of("parents") if path else None
    value = text.parse(found) if found else None
    return value if isinstance(value, list) else []
