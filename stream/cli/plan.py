"""``tocsin plan``: what a configuration costs."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from accountant.errors import BudgetError
from stream.cli.shared import CONFIG, echo_json, load_alarms
from stream.planning.advice.advice import advise, as_advised
from stream.planning.advice.records import advice_lines
from stream.planning.advice.words import advice_shown
from stream.planning.lines import plan_lines
from stream.planning.outlook import outlook
from stream.planning.ringing_tables import ringing_lines, ringing_tables
from stream.planning.tables import plan_tables
from stream.planning.worth import worths
from stream.simulation.outputs import check_output, write_private

__all__ = ["plan"]


@click.command()
@click.argument("file", type=CONFIG)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Draw it on a page, too.",
)
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
@click.pass_context
def plan(ctx: click.Context, file: Path, *, as_json: bool, page: Path | None, force: bool) -> None:
    """Say what a configuration costs and what it is worth, before any data is read.

    Of an alarm that says what is wanted and not how, it says what is best; where nothing keeps all
    of that, what would have to change, and ends with 3.
    """
    alarms = load_alarms(file, notes=True)
    if page is not None:
        check_output(page, force=force)
    advice = advise(alarms)
    alarms = as_advised(alarms, advice)
    looked = outlook(alarms)
    worth = worths(alarms)
    if page is not None:
        from stream.planning.page import plan_page  # noqa: PLC0415  # templates only where asked

        write_private(page, plan_page(looked, worth, alarms), force=force)
    if as_json:
        lines = (*plan_lines(looked, alarms), *ringing_lines(worth), *advice_lines(advice))
        for line in lines:
            echo_json(line)
    else:
        tables = (*plan_tables(looked, alarms), *ringing_tables(worth), *advice_shown(advice))
        Console().print(*tables, sep="\n")
    if any(one.lacking for one in advice):
        ctx.exit(BudgetError.exit_code)
