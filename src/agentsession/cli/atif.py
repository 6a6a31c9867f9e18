"""``agentsession atif``: ATIF documents by themselves, whoever wrote them.

Spec: atif 4, decisions C and E1.
"""

from __future__ import annotations

from agentsession.cli.commands import CONTEXT, Group

_ROOMS = {
    "validate": ("agentsession.cli.atif_validate", "Check documents against the format's rules."),
}

command = Group(
    name="atif",
    rooms=_ROOMS,
    context_settings=CONTEXT,
    no_args_is_help=False,
    help="Work with ATIF documents, whoever wrote them.",
    short_help="Work with ATIF documents.",
)
