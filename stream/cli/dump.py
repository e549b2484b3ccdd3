"""``tocsin dump``: a feed's topic as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.bars import bar
from stream.cli.shared import FILE, load_alarms
from stream.kafka.dump import dump as write_dump
from stream.simulation.outputs import check_output, private_file

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["dump"]


@click.command()
@click.argument("file", type=FILE)
@click.argument("feed")
@click.argument("path", type=FILE)
@click.option("--force", is_flag=True, help="Replace PATH where it exists.")
def dump(file: Path, feed: str, path: Path, *, force: bool) -> None:
    """Write what a feed's topic holds to a Parquet file, for replays and simulations.

    Every record with its partition, offset and append time. It holds the events themselves: for the
    custodian only.
    """
    check_output(path, force=force)
    alarms = load_alarms(file)
    with private_file(path, force=force) as opened, bar(f"reading {feed}", lasting=True) as shown:
        count = write_dump(alarms, feed, opened, shown)
    click.echo(f"{count} records in {path}")
