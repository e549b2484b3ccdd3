"""``tocsin check``: every error of a configuration, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.checking import FILES, examined, worst
from stream.cli.options import JSON_LINES
from stream.cli.shared import echo_json, leave

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check"]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@JSON_LINES
def check(files: tuple[Path, ...], *, as_json: bool) -> None:
    """Validate a configuration: every error with its line and what to write instead."""
    found = []
    for path in files:
        one = examined(path, locked=True)
        found.append(one)
        one.say(warnings=True, as_json=as_json)
        if as_json:
            echo_json(one.verdict())
        elif not one.exit_code:
            click.echo("ok" if len(files) == 1 else f"{path}: ok")
    leave(worst(found))
