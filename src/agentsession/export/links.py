"""Links to other sessions: references, and the documents embedded for them.

Spec: export 10 and 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from agentsession.errors import AgentSessionError
from agentsession.export import records
from agentsession.export.names import main_document_name
from agentsession.export.options import Options
from agentsession.export.plan import Result, Step
from agentsession.export.planner import Planner
from agentsession.export.trajectory import at
from agentsession.findings import Finding
from agentsession.record_entries import LinkEntry
from agentsession.session import Session

if TYPE_CHECKING:
    from agentsession.export.outline import Outline

SUBSESSION: Final = "subsession"
_DEEPEST: Final = 64
_MOST: Final = 1024


@dataclass(frozen=True, slots=True)
class Embedding:
    """Where an embedded document stands.

    Attributes:
        ancestors: the sessions around it, its own included.
        left: how many more documents the outermost one may take in, in a list of one.
    """

    ancestors: tuple[str, ...]
    left: list[int] = field(default_factory=lambda: [_MOST])

    @classmethod
    def of(cls, session_id: str) -> Embedding:
        """Return the place of a document that is not embedded."""
        return cls((session_id,))

    def refusal(self, session: Session) -> str:
        """Return why a session cannot be embedded here, or an empty string."""
        if session.id in self.ancestors:
            return "links back to a session around it"
        if len(self.ancestors) > _DEEPEST:
            return f"lies more than {_DEEPEST} sessions deep"
        if self.left[0] <= 0:
            return f"comes after {_MOST} others"
        return ""

    def inside(self, session: Session) -> Embedding:
        """Return the place of a document embedded here, counted as one more."""
        self.left[0] -= 1
        return replace(self, ancestors=(*self.ancestors, session.id))


@dataclass(slots=True)
class Links:
    """What became of the links of one document.

    Attributes:
        links: records for the root's ``extra``.
        children: embedded documents, in the order they were met.
        findings: what could not be embedded, and why.
    """

    links: list[dict[str, Any]] = field(default_factory=list)
    children: tuple[Outline, ...] = ()
    findings: list[Finding] = field(default_factory=list)


def resolve_links(planner: Planner, options: Options, embedding: Embedding) -> Links:
    """Add the references of all links to a plan, and return what goes elsewhere."""
    found = Links()
    embedded: dict[str, Outline] = {}
    for link in planner.links:
        if link.rel != SUBSESSION:
            found.links.append(records.link(link))
            continue
        ref = _reference(link, options, embedding, embedded, found.findings)
        step = planner.step_of_call(link.call_id) if link.call_id else None
        if step is None:
            found.links.append({**records.link(link), "subagent_trajectory_ref": ref})
        else:
            _result_of(step, link.call_id).refs.append(ref)
    found.children = tuple(embedded.values())
    return found


def _result_of(step: Step, call_id: str) -> Result:
    for result in step.results:
        if result.call_id == call_id:
            return result
    step.results.append(Result(call_id))
    return step.results[-1]


def _reference(
    link: LinkEntry,
    options: Options,
    embedding: Embedding,
    embedded: dict[str, Outline],
    findings: list[Finding],
) -> dict[str, Any]:
    ref: dict[str, Any] = {"session_id": link.session, "extra": {"entry_id": link.id}}
    child = _child(link, options, embedding, embedded, findings)
    if child is None:
        ref["trajectory_path"] = main_document_name(link.session)
    else:
        ref["trajectory_id"] = child
    return ref


def _child(
    link: LinkEntry,
    options: Options,
    embedding: Embedding,
    embedded: dict[str, Outline],
    findings: list[Finding],
) -> str | None:
    """Embed the linked session once and return the id of its document, or ``None``."""
    from agentsession.export.outline import Outline  # noqa: PLC0415 - documents hold documents

    session = _resolved(link, options, findings)
    if session is None or not len(session):
        return None
    leaf = session.entries[-1].id
    trajectory_id = f"{session.id}/{leaf}"
    if trajectory_id in embedded:
        return trajectory_id
    refusal = embedding.refusal(session)
    if refusal:
        findings.append(_not_embedded(link, refusal))
        return None
    plain = replace(options, redactors=(), notes="")
    try:
        trajectory = at(session, leaf, *options.preferences)
        child = Outline(trajectory, plain, embedding.inside(session), trajectory_id=trajectory_id)
    except AgentSessionError as error:
        findings.append(_not_embedded(link, f"cannot be shown: {error}"))
        return None
    if child.is_empty:
        findings.append(_not_embedded(link, "has no steps"))
        return None
    findings += child.findings
    embedded[trajectory_id] = child
    return trajectory_id


def _resolved(link: LinkEntry, options: Options, findings: list[Finding]) -> Session | None:
    if options.subsessions is None:
        return None
    # Whatever the resolver raises means that the session is not there.
    try:
        return options.subsessions(link.session)
    except Exception as error:
        findings.append(_not_embedded(link, f"could not be opened: {error}"))
        return None


def _not_embedded(link: LinkEntry, why: str) -> Finding:
    return Finding(
        "subsession-not-embedded",
        f"a linked session is referenced by file because it {why}",
        f"session {link.session}",
    )


def sessions_by_id(sessions: Sequence[Session]) -> dict[str, Session]:
    """Return sessions by their ids; its ``get`` is a resolver."""
    return {session.id: session for session in sessions}
