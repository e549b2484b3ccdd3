"""``tocsin plan``: the cost and the utility of a configuration."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from accountant.errors import BudgetError
from stream.cli.checking import FILES, examined, worst
from stream.cli.options import JSON_LINES
from stream.cli.shared import FILE, echo_json, leave
from stream.planning.details import detail_lines
from stream.planning.figures import figures
from stream.planning.shown import plan_lines
from stream.planning.solver.solver import as_solved, solve
from stream.simulation.outputs import check_output, write_private

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.alarms import Alarms
    from stream.planning.figures import BudgetFigures

__all__ = ["plan"]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@JSON_LINES
@click.option("--details", is_flag=True, help="Also explain the figures.")
@click.option(
    "--html",
    "page",
    type=FILE,
    metavar="PATH",
    help="Also draw it on an HTML page.",
)
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
def plan(
    files: tuple[Path, ...], *, as_json: bool, details: bool, page: Path | None, force: bool
) -> None:
    """Plan a configuration: its cost and its utility, before any data is read.

    What a file leaves open, and its lock does not say, is resolved for this plan alone. Exit
    code 3: an alarm cannot meet its requirements; the output lists what to change.
    """
    several = len(files) > 1
    if page is not None:
        if several:
            raise click.UsageError("--html takes one configuration")
        check_output(page, force=force)
    found, unmet = [], False
    for path in files:
        one = examined(path)
        found.append(one)
        one.say()
        if several and not as_json:
            click.echo(f"{path}:")
        given = one.report.alarms
        if given is not None:
            solved = solve(given)
            alarms = as_solved(given, solved)
            budgets = figures(alarms, solved)
            unmet |= any(budget.unmet for budget in budgets)
            if as_json:
                for budget in budgets:
                    echo_json({"record": "budget", "file": str(path), **asdict(budget)})
            else:
                _show([*plan_lines(budgets), *(detail_lines(alarms) if details else ())])
            if page is not None:
                _draw(alarms, budgets, page, force=force)
        if several and as_json:
            echo_json(one.verdict())
    code = worst(found)
    leave(BudgetError.exit_code if unmet and not code else code)


def _show(lines: list[str]) -> None:
    for line in lines:
        click.echo(line)


def _draw(alarms: Alarms, budgets: tuple[BudgetFigures, ...], page: Path, *, force: bool) -> None:
    from stream.planning.page import plan_page  # noqa: PLC0415  # templates only where asked

    write_private(page, plan_page(alarms, budgets), force=force)
