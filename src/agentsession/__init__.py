"""Record, check, resume, store and export agent sessions in the Agent Session Format.

    >>> import agentsession as ags
    >>> session = ags.Session(ags.Header(cwd="/srv/app"))
    >>> entry_id = session.append(ags.ConfigEntry(model="m-1"))
    >>> entry_id == session.leaf
    True

Names are loaded when they are first used. The stores live in :mod:`agentsession.stores`,
ATIF documents in :mod:`agentsession.atif`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsession._lazily import exports

if TYPE_CHECKING:
    from agentsession.calls import (
        Call as Call,
    )
    from agentsession.calls import (
        CallState as CallState,
    )
    from agentsession.canonical import (
        canonical_json as canonical_json,
    )
    from agentsession.codec import (
        ENTRY_TYPES as ENTRY_TYPES,
    )
    from agentsession.codec import (
        is_extension as is_extension,
    )
    from agentsession.codec import (
        marshal_entry as marshal_entry,
    )
    from agentsession.codec import (
        unmarshal_entry as unmarshal_entry,
    )
    from agentsession.context import (
        Context as Context,
    )
    from agentsession.context import (
        build_context as build_context,
    )
    from agentsession.context import (
        in_context as in_context,
    )
    from agentsession.context import (
        request_context as request_context,
    )
    from agentsession.damage import (
        Damage as Damage,
    )
    from agentsession.entries import (
        LEAF_LABEL as LEAF_LABEL,
    )
    from agentsession.entries import (
        BranchSummaryEntry as BranchSummaryEntry,
    )
    from agentsession.entries import (
        CompactionEntry as CompactionEntry,
    )
    from agentsession.entries import (
        ConfigEntry as ConfigEntry,
    )
    from agentsession.entries import (
        Entry as Entry,
    )
    from agentsession.entries import (
        ItemEntry as ItemEntry,
    )
    from agentsession.entries import (
        ResponseEntry as ResponseEntry,
    )
    from agentsession.environment import (
        git_revision as git_revision,
    )
    from agentsession.environment import (
        hash_bytes as hash_bytes,
    )
    from agentsession.environment import (
        hash_file as hash_file,
    )
    from agentsession.environment import (
        hash_files as hash_files,
    )
    from agentsession.environment import (
        hash_text as hash_text,
    )
    from agentsession.errors import (
        AgentSessionError as AgentSessionError,
    )
    from agentsession.errors import (
        AnswerNotDispatched as AnswerNotDispatched,
    )
    from agentsession.errors import (
        BadConvergence as BadConvergence,
    )
    from agentsession.errors import (
        BadID as BadID,
    )
    from agentsession.errors import (
        BadNormalisation as BadNormalisation,
    )
    from agentsession.errors import (
        BadTarget as BadTarget,
    )
    from agentsession.errors import (
        CallAnswered as CallAnswered,
    )
    from agentsession.errors import (
        CallCompleted as CallCompleted,
    )
    from agentsession.errors import (
        CallIDRepeated as CallIDRepeated,
    )
    from agentsession.errors import (
        CallRejected as CallRejected,
    )
    from agentsession.errors import (
        CannotHash as CannotHash,
    )
    from agentsession.errors import (
        ConcurrentWriter as ConcurrentWriter,
    )
    from agentsession.errors import (
        DamagedFile as DamagedFile,
    )
    from agentsession.errors import (
        DuplicateEntry as DuplicateEntry,
    )
    from agentsession.errors import (
        HashMismatch as HashMismatch,
    )
    from agentsession.errors import (
        InvalidEntry as InvalidEntry,
    )
    from agentsession.errors import (
        NoContext as NoContext,
    )
    from agentsession.errors import (
        NoEntry as NoEntry,
    )
    from agentsession.errors import (
        NoHash as NoHash,
    )
    from agentsession.errors import (
        NoSession as NoSession,
    )
    from agentsession.errors import (
        NotGit as NotGit,
    )
    from agentsession.errors import (
        NotJSON as NotJSON,
    )
    from agentsession.errors import (
        ReadOnly as ReadOnly,
    )
    from agentsession.errors import (
        ReasonMismatch as ReasonMismatch,
    )
    from agentsession.errors import (
        RecordMissing as RecordMissing,
    )
    from agentsession.errors import (
        RejectDispatched as RejectDispatched,
    )
    from agentsession.errors import (
        ReservedMember as ReservedMember,
    )
    from agentsession.errors import (
        SessionExists as SessionExists,
    )
    from agentsession.errors import (
        SessionLocked as SessionLocked,
    )
    from agentsession.errors import (
        StoreFailed as StoreFailed,
    )
    from agentsession.errors import (
        Superseded as Superseded,
    )
    from agentsession.errors import (
        UnresolvedMigration as UnresolvedMigration,
    )
    from agentsession.errors import (
        UnsupportedFormat as UnsupportedFormat,
    )
    from agentsession.findings import (
        Finding as Finding,
    )
    from agentsession.findings import (
        Report as Report,
    )
    from agentsession.following import (
        Follower as Follower,
    )
    from agentsession.following import (
        session_follow as session_follow,
    )
    from agentsession.forks import (
        fork as fork,
    )
    from agentsession.header import (
        ALL_RECORDS as ALL_RECORDS,
    )
    from agentsession.header import (
        MEDIA_INLINE as MEDIA_INLINE,
    )
    from agentsession.header import (
        MEDIA_SIDECAR as MEDIA_SIDECAR,
    )
    from agentsession.header import (
        Header as Header,
    )
    from agentsession.ids import (
        new_entry_id as new_entry_id,
    )
    from agentsession.ids import (
        new_session_id as new_session_id,
    )
    from agentsession.ids import (
        subsession_id as subsession_id,
    )
    from agentsession.items import (
        Item as Item,
    )
    from agentsession.items import (
        tool_name as tool_name,
    )
    from agentsession.leaf_records import (
        LeafRecords as LeafRecords,
    )
    from agentsession.migration import (
        Migrated as Migrated,
    )
    from agentsession.migration import (
        migrate_file as migrate_file,
    )
    from agentsession.parts import (
        VCS as VCS,
    )
    from agentsession.parts import (
        FileHashes as FileHashes,
    )
    from agentsession.parts import (
        Harness as Harness,
    )
    from agentsession.parts import (
        InstructionsPart as InstructionsPart,
    )
    from agentsession.parts import (
        OmittedPart as OmittedPart,
    )
    from agentsession.parts import (
        Reference as Reference,
    )
    from agentsession.parts import (
        Trigger as Trigger,
    )
    from agentsession.parts import (
        Workspace as Workspace,
    )
    from agentsession.reading import (
        read as read,
    )
    from agentsession.record_entries import (
        CustomEntry as CustomEntry,
    )
    from agentsession.record_entries import (
        DecisionEntry as DecisionEntry,
    )
    from agentsession.record_entries import (
        DispatchEntry as DispatchEntry,
    )
    from agentsession.record_entries import (
        EnvEntry as EnvEntry,
    )
    from agentsession.record_entries import (
        InfoEntry as InfoEntry,
    )
    from agentsession.record_entries import (
        LabelEntry as LabelEntry,
    )
    from agentsession.record_entries import (
        LinkEntry as LinkEntry,
    )
    from agentsession.record_entries import (
        OutcomeEntry as OutcomeEntry,
    )
    from agentsession.record_entries import (
        QueuedEntry as QueuedEntry,
    )
    from agentsession.record_entries import (
        RunEntry as RunEntry,
    )
    from agentsession.record_entries import (
        UnknownEntry as UnknownEntry,
    )
    from agentsession.recording import (
        Recorded as Recorded,
    )
    from agentsession.recording import (
        config_from_request as config_from_request,
    )
    from agentsession.recording import (
        config_from_request_parts as config_from_request_parts,
    )
    from agentsession.recording import (
        continue_session as continue_session,
    )
    from agentsession.recording import (
        record_response as record_response,
    )
    from agentsession.recovery import (
        Salvaged as Salvaged,
    )
    from agentsession.recovery import (
        repair as repair,
    )
    from agentsession.recovery import (
        salvage as salvage,
    )
    from agentsession.request import (
        build_request as build_request,
    )
    from agentsession.request import (
        hash_request_json as hash_request_json,
    )
    from agentsession.request import (
        request_hash as request_hash,
    )
    from agentsession.runs import (
        Run as Run,
    )
    from agentsession.runs import (
        compute_reason as compute_reason,
    )
    from agentsession.session import (
        Session as Session,
    )
    from agentsession.session import (
        TruncatedLine as TruncatedLine,
    )
    from agentsession.settings import (
        Settings as Settings,
    )
    from agentsession.timestamp import (
        Timestamp as Timestamp,
    )
    from agentsession.verification import (
        Form as Form,
    )
    from agentsession.verification import (
        Verification as Verification,
    )
    from agentsession.versions import (
        FORMAT as FORMAT,
    )
    from agentsession.versions import (
        FORMAT_MAJOR as FORMAT_MAJOR,
    )
    from agentsession.versions import (
        PAYLOAD as PAYLOAD,
    )
    from agentsession.versions import (
        parse_format as parse_format,
    )
    from agentsession.vocabulary import (
        DecidedBy as DecidedBy,
    )
    from agentsession.vocabulary import (
        OutcomeKind as OutcomeKind,
    )
    from agentsession.vocabulary import (
        Rel as Rel,
    )
    from agentsession.vocabulary import (
        RunReason as RunReason,
    )
    from agentsession.vocabulary import (
        RunSource as RunSource,
    )
    from agentsession.vocabulary import (
        Verdict as Verdict,
    )
    from agentsession.vocabulary import (
        WorkspaceKind as WorkspaceKind,
    )
    from agentsession.writing import (
        dump as dump,
    )
    from agentsession.writing import (
        write as write,
    )

__version__ = "0.1.0"

_HOMES = {
    "findings": (
        "Finding",
        "Report",
    ),
    "damage": ("Damage",),
    "recovery": (
        "Salvaged",
        "repair",
        "salvage",
    ),
    "following": (
        "Follower",
        "session_follow",
    ),
    "calls": (
        "Call",
        "CallState",
    ),
    "canonical": ("canonical_json",),
    "codec": (
        "ENTRY_TYPES",
        "is_extension",
        "marshal_entry",
        "unmarshal_entry",
    ),
    "context": (
        "Context",
        "build_context",
        "in_context",
        "request_context",
    ),
    "entries": (
        "BranchSummaryEntry",
        "CompactionEntry",
        "ConfigEntry",
        "Entry",
        "ItemEntry",
        "LEAF_LABEL",
        "ResponseEntry",
    ),
    "environment": (
        "git_revision",
        "hash_bytes",
        "hash_file",
        "hash_files",
        "hash_text",
    ),
    "errors": (
        "AgentSessionError",
        "AnswerNotDispatched",
        "BadConvergence",
        "BadID",
        "BadNormalisation",
        "BadTarget",
        "CallAnswered",
        "CallCompleted",
        "CallIDRepeated",
        "CallRejected",
        "CannotHash",
        "ConcurrentWriter",
        "DamagedFile",
        "DuplicateEntry",
        "HashMismatch",
        "InvalidEntry",
        "NoContext",
        "NoEntry",
        "NoHash",
        "NoSession",
        "NotGit",
        "NotJSON",
        "ReadOnly",
        "ReasonMismatch",
        "RecordMissing",
        "RejectDispatched",
        "ReservedMember",
        "SessionExists",
        "SessionLocked",
        "StoreFailed",
        "Superseded",
        "UnresolvedMigration",
        "UnsupportedFormat",
    ),
    "forks": ("fork",),
    "header": (
        "ALL_RECORDS",
        "Header",
        "MEDIA_INLINE",
        "MEDIA_SIDECAR",
    ),
    "ids": (
        "new_entry_id",
        "new_session_id",
        "subsession_id",
    ),
    "items": (
        "Item",
        "tool_name",
    ),
    "leaf_records": ("LeafRecords",),
    "migration": (
        "Migrated",
        "migrate_file",
    ),
    "parts": (
        "FileHashes",
        "Harness",
        "InstructionsPart",
        "OmittedPart",
        "Reference",
        "Trigger",
        "VCS",
        "Workspace",
    ),
    "reading": ("read",),
    "record_entries": (
        "CustomEntry",
        "DecisionEntry",
        "DispatchEntry",
        "EnvEntry",
        "InfoEntry",
        "LabelEntry",
        "LinkEntry",
        "OutcomeEntry",
        "QueuedEntry",
        "RunEntry",
        "UnknownEntry",
    ),
    "recording": (
        "Recorded",
        "config_from_request",
        "config_from_request_parts",
        "continue_session",
        "record_response",
    ),
    "request": (
        "build_request",
        "hash_request_json",
        "request_hash",
    ),
    "runs": (
        "Run",
        "compute_reason",
    ),
    "session": (
        "Session",
        "TruncatedLine",
    ),
    "settings": ("Settings",),
    "timestamp": ("Timestamp",),
    "verification": (
        "Form",
        "Verification",
    ),
    "versions": (
        "FORMAT",
        "FORMAT_MAJOR",
        "PAYLOAD",
        "parse_format",
    ),
    "vocabulary": (
        "DecidedBy",
        "OutcomeKind",
        "Rel",
        "RunReason",
        "RunSource",
        "Verdict",
        "WorkspaceKind",
    ),
    "writing": (
        "dump",
        "write",
    ),
}

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
    "AnswerNotDispatched",
    "BadConvergence",
    "BadID",
    "BadNormalisation",
    "BadTarget",
    "BranchSummaryEntry",
    "Call",
    "CallAnswered",
    "CallCompleted",
    "CallIDRepeated",
    "CallRejected",
    "CallState",
    "CannotHash",
    "CompactionEntry",
    "ConcurrentWriter",
    "ConfigEntry",
    "Context",
    "CustomEntry",
    "Damage",
    "DamagedFile",
    "DecidedBy",
    "DecisionEntry",
    "DispatchEntry",
    "DuplicateEntry",
    "Entry",
    "EnvEntry",
    "FileHashes",
    "Finding",
    "Follower",
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
    "LeafRecords",
    "LinkEntry",
    "Migrated",
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
    "Recorded",
    "Reference",
    "RejectDispatched",
    "Rel",
    "Report",
    "ReservedMember",
    "ResponseEntry",
    "Run",
    "RunEntry",
    "RunReason",
    "RunSource",
    "Salvaged",
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
    "UnresolvedMigration",
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
    "fork",
    "git_revision",
    "hash_bytes",
    "hash_file",
    "hash_files",
    "hash_request_json",
    "hash_text",
    "in_context",
    "is_extension",
    "marshal_entry",
    "migrate_file",
    "new_entry_id",
    "new_session_id",
    "parse_format",
    "read",
    "record_response",
    "repair",
    "request_context",
    "request_hash",
    "salvage",
    "session_follow",
    "subsession_id",
    "tool_name",
    "unmarshal_entry",
    "write",
]


__getattr__ = exports(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
