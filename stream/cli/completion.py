"""``tocsin completion``: what a shell needs to complete commands, options, alarms and feeds."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

__all__ = ["completion"]

_SHELLS = {each.name: each for each in (BashComplete, ZshComplete, FishComplete)}


@click.command()
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options, files, alarms and feeds.

    \b
      bash, in ~/.bashrc:  eval "$(tocsin completion bash)"
      zsh, in ~/.zshrc:    eval "$(tocsin completion zsh)"
      fish, once:          tocsin completion fish > ~/.config/fish/completions/tocsin.fish
    """  # noqa: D301  # click's mark of a paragraph that is not wrapped
    told = _SHELLS[shell](ctx.find_root().command, {}, "tocsin", "_TOCSIN_COMPLETE")
    # Its own method would first start bash to see how old it is, on whatever machine prints this.
    click.echo(told.source_template % told.source_vars())
