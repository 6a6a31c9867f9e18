"""Accounts of an OpenCode import: every record once, differences by this importer's codes."""

from __future__ import annotations

from agentsession.importers import accounts
from agentsession.importers.opencode.convert.codes import CODES


class Accounts(accounts.Accounts):
    """The accounts of one import, with the sentences of OpenCode's codes."""

    def __init__(self) -> None:
        super().__init__(CODES)
