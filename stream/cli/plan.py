"""``tocsin plan``: what a configuration costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console

from accountant.errors import BudgetError
from stream.cli.shared import CONFIG, echo_json, load_alarms
from stream.planning.advice.advice import advise, as_advised
from stream.planning.advice.records import advice_lines
from stream.planning.advice.words import advice_shown
from stream.planning.lines import plan_lines
from stream.planning.outlook import outlook
from stream.planning.tables import plan_tables

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["plan"]


@click.command()
@click.argument("file", type=CONFIG)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def plan(ctx: click.Context, file: Path, *, as_json: bool) -> None:
    """Say what a configuration costs, before any data is read.

    Of an alarm that says what is wanted and not how, it says what is best; where nothing keeps all
    of that, what would have to change, and ends with 3.
    """
    alarms = load_alarms(file, notes=True)
    advice = advise(alarms)
    planned = as_advised(alarms, advice)
    looked = outlook(planned)
    if as_json:
        for line in (*plan_lines(looked, planned), *advice_lines(advice)):
            echo_json(line)
    else:
        shown = [*plan_tables(looked, planned), *advice_shown(advice)]
        Console().print(*shown, sep="\n")
    if any(one.lacking for one in advice):
        ctx.exit(BudgetError.exit_code)
