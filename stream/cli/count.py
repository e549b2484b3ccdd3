"""``tocsin count FILE``: what alarms count, exactly, for the custodian alone."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from rich.console import Console

from stream.cli.counts import CountsFile, counts_table, feed_json, lost_table, window_json
from stream.cli.moments import TIME, typed_ms
from stream.cli.options import ALARMS, LIMIT, given_files
from stream.cli.shared import FILE, chosen_alarms, echo_json, load_alarms, paths_by_feed
from stream.cli.surveying import say_read
from stream.model.references import feeds_in_use
from stream.replay.exact import count_windows, spanning
from stream.replay.survey import survey
from stream.simulation.outputs import check_output, private_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.model.alarms import Alarms
    from stream.replay.exact import CountedWindow
    from stream.replay.findings import FeedSurvey

__all__ = ["count"]

_PRIVATE = (
    "exact counts of private data, for the custodian only: no ledger is opened, nothing is "
    "charged, and nothing of this may be published"
)


@click.command()
@click.argument("file", type=FILE)
@given_files("Count Parquet, CSV or JSON lines, or a dump of a topic.")
@click.option("--topic", is_flag=True, help="Count what the feeds' topics hold now.")
@ALARMS
@click.option(
    "--since",
    metavar=TIME,
    help="Windows from here on, by the clocks of `timezone`; default: the history's.",
)
@click.option("--until", metavar=TIME, help="Windows that end by then; default: the same.")
@LIMIT
@click.option("--json", "as_json", is_flag=True, help="Cells, windows and feeds, one a line.")
@click.option(
    "--parquet",
    "parquet",
    type=FILE,
    metavar="PATH",
    help="Write the cells here instead of showing them.",
)
@click.option("--force", is_flag=True, help="Replace this file where it exists.")
def count(
    file: Path,
    replayed: tuple[str, ...],
    more: tuple[str, ...],
    names: tuple[str, ...],
    *,
    topic: bool,
    since: str | None,
    until: str | None,
    limit: int | None,
    as_json: bool,
    parquet: Path | None,
    force: bool,
) -> None:
    """Show what alarms count, exactly: every window, and what is left out of it.

    Reads the files or the topics, opens no ledger, charges and releases nothing. What it prints and
    writes is private data: for the custodian only.
    """
    if topic == bool(replayed or more):
        raise click.UsageError("say where the events are: --replay PATH, or --topic")
    if as_json and parquet is not None:
        raise click.UsageError("--json prints what --parquet writes: choose one")
    if parquet is not None:
        check_output(parquet, force=force)
    alarms = chosen_alarms(load_alarms(file), names)
    since_ms, until_ms = (
        None if text is None else typed_ms(text, alarms.timezone, option)
        for text, option in ((since, "--since"), (until, "--until"))
    )
    live = any(query.feed.history is None for query in alarms.queries.values())
    if topic and live and until_ms is None:
        until_ms = time.time_ns() // 1_000_000
    alarms = spanning(alarms, since_ms, until_ms)
    click.echo(f"note: {_PRIVATE}", err=True)
    given = nullcontext(paths_by_feed(alarms, (*replayed, *more)))
    with _dumped(alarms) if topic else given as files:
        read = survey(alarms, files)
        windows = count_windows(alarms, files, limit=limit)
        if parquet is not None:
            _write(alarms, windows, parquet, force=force)
        elif as_json:
            _print(alarms, windows, read)
        else:
            _show(alarms, windows)
    say_read(read)


def _write(alarms: Alarms, windows: Iterator[CountedWindow], path: Path, *, force: bool) -> None:
    """Write a file of every window's cells."""
    with private_file(path, force=force) as opened, CountsFile(opened) as file:
        for window in windows:
            file.add(alarms.queries[window.key.query], window)


def _print(alarms: Alarms, windows: Iterator[CountedWindow], read: Sequence[FeedSurvey]) -> None:
    """Print JSON lines."""
    for window in windows:
        for record in window_json(alarms.queries[window.key.query], window):
            echo_json(record)
    for found in read:
        echo_json(feed_json(found))


def _show(alarms: Alarms, windows: Iterator[CountedWindow]) -> None:
    """Print a table for every alarm, and what caps leave out."""
    found: dict[str, list[CountedWindow]] = {name: [] for name in alarms.queries}
    for window in windows:
        found[window.key.query].append(window)
    console = Console()
    for name, counted in found.items():
        query = alarms.queries[name]
        console.print(counts_table(query, counted, alarms.timezone))
        if (lost := lost_table(query, counted, alarms.timezone)) is not None:
            console.print(lost)


@contextmanager
def _dumped(alarms: Alarms) -> Iterator[dict[str, list[Path]]]:
    """Copy what the topics hold now to files that only this user may read, for a while."""
    from stream.kafka.dump import dump  # noqa: PLC0415  # imports a client of Kafka

    with TemporaryDirectory(prefix="tocsin-count-") as folder:
        files = {}
        for number, feed in enumerate(feeds_in_use(alarms)):
            path = Path(folder) / f"{number}.parquet"
            with path.open("wb") as opened:
                dump(alarms, feed.name, opened)
            files[feed.name] = [path]
        yield files
