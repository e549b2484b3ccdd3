"""``tocsin simulate FILE --replay ...``: alarms tried out on history, for the custodian alone."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from accountant.errors import ConfigError
from operators.registry import mechanism_of
from stream.cli.bars import bar
from stream.cli.options import ALARMS, LIMIT, given_files
from stream.cli.shared import FILE, chosen_alarms, load_alarms, paths_by_feed
from stream.model.numbers import number
from stream.planning.tradeoffs.cap_tables import NO_CAPS
from stream.planning.tradeoffs.caps import cap_choices
from stream.simulation.caps.counting import counted_under_caps
from stream.simulation.caps.tables import cap_results, cap_trial_tables
from stream.simulation.caps.trying import tried_under_caps
from stream.simulation.crew import paying_workers, try_out
from stream.simulation.history import count_history
from stream.simulation.outputs import check_output, write_private
from stream.simulation.report import report
from stream.simulation.settings import AS_WRITTEN, BASELINES, FACTORS, TRIED
from stream.simulation.tables import simulation_tables
from stream.simulation.trying import Trying

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction
    from pathlib import Path

    from stream.model.alarms import Alarms
    from stream.simulation.caps.trying import CapTrials
    from stream.simulation.results import Simulation
    from stream.simulation.trials import Bench

__all__ = ["simulate"]


class _Numbers(click.ParamType):
    """Positive decimals, separated by commas; exact."""

    name = "numbers"

    def __init__(self, what: str, *, below: int | None = None) -> None:
        self._what = what
        self._below = below

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Fraction, ...]:
        """Return the numbers, each once."""
        if not isinstance(value, str):
            return tuple(value)
        numbers = []
        for each in value.split(","):
            found = number(each)
            if found is None or found <= 0 or (self._below and found >= self._below):
                self.fail(f"{value!r}: write {self._what}", param, ctx)
            numbers.append(found)
        return tuple(dict.fromkeys(numbers))


class _Mechanisms(click.ParamType):
    """Names of mechanisms, separated by commas."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names, each once."""
        if not isinstance(value, str):
            return tuple(value)
        names = tuple(dict.fromkeys(each.strip() for each in value.split(",")))
        known = (*TRIED, *AS_WRITTEN, *BASELINES)
        for name in names:
            if name not in known:
                self.fail(f"{name!r}: write one or more of {', '.join(known)}", param, ctx)
        return names


@click.command()
@click.argument("file", type=FILE)
@given_files("History: Parquet, CSV or JSON lines, or a dump of a topic.", required=True)
@ALARMS
@click.option("--runs", type=click.IntRange(1), default=100, show_default=True)
@click.option(
    "--mechanisms",
    type=_Mechanisms(),
    help=f"Default: all of {','.join(TRIED)} that can answer; {','.join(BASELINES)} is a baseline.",
)
@click.option(
    "--tolerance-factors",
    "factors",
    type=_Numbers("numbers above 0, as 0.5,1,2"),
    default=FACTORS,
    show_default="0.5,1,2,4",
    help="Multiples of the configured tolerances.",
)
@click.option(
    "--max-fnr",
    "rates",
    type=_Numbers("numbers between 0 and 1, as 0.01,0.05", below=1),
    help="Default: as configured.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    show_default="one per processor, where that pays",
    help="Processes.",
)
@LIMIT
@click.option(
    "--caps", is_flag=True, help="Try windows_per_period out, too; counts once more for each cap."
)
@click.option("--json", "json_file", type=FILE, metavar="PATH", help="Write the results here.")
@click.option("--html", "html_file", type=FILE, metavar="PATH", help="Write a page with plots.")
@click.option("--force", is_flag=True, help="Replace these files where they exist.")
def simulate(
    file: Path,
    replayed: tuple[str, ...],
    more: tuple[str, ...],
    names: tuple[str, ...],
    *,
    json_file: Path | None,
    html_file: Path | None,
    runs: int,
    mechanisms: tuple[str, ...] | None,
    factors: tuple[Fraction, ...],
    rates: tuple[Fraction, ...] | None,
    workers: int | None,
    limit: int | None,
    caps: bool,
    force: bool,
) -> None:
    """Try alarms out on history, many times: misses, false alarms, losses.

    Reads the files, opens no ledger, charges and releases nothing. What it prints and writes is
    computed from private data: for the custodian only.
    """
    for path in (json_file, html_file):
        if path is not None:
            check_output(path, force=force)
    if json_file is not None and json_file == html_file:
        raise click.UsageError("--json and --html name the same file")
    page = None if html_file is None else _page()
    alarms = load_alarms(file)
    chosen = _chosen(alarms, names)
    files = paths_by_feed(chosen, (*replayed, *more))
    with bar("counting") as counted_windows:
        counted = count_history(chosen, files, limit=limit, on_windows=counted_windows)
    trying = Trying.of(chosen, mechanisms, factors, rates)
    bench = trying.bench(chosen, counted)

    def crew(bench: Bench) -> int:
        return workers or paying_workers(bench, runs, os.cpu_count() or 1)

    with bar("deciding") as decided_windows:
        tried = try_out(bench, runs, workers=crew(bench), on_draws=decided_windows)
    simulation = trying.results(alarms, counted, tried, runs)
    under = _under_caps(chosen, files, runs, limit, crew) if caps else []
    tables = [*simulation_tables(simulation), *cap_trial_tables(under)]
    Console().print(*tables, sep="\n")
    if json_file is not None:
        text = json.dumps(report(simulation, cap_results(under)), ensure_ascii=False, indent=1)
        write_private(json_file, text + "\n", force=force)
    if html_file is not None and page is not None:
        write_private(html_file, page(simulation), force=force)


def _under_caps(
    alarms: Alarms,
    files: Mapping[str, Sequence[Path]],
    runs: int,
    limit: int | None,
    crew: Callable[[Bench], int],
) -> list[CapTrials]:
    """Count and decide under every cap that the alarms might have.

    Raises:
        ConfigError: none of them may have one.
    """
    choices = cap_choices(alarms)
    if not choices:
        raise ConfigError(NO_CAPS, hint="leave --caps out")
    with bar("counting under caps") as counted_passes:
        counted = counted_under_caps(alarms, files, choices, limit=limit, on_pass=counted_passes)
    with bar("deciding under caps") as decided_windows:
        return tried_under_caps(alarms, counted, runs, workers=crew, on_draws=decided_windows)


def _chosen(alarms: Alarms, names: Sequence[str]) -> Alarms:
    """Return the configuration with the alarms asked for; bands are left out.

    Raises:
        ConfigError: there is none of a name, or none is left.
    """
    if alarms.budget.gaussian is not None:
        raise ConfigError(
            "simulate tries mechanisms that pay an epsilon, and this budget promises gdp",
            hint="`tocsin plan` has the exact laws; or write promise: pure to try mechanisms",
        )
    queries = chosen_alarms(alarms, names).queries
    tried = {name: q for name, q in queries.items() if mechanism_of(q.mechanism).bands is None}
    bands = [name for name in queries if name not in tried]
    early = [name for name, query in tried.items() if query.panes and query.aim.looks > 1]
    if early:
        tried = {name: query for name, query in tried.items() if name not in early}
        message = f"{', '.join(early)}: draws of early alarms over panes are not tried"
        if not tried:
            raise ConfigError(message, hint="`tocsin plan` has the exact law of when they ring")
        click.echo(f"note: left out: {message}", err=True)
    if bands:
        message = f"{', '.join(bands)}: the band of a decider has no mechanism or tolerance to try"
        if len(bands) == len(queries):
            raise ConfigError(message, hint="`tocsin check` says what its decider can tell apart")
        click.echo(f"note: left out: {message}", err=True)
    return replace(alarms, queries=tried)


def _page() -> Callable[[Simulation], str]:
    """Return what makes the page, if it can be made.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    try:
        from stream.simulation.page import html_page  # noqa: PLC0415  # matplotlib is an extra
    except ImportError as error:
        raise ConfigError(
            "--html draws plots with matplotlib, which is not installed",
            hint="pip install 'tocsin[simulate]', or leave --html out",
        ) from error
    return html_page
