"""What a shell may complete an argument to: names that the configuration declares, and files.

A file that cannot be read gives no names, and no word of why: the command itself will say it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from accountant.errors import TocsinError
from stream.config.yamlfile import load_document

if TYPE_CHECKING:
    import click

__all__ = ["alarm_names", "event_files", "feed_names"]


def alarm_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the alarms of the command's FILE that begin like this."""
    return _names(ctx, "alarms", incomplete)


def feed_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the feeds of the command's FILE that begin like this."""
    return _names(ctx, "feeds", incomplete)


def event_files(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Leave the completion of a path to the shell."""
    return [CompletionItem(incomplete, type="file")]


def _names(ctx: click.Context, section: str, incomplete: str) -> list[str]:
    """Return what a section of FILE declares; FILE may be an argument of the command above."""
    file = _file(ctx)
    if file is None:
        return []
    try:
        tree = load_document(file, environ=os.environ).tree
    except TocsinError:
        return []
    declared = tree.get(section) if isinstance(tree, dict) else None
    names = declared if isinstance(declared, dict) else {}
    return [name for name in names if name.startswith(incomplete)]


def _file(ctx: click.Context | None) -> Path | None:
    while ctx is not None:
        found: Path | None = ctx.params.get("file")
        if found is None and ctx.args and any(each.name == "file" for each in ctx.command.params):
            # An option that still lacks its value keeps click from dealing out the words before it.
            found = Path(ctx.args[0])
        if found is not None:
            return found
        ctx = ctx.parent
    return None
