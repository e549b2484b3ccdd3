"""``tocsin plan``: the cost and the utility of a configuration."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from accountant.errors import BudgetError
from stream.cli.checking import examined
from stream.cli.options import CONFIGURATION, FORCE, JSON_LINES
from stream.cli.shared import FILE, echo_json, echo_lines, leave_as_worst
from stream.planning.details import detail_lines
from stream.planning.figures import figures
from stream.planning.locking import fits_anew
from stream.planning.shown import plan_lines
from stream.planning.solver.solver import as_solved, solve
from stream.simulation.outputs import check_output, write_private

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["plan"]


@click.command()
@CONFIGURATION
@JSON_LINES
@click.option("--details", is_flag=True, help="Also explain the figures.")
@click.option(
    "--html",
    "page",
    type=FILE,
    metavar="PATH",
    help="Also draw it on an HTML page.",
)
@FORCE
def plan(file: Path, *, as_json: bool, details: bool, page: Path | None, force: bool) -> None:
    """Plan a configuration: its cost and its utility, before any data is read.

    What FILE leaves open, and its lock does not say, is resolved for this plan alone. Exit code 3:
    an alarm cannot meet its requirements; the output lists what to change.
    """
    if page is not None:
        check_output(page, force=force)
    found = examined(file)
    found.say()
    codes = [found.exit_code]
    if found.alarms is not None:
        solved = solve(found.alarms)
        alarms = as_solved(found.alarms, solved)
        budgets = figures(alarms, solved)
        if any(one.unmet or not one.fits for one in budgets) and fits_anew(file):
            budgets = tuple(replace(one, lock=f"tocsin lock {file}") for one in budgets)
        codes += [BudgetError.exit_code for budget in budgets if budget.unmet]
        if as_json:
            for budget in budgets:
                echo_json({"record": "budget", "file": str(file), **asdict(budget)})
        else:
            echo_lines([*plan_lines(budgets), *(detail_lines(alarms) if details else ())])
        if page is not None:
            from stream.planning.page import plan_page  # noqa: PLC0415  # its templates

            write_private(page, plan_page(alarms, budgets), force=force)
    leave_as_worst(codes)
