"""``tocsin load``: recorded events, written to Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.bars import bar
from stream.cli.inputs import paths_by_feed
from stream.cli.options import CONFIGURATION
from stream.cli.shared import load_alarms
from stream.kafka.history import replay as write_history

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["load"]


@click.command()
@CONFIGURATION
@click.argument("paths", nargs=-1, required=True, metavar="[FEED=]PATH...")
def load(file: Path, paths: tuple[str, ...]) -> None:
    """Write recorded events to a feed's topic, with watermarks, for workers to read."""
    alarms = load_alarms(file)
    for feed, files in paths_by_feed(alarms, paths).items():
        with bar(f"writing {feed}", lasting=True) as shown:
            write_history(alarms, feed, files, shown)
        click.echo(f"{feed}: written")
