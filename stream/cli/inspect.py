"""``tocsin inspect FILE``: what alarms count, exactly, for the custodian alone."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING

import click
from rich.console import Console

from accountant.errors import ConfigError
from operators.registry import mechanism_of
from stream.cli.fitting import fitting
from stream.cli.inspected import (
    Counted,
    cells_of,
    count_rows,
    feed_json,
    lost_lines,
    summary_rows,
    window_json,
)
from stream.cli.options import ALARMS, LIMIT, given_files
from stream.cli.shared import FILE, chosen_alarms, echo_json, load_alarms, paths_by_feed
from stream.cli.surveying import say_read
from stream.cli.timestamps import TIME, typed_ms
from stream.config.scalars import closest
from stream.replay.exact import count_windows, spanning
from stream.replay.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stream.cli.inspected import Cell
    from stream.model.alarms import Alarms

__all__ = ["inspect"]

_LINES = 30  # that are shown of all alarms together, unless all are asked for
_LEAST = 3
_PRIVATE = (
    "exact counts of private data, for the custodian only: no ledger is opened, nothing is "
    "charged, and nothing of this may be published"
)


@click.command()
@click.argument("file", type=FILE)
@given_files("Count Parquet, CSV or JSON lines, or an export of a topic.", required=True)
@ALARMS
@click.option(
    "--since",
    metavar=TIME,
    help="Windows from here on, by the clocks of `timezone`; default: the history's.",
)
@click.option("--until", metavar=TIME, help="Windows that end by then; default: the same.")
@LIMIT
@click.option("--true-only", is_flag=True, help="Only where the condition holds.")
@click.option(
    "--group", "groups", multiple=True, metavar="VALUE", help="Only this group; repeatable."
)
@click.option("--summary", is_flag=True, help="A line a group instead of one a group and window.")
@click.option("--all", "every", is_flag=True, help="Show every line, however many there are.")
@click.option("--json", "as_json", is_flag=True, help="Cells, windows and feeds, one a line.")
def inspect(
    file: Path,
    replayed: tuple[str, ...],
    more: tuple[str, ...],
    names: tuple[str, ...],
    *,
    since: str | None,
    until: str | None,
    limit: int | None,
    true_only: bool,
    groups: tuple[str, ...],
    summary: bool,
    every: bool,
    as_json: bool,
) -> None:
    """Show what alarms count, exactly: every window, and what is left out of it.

    Reads the files, opens no ledger, charges and releases nothing. What it prints and
    writes is private data: for the custodian only.
    """
    if as_json and (summary or every):
        raise click.UsageError("--summary and --all are for what is shown; --json has every cell")
    alarms = chosen_alarms(load_alarms(file), names)
    since_ms, until_ms = (
        None if text is None else typed_ms(text, alarms.timezone, option)
        for text, option in ((since, "--since"), (until, "--until"))
    )
    alarms = spanning(alarms, since_ms, until_ms)
    _refuse_unknown(alarms, groups, true_only=true_only)
    click.echo(f"note: {_PRIVATE}", err=True)
    files = paths_by_feed(alarms, (*replayed, *more))

    def kept(cell: Cell) -> bool:
        named = not groups or not set(groups).isdisjoint(cell.group.values())
        return named and (bool(cell.true) or not true_only)

    read = survey(alarms, files)
    counted = (
        Counted(alarm, window, [cell for cell in cells_of(alarm, window) if kept(cell)])
        for window in count_windows(alarms, files, limit=limit)
        for alarm in (alarms.by_name[window.key.query],)
    )
    if as_json:
        for record in chain(chain.from_iterable(map(window_json, counted)), map(feed_json, read)):
            echo_json(record)
    else:
        narrower = {
            "--summary": summary,
            "--true-only": true_only,
            "--group": groups,
            "--since": since,
        }
        less = ", ".join(option for option, given in narrower.items() if not given)
        more_lines = f"--all; or less: {less}" if less else "--all"
        _show(alarms, counted, more_lines, summary=summary, every=every)
    say_read(read)


def _refuse_unknown(alarms: Alarms, groups: tuple[str, ...], *, true_only: bool) -> None:
    """Refuse a group that there is not, and bands where only what is true is asked for.

    Raises:
        ConfigError: naming it.
    """
    known: set[str] = set()
    for alarm in alarms.by_name.values():
        known.update(*alarm.counted.values)
        if true_only and mechanism_of(alarm.mechanism).bands is not None:
            raise ConfigError(
                f"--true-only has no meaning for a band, as of alarm {alarm.id!r}",
                hint="remove --true-only, or choose other alarms with --alarm",
            )
    for group in groups:
        if group not in known:
            raise ConfigError(f"there is no group {group!r}", hint=closest(group, known))


def _show(
    alarms: Alarms, counted: Iterable[Counted], options: str, *, summary: bool, every: bool
) -> None:
    """Print a table for every alarm, and what contribution bounds drop; options show the rest."""
    found: defaultdict[str, list[Counted]] = defaultdict(list)
    for one in counted:
        found[one.alarm.id].append(one)
    most = None if every else max(_LINES // len(found), _LEAST)
    for name, windows in found.items():
        alarm, zone = alarms.by_name[name], alarms.timezone
        left, right, lines = (
            summary_rows(alarm, windows) if summary else count_rows(alarm, windows, zone)
        )
        title = name if summary else f"{name} (times: {zone})"
        Console().print(fitting(title, left, right, lines[:most]))
        if more := len(lines) - len(lines[:most]):
            click.echo(f"{more} more lines with {options}")
        for line in lost_lines(windows, zone):
            click.echo(line)
