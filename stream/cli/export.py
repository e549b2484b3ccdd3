"""``tocsin export``: a feed's topic as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.bars import bar
from stream.cli.options import CONFIGURATION, FORCE
from stream.cli.shared import FILE, load_alarms
from stream.kafka.export import export as write_export
from stream.simulation.outputs import check_output, private_file

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["export"]


@click.command()
@CONFIGURATION
@click.argument("feed")
@click.argument("path", type=FILE)
@FORCE
def export(file: Path, feed: str, path: Path, *, force: bool) -> None:
    """Write a feed's topic to a Parquet file of events, for replays and simulations.

    Every record with its partition, offset and append time. It holds the events themselves: for the
    custodian only. For the ledger's entries, use tocsin ledger FILE export.
    """
    check_output(path, force=force)
    alarms = load_alarms(file)
    with private_file(path, force=force) as opened, bar(f"reading {feed}", lasting=True) as shown:
        count = write_export(alarms, feed, opened, shown)
    click.echo(f"{count} records in {path}")
