"""``tocsin check``: every error of a configuration, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.checking import FILES, examined
from stream.cli.options import JSON_LINES
from stream.cli.shared import diagnostic_json, echo_json, leave_as_worst

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check"]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@JSON_LINES
def check(files: tuple[Path, ...], *, as_json: bool) -> None:
    """Validate a configuration: every error with its line and what to write instead."""
    codes = []
    for path in files:
        found = examined(path, locked=True)
        codes.append(found.exit_code)
        if as_json:
            for level, errors in found.diagnostics.items():
                for error in errors:
                    echo_json(diagnostic_json(error, level))
            echo_json(found.verdict())
            continue
        found.say(warnings=True)
        if not found.exit_code:
            click.echo("ok" if len(files) == 1 else f"{path}: ok")
    leave_as_worst(codes)
