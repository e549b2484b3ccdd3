"""``tocsin dump``: a feed's topic as a file."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from stream.cli.shared import CONFIG, load_alarms
from stream.cli.suggestions import feed_names
from stream.kafka.dump import dump as write_dump
from stream.simulation.outputs import check_output, private_file

__all__ = ["dump"]


@click.command()
@click.argument("file", type=CONFIG)
@click.argument("feed", shell_complete=feed_names)
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace PATH where it exists.")
def dump(file: Path, feed: str, path: Path, *, force: bool) -> None:
    """Write what a feed's topic holds to a Parquet file, for replays and simulations.

    Every record with its partition, offset and append time. It holds the events themselves: for the
    custodian only.
    """
    check_output(path, force=force)
    alarms = load_alarms(file)
    with private_file(path, force=force) as opened, Progress(console=Console(stderr=True)) as shown:
        task = shown.add_task(f"reading {feed}", total=None)
        count = write_dump(
            alarms, feed, opened, lambda done, of: shown.update(task, completed=done, total=of)
        )
    click.echo(f"{count} records in {path}")
