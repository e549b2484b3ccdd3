"""``tocsin watch``: alarms and denials as they leave."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from stream.cli.options import CONFIGURATION, JSON_LINES
from stream.cli.shared import load_alarms, say_awaited
from stream.decisions.records import DecisionRecord, encode
from stream.kafka.public.reader import Position
from stream.kafka.watch import watch as follow
from stream.model.headings import group_name
from stream.windows.instants import from_iso_utc
from stream.windows.shown import clock_text, moment_text

if TYPE_CHECKING:
    from pathlib import Path

    from stream.kafka.watch import Watched
    from stream.model.alarms import Alarms

__all__ = ["watch"]


@click.command()
@CONFIGURATION
@JSON_LINES
@click.option("--from-beginning", is_flag=True, help="Start with the oldest records kept.")
@click.option(
    "--group",
    metavar="NAME",
    help="Go on where the consumers of this group stopped; analysts' groups begin with analyst-.",
)
@click.pass_context
def watch(
    ctx: click.Context, file: Path, *, as_json: bool, from_beginning: bool, group: str | None
) -> None:
    """Follow the alarms on Kafka, and the windows that were denied, until stopped."""
    alarms = load_alarms(file)
    if ctx.obj is not None:  # of a process of its own
        ctx.obj.endless = True
    say_awaited(alarms)

    def show(record: Watched) -> None:
        try:
            click.echo(encode(record) if as_json else _line(record, alarms))
        except BrokenPipeError as error:  # else it would be taken for Kafka's
            raise _ReaderGone from error

    try:
        with suppress(KeyboardInterrupt):  # before it has its own way to be told
            follow(alarms, show, Position(group, from_beginning=from_beginning))
    except _ReaderGone as gone:
        raise gone.__cause__ or gone from None


class _ReaderGone(Exception):  # noqa: N818 -- nothing is wrong: nobody reads any more
    """Whoever read standard output has gone."""


def _line(record: Watched, alarms: Alarms) -> str:
    """Return a record's line: when its window was, whose, and which or why."""
    start_ms, end_ms = from_iso_utc(record.window_start), from_iso_utc(record.window_end)
    start, end = clock_text(start_ms, alarms.timezone), moment_text(end_ms, alarms.timezone)
    if isinstance(record, DecisionRecord):
        what = f"denied: {record.reason}"
        if record.reason == "budget":
            period = " of this period" if alarms.budget.periods is not None else ""
            what += f" (not evaluated: the budget{period}, or this alarm's SVT run, is spent)"
    else:
        what = group_name(record.group)
        if record.severity:
            what += f"  {record.severity}"
    return f"{start} to {end}  {record.alarm}  {what}"
