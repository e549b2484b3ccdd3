"""``tocsin simulate FILE --replay ...``: history replayed many times, for the custodian alone."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING

import click
from rich.console import Console

from accountant.errors import ConfigError
from operators.registry import mechanism_of
from stream.cli.bars import bar
from stream.cli.inputs import paths_by_feed
from stream.cli.options import ALARMS, CONFIGURATION, FORCE, LIMIT, given_files
from stream.cli.shared import FILE, chosen_alarms, load_alarms, note
from stream.model.alarms import scope_of
from stream.replay.replay import windows_of
from stream.simulation.history import count_history
from stream.simulation.outputs import check_output, write_private
from stream.simulation.plays import Played
from stream.simulation.results import results_of
from stream.simulation.shown import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["simulate"]


@click.command()
@CONFIGURATION
@given_files("History: Parquet, CSV or JSON lines, or an export of a topic.", required=True)
@ALARMS
@click.option(
    "--runs", type=click.IntRange(1), default=100, show_default=True, help="Number of replays."
)
@LIMIT
@click.option("--json", "json_file", type=FILE, metavar="PATH", help="Write the results here.")
@FORCE
def simulate(
    file: Path,
    replayed: tuple[str, ...],
    more: tuple[str, ...],
    names: tuple[str, ...],
    *,
    json_file: Path | None,
    runs: int,
    limit: int | None,
    force: bool,
) -> None:
    """Replay history with fresh noise: misses, false alarms, denials and losses.

    Reads the files, opens no ledger, charges and releases nothing. What it prints and writes is
    computed from private data: for the custodian only.
    """
    if json_file is not None:
        check_output(json_file, force=force)
    alarms = load_alarms(file)
    shown = _shown(alarms, names)
    scopes = {scope_of(alarms.by_name[name], alarms) for name in shown}
    played = {name: q for name, q in alarms.by_name.items() if scope_of(q, alarms) in scopes}
    drawn = {name: alarm for name, alarm in played.items() if not _not_drawn(alarm)}
    counting = replace(alarms, by_name=drawn)
    files = paths_by_feed(counting, (*replayed, *more))
    with bar("counting") as counted_windows:
        counted = count_history(counting, files, limit=limit, on_windows=counted_windows)
    playing = replace(alarms, by_name=played)
    others = {
        name: list(islice(windows_of(alarm), limit))
        for name, alarm in playing.running.items()
        if name not in counted and scope_of(alarm, alarms) in scopes
    }
    with bar("replaying") as done:
        tallies = Played(playing, counted, others).replays(runs, done)
    simulation = results_of(alarms, shown, counted, tallies, runs)
    Console().print(*terminal(simulation), sep="\n")
    if json_file is not None:
        text = json.dumps(asdict(simulation), ensure_ascii=False, indent=1)
        write_private(json_file, text + "\n", force=force)


def _shown(alarms: Alarms, names: Sequence[str]) -> tuple[str, ...]:
    """Return the alarms that are shown; bands, and early alarms over panes, are left out.

    Raises:
        ConfigError: there is none of a name, or none is left.
    """
    if alarms.budget.gaussian is not None:
        raise ConfigError(
            "`tocsin simulate` needs a budget with privacy: pure",
            hint="use `tocsin plan`, or write privacy: pure",
        )
    chosen = chosen_alarms(alarms, names).by_name
    left = {name: why for name, alarm in chosen.items() if (why := _not_drawn(alarm))}
    for name, why in left.items():
        if len(left) == len(chosen):
            raise ConfigError(f"{name}: {why}", hint="use `tocsin plan`")
        note(f"left out: {name}: {why}")
    return tuple(name for name in chosen if name not in left)


def _not_drawn(alarm: Alarm) -> str:
    """Return why an alarm is not drawn: it pays all the same, and its cost is known; or ""."""
    if mechanism_of(alarm.mechanism).bands is not None:
        return "the band of a decider is not drawn"
    return "early alarms over panes are not drawn" if alarm.panes and alarm.aim.looks > 1 else ""
