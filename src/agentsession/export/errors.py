"""The errors of an export, beside the general ones of :mod:`agentsession.errors`."""

from __future__ import annotations

from agentsession.errors import AgentSessionError


class NoRawItems(AgentSessionError, ValueError):
    """A document without raw items: another program wrote it, or they were taken out."""


class RefusedSecret(AgentSessionError, ValueError):
    """A value that cannot be redacted safely: too short, or part of every document.

    The message never shows the value.
    """


class BadPattern(AgentSessionError, ValueError):
    """A pattern for :func:`~agentsession.export.detect_secrets` that cannot be used.

    Attributes:
        name: the pattern's name.
    """

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.name = name


class CannotExport(AgentSessionError, ValueError):
    """Something that cannot be written as asked, such as audio in a v1.7 document."""
