"""``tocsin check``: every error of a configuration, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.checking import FILES, examined
from stream.cli.options import JSON_LINES
from stream.cli.shared import leave_as_worst

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check"]


@click.command()
@FILES
@JSON_LINES
def check(files: tuple[Path, ...], *, as_json: bool) -> None:
    """Validate a configuration: every error with its line and what to write instead."""
    codes = []
    for path in files:
        found = examined(path, locked=True)
        codes.append(found.exit_code)
        found.say(warnings=True, as_json=as_json)
        if not (as_json or found.exit_code):
            click.echo("ok" if len(files) == 1 else f"{path}: ok")
    leave_as_worst(codes)
