"""``tocsin replay``: recorded events, written to Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.bars import bar
from stream.cli.shared import FILE, load_alarms, paths_by_feed
from stream.cli.suggestions import event_files
from stream.kafka.history import replay as write_history

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["replay"]


@click.command()
@click.argument("file", type=FILE)
@click.argument(
    "paths", nargs=-1, required=True, metavar="[FEED=]PATH...", shell_complete=event_files
)
@click.option("--to-kafka", is_flag=True, help="Write the events and marks to the feed's topic.")
def replay(file: Path, paths: tuple[str, ...], *, to_kafka: bool) -> None:
    """Write recorded events to Kafka, with punctuation marks, for workers to read."""
    if not to_kafka:
        raise click.UsageError("say --to-kafka; without Kafka, use `tocsin run FILE --replay PATH`")
    alarms = load_alarms(file)
    for feed, files in paths_by_feed(alarms, paths).items():
        with bar(f"writing {feed}", lasting=True) as shown:
            write_history(alarms, feed, files, shown)
        click.echo(f"{feed}: written")
