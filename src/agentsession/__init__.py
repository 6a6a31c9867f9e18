"""Record, check, resume, store and export agent sessions in the Agent Session Format.

    >>> import agentsession as ags
    >>> session = ags.Session(ags.Header(cwd="/srv/app"))
    >>> entry_id = session.append(ags.ConfigEntry(model="m-1"))
    >>> entry_id == session.leaf
    True

The stores live in :mod:`agentsession.stores`, ATIF documents in :mod:`agentsession.atif`.
"""

from __future__ import annotations

from agentsession.calls import Call, CallState
from agentsession.canonical import canonical_json
from agentsession.codec import (
    ENTRY_TYPES,
    is_extension,
    marshal_entry,
    unmarshal_entry,
)
from agentsession.context import Context, build_context, in_context, request_context
from agentsession.entries import (
    LEAF_LABEL,
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.environment import (
    git_revision,
    hash_bytes,
    hash_file,
    hash_files,
    hash_text,
)
from agentsession.errors import (
    AgentSessionError,
    CallRejected,
    CannotHash,
    ConcurrentWriter,
    DamagedFile,
    DuplicateEntry,
    HashMismatch,
    InvalidEntry,
    NoContext,
    NoEntry,
    NoHash,
    NoSession,
    NotGit,
    NotJSON,
    ReadOnly,
    ReasonMismatch,
    RecordMissing,
    SessionExists,
    SessionLocked,
    StoreFailed,
    Superseded,
    UnsupportedFormat,
)
from agentsession.header import ALL_RECORDS, MEDIA_INLINE, MEDIA_SIDECAR, Header
from agentsession.ids import new_entry_id, new_session_id, subsession_id
from agentsession.items import Item, tool_name
from agentsession.parts import (
    VCS,
    FileHashes,
    Harness,
    InstructionsPart,
    OmittedPart,
    Reference,
    Trigger,
    Workspace,
)
from agentsession.reading import read
from agentsession.record_entries import (
    CustomEntry,
    DecisionEntry,
    DispatchEntry,
    EnvEntry,
    InfoEntry,
    LabelEntry,
    LinkEntry,
    OutcomeEntry,
    QueuedEntry,
    RunEntry,
    UnknownEntry,
)
from agentsession.recording import (
    config_from_request,
    config_from_request_parts,
    continue_session,
    record_response,
)
from agentsession.request import build_request, hash_request_json, request_hash
from agentsession.runs import Run, compute_reason
from agentsession.session import Session, TruncatedLine
from agentsession.settings import Settings
from agentsession.timestamp import Timestamp
from agentsession.verification import Form, Verification
from agentsession.versions import FORMAT, FORMAT_MAJOR, PAYLOAD, parse_format
from agentsession.vocabulary import (
    DecidedBy,
    OutcomeKind,
    Rel,
    RunReason,
    RunSource,
    Verdict,
    WorkspaceKind,
)
from agentsession.writing import dump, write

__version__ = "0.1.0"

__all__ = [
    "ALL_RECORDS",
    "ENTRY_TYPES",
    "FORMAT",
    "FORMAT_MAJOR",
    "LEAF_LABEL",
    "MEDIA_INLINE",
    "MEDIA_SIDECAR",
    "PAYLOAD",
    "VCS",
    "AgentSessionError",
    "BranchSummaryEntry",
    "Call",
    "CallRejected",
    "CallState",
    "CannotHash",
    "CompactionEntry",
    "ConcurrentWriter",
    "ConfigEntry",
    "Context",
    "CustomEntry",
    "DamagedFile",
    "DecidedBy",
    "DecisionEntry",
    "DispatchEntry",
    "DuplicateEntry",
    "Entry",
    "EnvEntry",
    "FileHashes",
    "Form",
    "Harness",
    "HashMismatch",
    "Header",
    "InfoEntry",
    "InstructionsPart",
    "InvalidEntry",
    "Item",
    "ItemEntry",
    "LabelEntry",
    "LinkEntry",
    "NoContext",
    "NoEntry",
    "NoHash",
    "NoSession",
    "NotGit",
    "NotJSON",
    "OmittedPart",
    "OutcomeEntry",
    "OutcomeKind",
    "QueuedEntry",
    "ReadOnly",
    "ReasonMismatch",
    "RecordMissing",
    "Reference",
    "Rel",
    "ResponseEntry",
    "Run",
    "RunEntry",
    "RunReason",
    "RunSource",
    "Session",
    "SessionExists",
    "SessionLocked",
    "Settings",
    "StoreFailed",
    "Superseded",
    "Timestamp",
    "Trigger",
    "TruncatedLine",
    "UnknownEntry",
    "UnsupportedFormat",
    "Verdict",
    "Verification",
    "Workspace",
    "WorkspaceKind",
    "build_context",
    "build_request",
    "canonical_json",
    "compute_reason",
    "config_from_request",
    "config_from_request_parts",
    "continue_session",
    "dump",
    "git_revision",
    "hash_bytes",
    "hash_file",
    "hash_files",
    "hash_request_json",
    "hash_text",
    "in_context",
    "is_extension",
    "marshal_entry",
    "new_entry_id",
    "new_session_id",
    "parse_format",
    "read",
    "record_response",
    "request_context",
    "request_hash",
    "subsession_id",
    "tool_name",
    "unmarshal_entry",
    "write",
]
