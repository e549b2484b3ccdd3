"""``tocsin plan``: what a configuration costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console

from accountant.errors import BudgetError
from stream.cli.gate import FILES, examined, worst
from stream.cli.options import JSON_LINES
from stream.cli.shared import FILE, echo_json
from stream.planning.advice.advice import advise, as_advised
from stream.planning.advice.records import advice_lines
from stream.planning.advice.words import advice_shown
from stream.planning.early import early_lines, early_tables, early_ways
from stream.planning.holds import hold_texts, holds_of
from stream.planning.lifecycle_tables import lifecycle_lines, lifecycle_tables
from stream.planning.lifecycles import steadied
from stream.planning.lines import plan_lines
from stream.planning.outlook import outlook
from stream.planning.ringing_tables import ringing_lines, ringing_tables
from stream.planning.tables import plan_tables
from stream.planning.tradeoffs.cap_tables import cap_lines, cap_tables
from stream.planning.tradeoffs.caps import cap_choices
from stream.planning.tradeoffs.delay_tables import pacing_lines, pacing_tables
from stream.planning.tradeoffs.delays import pacings
from stream.planning.worth import worths
from stream.simulation.outputs import check_output, write_private

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.alarms import Alarms

__all__ = ["plan"]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@JSON_LINES
@click.option(
    "--html",
    "page",
    type=FILE,
    metavar="PATH",
    help="Draw it on a page, too.",
)
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
@click.option("--caps", is_flag=True, help="Weigh windows_per_period against tolerance, too.")
def plan(
    files: tuple[Path, ...], *, as_json: bool, page: Path | None, force: bool, caps: bool
) -> None:
    """Say what a configuration costs and what it is worth, before any data is read.

    Of an alarm that says what is wanted and not how, it says what is best; where nothing keeps all
    of that, what would have to change, and ends with 3.
    """
    several = len(files) > 1
    if page is not None:
        if several:
            raise click.UsageError("--html draws one file; give one")
        check_output(page, force=force)
    found, lacking = [], False
    for path in files:
        one = examined(path)
        found.append(one)
        one.say()
        if several and not as_json:
            click.echo(f"{path}:")
        if one.alarms is not None:
            name = str(path) if several else None
            lacking |= _show(one.alarms, name, as_json=as_json, page=page, force=force)
            if caps:
                _show_caps(one.alarms, name, as_json=as_json)
        if several and as_json:
            echo_json(one.verdict())
    code = worst(found)
    click.get_current_context().exit(BudgetError.exit_code if lacking and not code else code)


def _show(
    alarms: Alarms, file: str | None, *, as_json: bool, page: Path | None, force: bool
) -> bool:
    """Show one plan, and tell whether something that is wanted cannot be had.

    Each object says its file where there are several.
    """
    advice = advise(alarms)
    alarms = as_advised(alarms, advice)
    looked = outlook(alarms)
    worth, early, paced = worths(alarms), early_ways(alarms), pacings(alarms)
    steady, held, promise = steadied(worth), holds_of(alarms), alarms.budget.gaussian
    if page is not None:
        from stream.planning.page import plan_page  # noqa: PLC0415  # templates only where asked

        write_private(page, plan_page(looked, worth, alarms), force=force)
    if as_json:
        lines = (
            *(*plan_lines(looked, alarms), *early_lines(early, promise)),
            *pacing_lines(paced, promise),
            *ringing_lines(worth),
            *lifecycle_lines(steady),
            *({"record": "hold", **one._asdict()} for one in held),
            *advice_lines(advice),
        )
        for line in lines:
            echo_json(line if file is None else {"file": file, **line})
    else:
        tables = (
            *(*plan_tables(looked, alarms), *early_tables(early, promise)),
            *pacing_tables(paced, promise),
            *(*ringing_tables(worth), *lifecycle_tables(steady), *hold_texts(held)),
            *advice_shown(advice),
        )
        Console().print(*tables, sep="\n")
    return any(one.lacking for one in advice)


def _show_caps(alarms: Alarms, file: str | None, *, as_json: bool) -> None:
    """Show what caps over a period would cost the alarms that are written out."""
    if alarms.budget.gaussian is not None:
        click.echo("note: --caps weighs pure losses, and this budget promises gdp", err=True)
        return
    choices = cap_choices(alarms)
    if as_json:
        for line in cap_lines(choices):
            echo_json(line if file is None else {"file": file, **line})
    else:
        Console().print(*cap_tables(choices), sep="\n")
