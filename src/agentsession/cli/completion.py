"""``agentsession completion``: the script that teaches a shell our words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from agentsession.cli.commands import Command
from agentsession.cli.output import open_plain

_VARIABLE = "_AGENTSESSION_COMPLETE"


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the completion script for a shell.

    \b
    bash   eval "$(agentsession completion bash)"               in ~/.bashrc
    zsh    eval "$(agentsession completion zsh)"                in ~/.zshrc
    fish   agentsession completion fish | source    in ~/.config/fish/config.fish
    """
    top = ctx.find_root()
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}", ctx)
    script = found(top.command, {}, top.info_name or "agentsession", _VARIABLE)
    with open_plain() as out:
        # Not source(): for bash that starts a bash to ask for its version.
        for line in (script.source_template % script.source_vars()).splitlines():
            out.write((line + "\n").encode())
    return 0
