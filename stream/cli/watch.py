"""``tocsin watch``: alarms and denials as they leave."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

import click

from stream.cli.options import JSON_LINES
from stream.cli.shared import FILE, load_alarms
from stream.decisions.records import DecisionRecord, encode
from stream.kafka.watch import watch as follow
from stream.windows.instants import from_iso_utc
from stream.windows.shown import clock_text, moment_text

if TYPE_CHECKING:
    from pathlib import Path

    from stream.kafka.watch import Watched

__all__ = ["watch"]


@click.command()
@click.argument("file", type=FILE)
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
    """Follow the alarms on Kafka, and the windows that were denied, until told to end."""
    alarms = load_alarms(file)
    if ctx.obj is not None:  # of a process of its own
        ctx.obj.endless = True
    with (
        suppress(KeyboardInterrupt),
        closing(follow(alarms, from_beginning=from_beginning, group=group)) as found,
    ):
        for record in found:
            click.echo(encode(record) if as_json else _line(record, alarms.timezone))


def _line(record: Watched, timezone: str) -> str:
    """Return an alarm or a denial as a line: when its window was, whose, and which or why."""
    start_ms, end_ms = from_iso_utc(record.window_start), from_iso_utc(record.window_end)
    when = f"{clock_text(start_ms, timezone)} to {moment_text(end_ms, timezone)}"
    if isinstance(record, DecisionRecord):
        return f"{when}  {record.query}  denied: {record.reason}"
    level = f"  {record.severity}" if record.severity else ""
    return f"{when}  {record.query}  {', '.join(record.predicate.values()) or '(all)'}{level}"
