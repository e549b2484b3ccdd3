"""What was meant by a command that does not exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stream.config.scalars import closest

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["meant"]


def meant(group: click.Group, ctx: click.Context, word: str, rest: Sequence[str]) -> str:
    """Return the nearest command, or where the words belong.

    Args:
        group: whose commands there are.
        ctx: of the group.
        word: where a command's name belongs.
        rest: what follows it.
    """
    names = group.list_commands(ctx)
    if word == "help":
        return f"Write {ctx.command_path} --help"
    if Path(word).suffix in {".yaml", ".yml"}:
        if any(isinstance(one, click.Argument) for one in group.params):  # FILE, which was read
            given = str(ctx.params.get("file", ""))
            name = given if given in names else names[0]
            return f"FILE comes first: {ctx.command_path} {word} {name}"
        name = next((one for one in rest if one in names), names[0])
        return f"The command comes first: {ctx.command_path} {name} {word}"
    near = closest(word, names).replace("`", "'")
    return near[:1].upper() + near[1:]
