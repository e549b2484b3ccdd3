"""What a person at a terminal sees: alarms of a replay, budgets, ledgers.

Only configuration and released values are shown (promise 6), but for the losses that the custodian
asks for by name.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from accountant.loss.gaussian import Gaussian
from accountant.units import PrivacyUnit, from_loss_units
from stream.model.headings import group_name
from stream.model.losses import equivalent_text, loss_name, rounded_loss, wall_text
from stream.windows.instants import from_iso_utc
from stream.windows.shown import clock_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from accountant.records import LedgerStatus, ScopeStatus
    from stream.custody.losses import Losses
    from stream.decisions.records import AlarmRecord
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

__all__ = ["alarms_table", "budget_bars", "fitting", "losses_table", "status_tables"]

_BAR_CELLS = 24
_LATEST = 3
_INSTANT = 16  # columns that a minute takes
_DEAREST = 20


def alarms_table(alarms: Iterable[AlarmRecord], timezone: str, width: int) -> Table:
    """Return which groups fired how often, the most frequent of each alarm first.

    Args:
        alarms: that fired.
        timezone: by whose clock windows are shown.
        width: columns of the terminal: a narrow one has room for fewer of the latest windows.
    """
    shown = max(1, min(_LATEST, width // _INSTANT - 3))
    firing: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for alarm in alarms:
        level = f" ({alarm.severity})" if alarm.severity else ""
        start = clock_text(from_iso_utc(alarm.window_start), timezone)
        firing[alarm.alarm, group_name(alarm.group) + level].append(start)
    order = sorted(firing.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1]))
    rows = [(*name, str(len(starts)), "  ".join(starts[-shown:])) for name, starts in order]
    latest = f"latest windows (start, {timezone})"
    table = fitting("alarms", ("alarm", "group", "times", latest), (), rows)
    table.columns[2].justify = "right"
    return table


def budget_bars(status: LedgerStatus) -> list[Text]:
    """Return a line per budget: its bar, spent and epsilon_max."""
    return [_bar(scope) for scope in status.scopes.values()]


def status_tables(status: LedgerStatus, timezone: str) -> list[RenderableType]:
    """Return the ledger's budgets and alarms.

    Args:
        status: of the ledger.
        timezone: by whose clock windows are shown.
    """
    rows = [
        (
            alarm.query + (" (removed)" if alarm.removed else ""),
            alarm.scope,
            clock_text(alarm.cursor_ms, timezone),
            str(alarm.decided),
            ", ".join(f"{count} {reason}" for reason, count in sorted(alarm.denied.items())) or "0",
            str(alarm.unpublished),
        )
        for alarm in status.queries.values()
    ]
    headings = ("alarm", "budget", f"next window ({timezone})", "decided", "denied", "unpublished")
    shown: list[RenderableType] = [fitting(f"ledger {status.ledger_id}", headings, (), rows)]
    for scope in status.scopes.values():
        shown.append(_bar(scope))
        shown.append(Text(f"  {scope.reservations} reserved, {scope.pending} pending"))
    shown.append(Text(f"checkpoint {status.checkpoint}", no_wrap=True, overflow="ignore"))
    return shown


def losses_table(alarm: Alarm, losses: Losses, budget: Budget, timezone: str) -> Table:
    """Return an alarm's groups of highest realised loss; private, unlike all else here."""
    of = "one person in the budget period from"
    if budget.unit is PrivacyUnit.EVENT:
        of = "events of"
    when = "nothing to add up"
    if losses.since_ms is not None:
        when = f"{of} {moment_text(losses.since_ms, timezone)}"
    title = f"{alarm.id}: {when}"
    epsilon = loss_name(budget.gaussian)
    if budget.gaussian is not None:
        title += f", under {wall_text(budget.gaussian, budget.wall_units)}"
    if not losses.complete:
        epsilon += " of what is left"
    elif not losses.exact:
        epsilon += " at most"
    dearest = sorted(enumerate(losses.units.tolist()), key=lambda one: (-one[1], one[0]))
    rows = [
        (
            group_name(alarm.domain.group(index)),
            rounded_loss(budget.gaussian, units),
        )
        for index, units in dearest[:_DEAREST]
    ]
    notes = []
    if len(dearest) > _DEAREST:
        notes.append(f"and {len(dearest) - _DEAREST} more; --json shows all")
    if not losses.complete:
        notes.append("windows lie in an archive: groups may have lost more")
    table = fitting(title, ("group",), (epsilon,), rows, "\n".join(notes))
    table.min_width = len(title)
    return table


def _bar(scope: ScopeStatus) -> Text:
    share = Fraction(scope.spent_units, max(scope.epsilon_max_units, 1))
    full = min(share.numerator * _BAR_CELLS // share.denominator, _BAR_CELLS)
    colour = "green" if share < Fraction(3, 4) else "yellow" if share < 1 else "red"
    whose = "event" if scope.unit is PrivacyUnit.EVENT else "person"
    gaussian = Gaussian.read(scope.promise)
    spent = rounded_loss(gaussian, scope.spent_units)
    wall = f"{float(from_loss_units(scope.epsilon_max_units)):.3f}"
    if gaussian is not None:
        wall = wall_text(gaussian, scope.epsilon_max_units)
        spent = f"rho {spent}{equivalent_text(gaussian, scope.spent_units)}"
    return Text.assemble(
        f"budget {scope.scope}  ",
        ("█" * full, colour),
        ("░" * (_BAR_CELLS - full), "dim"),
        f"  {spent} of {wall} ({round(100 * share)}%), maximum per {whose}",
    )


def fitting(
    title: str,
    left: Sequence[str],
    right: Iterable[str],
    rows: Iterable[Sequence[RenderableType]],
    caption: str = "",
) -> Table:
    """Return a table.

    Args:
        title: above it.
        left: headings of its first columns.
        right: of those after them, which are aligned to the right.
        rows: a cell a column.
        caption: below; "" for none.
    """
    table = Table(title=title, caption=caption or None, title_justify="left")
    table.caption_justify = "left"
    for heading in left:
        table.add_column(heading, overflow="fold")
    for heading in right:
        table.add_column(heading, overflow="fold", justify="right")
    for row in rows:
        table.add_row(*row)
    return table
