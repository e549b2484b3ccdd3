"""``tocsin lock``: what a configuration leaves open, resolved and written beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from accountant.errors import BudgetError
from stream.cli.checking import placed
from stream.cli.options import CONFIGURATION
from stream.cli.shared import complain, echo_lines, leave, refuse_errors, say, write_text
from stream.planning.checks import often_false
from stream.planning.locking import changes, resolve
from stream.planning.shown import many
from stream.planning.solver.solver import as_solved

if TYPE_CHECKING:
    from pathlib import Path

    from stream.planning.solver.solver import Solved

__all__ = ["lock"]


@click.command()
@CONFIGURATION
@click.argument("names", metavar="[ALARM]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Resolve every alarm anew.")
def lock(file: Path, names: tuple[str, ...], *, everything: bool) -> None:
    """Resolve what FILE leaves open, and write it to its lock.

    Keeps entries that are not stale, except those of each ALARM given. Exit code 3: an alarm cannot
    meet its requirements; the output lists what to change.
    """
    found = resolve(file, names, everything=everything)
    report = found.report
    if report.errors:
        refuse_errors(report.errors)
    for warning in report.warnings:
        complain(warning, kind="warning")
    if found.unmet:
        _tell_unmet(found.unmet)
        leave(BudgetError.exit_code)
    if not found.after.entries and not found.before.entries:
        click.echo(f"{file} leaves nothing open")
        return
    write_text(found.after.path, found.after.text)
    echo_lines(changes(found.before, found.after))
    if report.alarms is not None:
        for warning in placed(report, often_false(as_solved(report.alarms, found.solved))):
            complain(warning, kind="warning")
    click.echo(f"{found.after.path}: {many(len(found.after.entries), 'alarm')}")


def _tell_unmet(unmet: tuple[Solved, ...]) -> None:
    """Say of alarms that cannot be had what would have to change, on standard error."""
    for one in unmet:
        why = one.why or "no setting meets all of its requirements"
        say(f"{one.alarm.id}: {why}")
        for change in one.changes:
            say(f"  it would meet them with {change.text}")
