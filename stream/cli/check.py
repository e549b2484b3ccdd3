"""``tocsin check``: every error of a configuration, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.shared import CONFIG, load_alarms

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check"]


@click.command()
@click.argument("file", type=CONFIG)
def check(file: Path) -> None:
    """Check a configuration; say every error with its place and what to write instead."""
    load_alarms(file, notes=True)
    click.echo("ok")
