"""``tocsin ledger FILE archive``: the past makes room, nothing alive changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stream.build import open_ledger, wall_clock_ms
from stream.cli.shared import require_ledger_file
from stream.cli.timestamps import TIME, past_ms
from stream.custody.archive import archive as move_entries
from stream.custody.changes import orphan_warning, orphans
from stream.custody.checkpoints import checkpoint_line
from stream.decisions.held import held_from_ms
from stream.decisions.registration import scopes_of, terms_of
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.ledger.ledger import Ledger
    from accountant.records import LedgerStatus
    from stream.model.alarms import Alarms

__all__ = [
    "archive",
    "opened_ledger",
    "refuse_other_budgets",
    "warn_of_orphans",
]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIRECTORY")
@click.option(
    "--before",
    metavar=TIME,
    help="Entries of windows that end by then, by the clocks of `timezone` without an offset. "
    "Default: the start of the current budget period, or now where there is none.",
)
@click.pass_obj
def archive(load: Callable[[], Alarms], folder: Path, before: str | None) -> None:
    """Move entries of the past to a Parquet file in DIRECTORY, out of the ledger: no total changes.

    Those go which nothing asks for any more; no window that is not decided by then may still be.
    Run it again where it was stopped. Keep DIRECTORY from analysts, as the ledger itself.
    """
    alarms = load()
    now_ms = wall_clock_ms()
    before_ms = (
        _period_start_ms(alarms, now_ms)
        if before is None
        else past_ms(before, alarms.timezone, "--before", now_ms)
    )
    with opened_ledger(alarms) as opened:
        refuse_other_budgets(alarms, opened)
        held_ms = held_from_ms(alarms.running, opened.progress)
        before_ms = min(before_ms, held_ms, alarms.too_old_ms(now_ms))
        moved = move_entries(opened, folder, before_ms)
        later = opened.reports.status()
    warn_of_orphans(alarms, later)
    where = f" to {', '.join(moved.files)}" if moved.files else ""
    until = moment_text(before_ms, alarms.timezone)
    click.echo(f"{moved.entries} entries moved{where}, before {until}")
    click.echo(checkpoint_line(later.checkpoint))


def _period_start_ms(alarms: Alarms, now_ms: int) -> int:
    """Return the start of the current period, or now where the budget is never renewed."""
    periods = alarms.budget.periods
    if periods is None or periods.calendar is None:
        return now_ms
    return periods.touched(now_ms, now_ms + 1)[0]


def opened_ledger(alarms: Alarms) -> Ledger:
    """Open the ledger of a configuration, which is there already."""
    require_ledger_file(alarms)
    return open_ledger(alarms)


def refuse_other_budgets(alarms: Alarms, opened: Ledger) -> None:
    """Refuse to work on a ledger under another budget than its own.

    Raises:
        ConfigChangedError: unit, epsilon_max or period differs.
    """
    opened.pins.refuse_changes([terms_of(alarms, one) for one in scopes_of(alarms)], (), ())


def warn_of_orphans(alarms: Alarms, status: LedgerStatus) -> None:
    """Say which alarms of the ledger nobody decides any more."""
    for alarm in orphans(alarms, status):
        click.echo(f"warning: {orphan_warning(alarm)}", err=True)
