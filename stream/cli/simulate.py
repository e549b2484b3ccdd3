"""``tocsin simulate FILE --replay ...``: history replayed many times, for the custodian alone."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from accountant.errors import ConfigError
from operators.registry import mechanism_of
from stream.cli.bars import bar
from stream.cli.inputs import paths_by_feed
from stream.cli.options import ALARMS, CONFIGURATION, FORCE, LIMIT, given_files
from stream.cli.shared import FILE, chosen_alarms, load_alarms, note
from stream.model.alarms import scope_of
from stream.model.numbers import number
from stream.replay.replay import windows_of
from stream.simulation.history import count_history
from stream.simulation.outputs import check_output, write_private
from stream.simulation.pool import Bench, paying_workers, try_out
from stream.simulation.results import as_json, results_of
from stream.simulation.shown import html_page, terminal
from stream.simulation.variants import BASELINES, KNOWN, variants_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction
    from pathlib import Path

    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["simulate"]


def _listed(what: str, read: Callable[[str], Any]) -> Callable[..., tuple[Any, ...]]:
    """Return what reads values separated by commas, each once.

    Args:
        what: they are, for an error.
        read: one of them from its text; ``None`` of what is none.
    """

    def values(_ctx: click.Context, _param: click.Parameter, text: str | None) -> tuple[Any, ...]:
        found = [] if text is None else [read(each.strip()) for each in text.split(",")]
        if None in found:
            raise click.BadParameter(f"{text!r}: write {what}")
        return tuple(dict.fromkeys(found))

    return values


def _positive(text: str, below: float = inf) -> Fraction | None:
    found = number(text)
    return found if found is not None and 0 < found < below else None


@click.command()
@CONFIGURATION
@given_files("History: Parquet, CSV or JSON lines, or an export of a topic.", required=True)
@ALARMS
@click.option(
    "--runs", type=click.IntRange(1), default=100, show_default=True, help="Replays per setting."
)
@click.option(
    "--mechanisms",
    metavar="NAMES",
    callback=_listed(f"one or more of {', '.join(KNOWN)}", {name: name for name in KNOWN}.get),
    help=f"Also simulate these mechanisms: {','.join(KNOWN)}; {','.join(BASELINES)} is for "
    "comparison only.",
)
@click.option(
    "--tolerance-factors",
    "factors",
    metavar="NUMBERS",
    callback=_listed("numbers above 0, as 0.5,1,2", _positive),
    help="Also with these multiples of the tolerances.",
)
@click.option(
    "--max-fnr",
    "rates",
    metavar="NUMBERS",
    callback=_listed("numbers between 0 and 1, as 0.01,0.05", partial(_positive, below=1)),
    help="Also with these miss rates.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    show_default="one per processor, where that pays",
    help="Number of processes.",
)
@LIMIT
@click.option("--json", "json_file", type=FILE, metavar="PATH", help="Write the results here.")
@click.option("--html", "html_file", type=FILE, metavar="PATH", help="Write a page.")
@FORCE
def simulate(
    file: Path,
    replayed: tuple[str, ...],
    more: tuple[str, ...],
    names: tuple[str, ...],
    *,
    json_file: Path | None,
    html_file: Path | None,
    runs: int,
    mechanisms: tuple[str, ...],
    factors: tuple[Fraction, ...],
    rates: tuple[Fraction, ...],
    workers: int | None,
    limit: int | None,
    force: bool,
) -> None:
    """Replay history with fresh noise: misses, false alarms, denials and losses.

    Reads the files, opens no ledger, charges and releases nothing. What it prints and writes is
    computed from private data: for the custodian only.
    """
    for path in (json_file, html_file):
        if path is not None:
            check_output(path, force=force)
    if json_file is not None and json_file == html_file:
        raise click.UsageError("--json and --html have the same file")
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
    variants = variants_of(playing, shown, mechanisms, factors, rates)
    others = {
        name: list(islice(windows_of(alarm), limit))
        for name, alarm in playing.running.items()
        if name not in counted and scope_of(alarm, alarms) in scopes
    }
    bench = Bench([each.alarms for each in variants], counted, others)
    pool = workers or paying_workers(bench, runs, os.cpu_count() or 1)
    with bar("replaying") as done:
        tallies = try_out(bench, runs, workers=pool, on_runs=done)
    simulation = results_of(alarms, variants, counted, tallies, runs)
    Console().print(*terminal(simulation), sep="\n")
    if json_file is not None:
        text = json.dumps(as_json(simulation), ensure_ascii=False, indent=1)
        write_private(json_file, text + "\n", force=force)
    if html_file is not None:
        write_private(html_file, html_page(simulation), force=force)


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
        return "the band of a decider has no mechanism or tolerance to try"
    return "early alarms over panes are not drawn" if alarm.panes and alarm.aim.looks > 1 else ""
