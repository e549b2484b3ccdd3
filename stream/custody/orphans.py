"""Alarms that a ledger still serves and the configuration no longer has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.decisions.registration import scopes_of

if TYPE_CHECKING:
    from accountant.records import LedgerStatus
    from stream.model.alarms import Alarms

__all__ = ["orphan_warning", "orphans"]


def orphans(alarms: Alarms, status: LedgerStatus) -> list[str]:
    """Return the alarms that draw on this configuration's budgets and are not in it, by name.

    Nobody decides their windows: what is reserved for them is held, later windows whose answer
    depends on how they end wait for ever, and nothing after them is compacted. Retired alarms are
    none: their reservations were given back.
    """
    budgets = set(scopes_of(alarms))
    return [
        query.query
        for query in status.queries.values()
        if not query.retired and query.scope in budgets and query.query not in alarms.queries
    ]


def orphan_warning(alarm: str) -> str:
    """Return what the custodian is told about one of :func:`orphans`."""
    return (
        f"alarm {alarm!r} is in the ledger and not in the configuration: other windows may wait "
        "for ever for what it reserved, and nothing is compacted past it; "
        f"put it back, or end it with `tocsin ledger FILE retire {alarm}`"
    )
