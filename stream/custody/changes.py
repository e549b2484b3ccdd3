"""Where ledger and configuration differ: changed alarms are taken on, removed ones are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.errors import LedgerError
from stream.decisions.registration import registration, scopes_of
from stream.decisions.schedule import first_start_ms
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from accountant.records import LedgerStatus
    from stream.model.alarms import Alarms

__all__ = ["apply_changes", "orphans"]


def apply_changes(alarms: Alarms, opened: Ledger, *, now_ms: int) -> list[str]:
    """Accept every changed alarm; return one line for each.

    A feed with a declared history is read again, so its change takes effect at the oldest undecided
    window; a live one's at the first window that starts at or after ``now_ms``. The judge denies
    the windows in between.

    Raises:
        LedgerError: the ledger refuses a change, or decisions of an alarm have not left yet: they
            would leave with what its new configuration says of them.
    """
    registered = {row.query: row.fingerprint for row in opened.pins.queries()}
    changed = [
        alarm
        for alarm in alarms.running.values()
        if registered.get(alarm.id, alarm.fingerprint) != alarm.fingerprint
    ]
    known = opened.reports.status().queries
    for alarm in changed:
        if many := known[alarm.id].unpublished:
            raise LedgerError(
                f"{many} decision(s) of alarm {alarm.id!r} are not published",
                hint="run the configuration as it was until `ledger FILE status` shows none",
            )
    lines: list[str] = []
    for alarm in changed:
        cursor_ms = opened.cursor(alarm.id)
        floor_ms = cursor_ms if alarm.feed.history else max(cursor_ms, now_ms)
        from_ms = first_start_ms(alarm, floor_ms)
        opened.pins.accept_change(registration(alarm, alarms, 0), from_ms)
        since = moment_text(from_ms, alarms.timezone)
        lines.append(f"{alarm.id}: applied, in force from {since}")
    return lines


def orphans(alarms: Alarms, status: LedgerStatus) -> list[str]:
    """Return the alarms that draw on this configuration's budgets and are not in it, by name.

    Nobody decides their windows: what is reserved for them is held, later windows whose answer
    depends on how they end wait for ever, and nothing after them is archived. Retired alarms are
    none: their reservations were given back.
    """
    budgets = set(scopes_of(alarms))
    return [
        alarm.query
        for alarm in status.queries.values()
        if not alarm.removed and alarm.scope in budgets and alarm.query not in alarms.running
    ]
