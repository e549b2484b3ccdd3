"""``tocsin watch``: alarms and denials as they leave."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from stream.cli.options import CONFIGURATION, JSON_LINES
from stream.cli.shared import echo_lines, load_alarms, say_awaited
from stream.decisions.records import DecisionRecord, encode
from stream.kafka.public.reader import Position
from stream.kafka.watch import watch as follow
from stream.model.headings import group_name
from stream.windows.instants import from_iso_utc
from stream.windows.shown import clock_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    lines = _Lines(alarms)

    def show(record: Watched) -> None:
        try:
            echo_lines([encode(record).decode()] if as_json else lines.of(record))
        except BrokenPipeError as error:  # else it would be taken for Kafka's
            raise _ReaderGone from error

    try:
        with suppress(KeyboardInterrupt):  # before it has its own way to be told
            follow(alarms, show, Position(group, from_beginning=from_beginning))
    except _ReaderGone as gone:
        raise gone.__cause__ or gone from None
    echo_lines(lines.rest())


class _ReaderGone(Exception):  # noqa: N818 -- nothing is wrong: nobody reads any more
    """Whoever read standard output has gone."""


class _Lines:
    """Alarms and denials as lines; what says the same again is counted, and said when it ends.

    An alarm says the same when its window is the same, too; a denial in any window.

    Args:
        alarms: by whose clock windows are shown, and by whose budget they are denied.
    """

    def __init__(self, alarms: Alarms) -> None:
        self._timezone = alarms.timezone
        period = " of this period" if alarms.budget.periods is not None else ""
        self._spent = f" (not evaluated: the budget{period} is spent)"
        self._said, self._latest, self._times = "", "", 0

    def of(self, record: Watched) -> Iterator[str]:
        """Yield a record's line: when its window was, whose, and which or why."""
        start_ms, end_ms = from_iso_utc(record.window_start), from_iso_utc(record.window_end)
        when = f"{clock_text(start_ms, self._timezone)} to {moment_text(end_ms, self._timezone)}"
        if isinstance(record, DecisionRecord):
            line = said = f"{record.alarm}  denied: {record.reason}"
            if record.reason == "budget":
                line = said = f"{line}{self._spent}"
        else:
            level = f"  {record.severity}" if record.severity else ""
            group = group_name(record.group)
            line = f"{record.alarm}  {group}{level}"
            said = f"{when}  {line}"
        if said != self._said:
            yield from self.rest()
            yield f"{when}  {line}"
        self._said, self._latest, self._times = said, when, self._times + 1

    def rest(self) -> Iterator[str]:
        """Yield how often the last line was said, where that is more than once."""
        if self._times > 1:
            yield f"  x {self._times}, the last {self._latest}"
        self._times = 0
