"""``tocsin topics add-partitions``: more for a feed, under the same ledger and budget."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from stream.build import wall_clock_ms
from stream.cli.options import CONFIGURATION, YES
from stream.cli.shared import agreed, load_alarms, note, open_existing_ledger, say
from stream.config.scalars import MILLISECONDS
from stream.kafka.add_partitions import SETTLE_MS
from stream.kafka.add_partitions import add_partitions as more_partitions
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from pathlib import Path

    from accountant.layouts import Growth

__all__ = ["add_partitions"]


@click.command("add-partitions")
@CONFIGURATION
@click.argument("feed")
@click.option(
    "--partitions",
    type=click.IntRange(2),
    required=True,
    help="Total partitions of the feed's topic afterwards.",
)
@click.option(
    "--settle",
    metavar="DURATION",
    default=f"{SETTLE_MS // 60_000}m",
    show_default=True,
    help="How long sensors may take to learn of new partitions and deliver what they sent.",
)
@YES
def add_partitions(file: Path, feed: str, *, partitions: int, settle: str, yes: bool) -> None:
    """Give FEED more partitions, under the same ledger and budget.

    Windows that may have events of before and after are denied as repartitioned, at no cost; all
    others are decided. Workers may run. If it is interrupted, run it again.
    """
    alarms = load_alarms(file, quiet=True)
    settle_ms = _duration(settle)
    with open_existing_ledger(alarms) as opened:

        def agree(planned: Growth) -> None:
            moment = moment_text(planned.until_ms or 0, alarms.timezone)
            note(f"windows that are undecided and begin before {moment} are denied")
            agreed(f"give {feed!r} {partitions} partitions, for good?", yes=yes)

        growth = more_partitions(
            alarms,
            opened,
            feed,
            partitions,
            settle_ms=settle_ms,
            clock_ms=wall_clock_ms,
            agree=agree,
            say=say,
        )
        if growth is None or growth.until_ms is None:
            click.echo(f"{feed}: {partitions} partitions from the beginning, nothing to do")
            return
        moment = moment_text(growth.until_ms, alarms.timezone)
        click.echo(
            f"{feed}: {growth.before} -> {growth.partitions} partitions;"
            f" all events are routed over them from {moment} on"
        )


def _duration(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,6})([smh])", text)
    if found is None:
        raise click.BadParameter(
            f"{text!r} is not a duration: write 90s, 10m or 1h", param_hint="--settle"
        )
    return int(found[1]) * MILLISECONDS[found[2]]
