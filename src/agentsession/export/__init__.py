"""Sessions as ATIF documents: trajectories, conversion, redaction, files, and the way back.

>>> import agentsession as ags
>>> from agentsession import export
>>> session = ags.Session(ags.Header(id="demo"))
>>> _ = session.append(ags.ItemEntry({"type": "message", "role": "user", "content": "Hi"}))
>>> [trajectory] = export.trajectories(session)
>>> document = export.to_atif(trajectory)
>>> document.steps[0].message
'Hi'
>>> export.items(document)[0].text
'Hi'

Spec: export, decisions E.
"""

from agentsession.export.adapter import Stepwise, Whole
from agentsession.export.convert import Conversion, convert, to_atif, with_schema_version
from agentsession.export.detection import Detected, Detector
from agentsession.export.errors import BadPattern, CannotExport, NoRawItems, RefusedSecret
from agentsession.export.items import items, items_from
from agentsession.export.names import (
    EXTRA_ABANDONED_AT,
    EXTRA_AGENTSESSION,
    EXTRA_BRANCH_FROM,
    EXTRA_CALLS,
    EXTRA_CONTEXT_MANAGEMENT,
    EXTRA_ENVIRONMENT,
    EXTRA_OPENRESPONSES,
    EXTRA_OUTCOME,
    EXTRA_PREFERRED_OVER,
    EXTRA_QUEUED,
    EXTRA_RUN,
    REPLACEMENT,
    document_name,
    main_document_name,
)
from agentsession.export.options import Cost, Options, Resolver
from agentsession.export.outline import Outline
from agentsession.export.preferences import (
    Preference,
    prefer_current_leaf,
    prefer_label,
    prefer_latest,
    prefer_score,
)
from agentsession.export.redact import (
    Redactor,
    detect_secrets,
    document_redactor,
    environment,
    home_paths,
    no_passthrough,
    redact,
    redact_attributes,
    secrets,
)
from agentsession.export.report import is_whole
from agentsession.export.runner import export_session, export_sessions
from agentsession.export.scan import find_secrets
from agentsession.export.sinks import Targets
from agentsession.export.tabular import COLUMNS
from agentsession.export.trajectory import Trajectory, at, trajectories
from agentsession.export.work import Opened, Progress, Work
from agentsession.export.write import write_atif

__all__ = [
    "COLUMNS",
    "EXTRA_ABANDONED_AT",
    "EXTRA_AGENTSESSION",
    "EXTRA_BRANCH_FROM",
    "EXTRA_CALLS",
    "EXTRA_CONTEXT_MANAGEMENT",
    "EXTRA_ENVIRONMENT",
    "EXTRA_OPENRESPONSES",
    "EXTRA_OUTCOME",
    "EXTRA_PREFERRED_OVER",
    "EXTRA_QUEUED",
    "EXTRA_RUN",
    "REPLACEMENT",
    "BadPattern",
    "CannotExport",
    "Conversion",
    "Cost",
    "Detected",
    "Detector",
    "NoRawItems",
    "Opened",
    "Options",
    "Outline",
    "Preference",
    "Progress",
    "Redactor",
    "RefusedSecret",
    "Resolver",
    "Stepwise",
    "Targets",
    "Trajectory",
    "Whole",
    "Work",
    "at",
    "convert",
    "detect_secrets",
    "document_name",
    "document_redactor",
    "environment",
    "export_session",
    "export_sessions",
    "find_secrets",
    "home_paths",
    "is_whole",
    "items",
    "items_from",
    "main_document_name",
    "no_passthrough",
    "prefer_current_leaf",
    "prefer_label",
    "prefer_latest",
    "prefer_score",
    "redact",
    "redact_attributes",
    "secrets",
    "to_atif",
    "trajectories",
    "with_schema_version",
    "write_atif",
]
