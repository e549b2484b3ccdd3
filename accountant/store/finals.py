"""What a query's charges have lost for good, those that are alike added up by the database."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from accountant.costs.charges import WindowKey
from accountant.store.rows import same_window
from accountant.store.schema import table_of
from accountant.store.tables.charged import CHARGES, FINAL, LINKS, LinkKind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FinalLosses", "Finals"]

_CHARGES, _LINKS = table_of(CHARGES), table_of(LINKS)


class FinalLosses(NamedTuple):
    """Charges of one query that have ended for good: all that are alike, or one whose cells differ.

    Args:
        key: the window of the one; ``None`` for those that cost all their cells the same.
        fingerprint: of the configuration.
        cells: cells of one window.
        periods: budget periods that each of them touches.
        windows: how many.
        units: what their dearest cells lost, added up.
        latest_ms: start of the one that starts last.
    """

    key: WindowKey | None
    fingerprint: str
    cells: int
    periods: tuple[int, ...]
    windows: int
    units: int
    latest_ms: int


class Finals:
    """Reads charges that count for good, within one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def of(
        self, scope: str, query: str, *, end_ms: int, by_ms: int | None = None
    ) -> list[FinalLosses]:
        """Return those of a query's windows that end after an instant.

        ``by_ms`` leaves out windows that start after it.
        """
        last_ms = 2**63 - 1 if by_ms is None else by_ms
        bound = {"scope": scope, "query": query, "end_ms": end_ms, "by_ms": last_ms}
        found = self._connection.execute(_finals(), bound).mappings()
        return [_final_losses(row, query) for row in found]

    def since(self, scope: str, query: str, number: int) -> list[FinalLosses]:
        """Return those of a query that came to count for good after a link."""
        bound = {"scope": scope, "query": query, "link": number}
        found = self._connection.execute(_finals_since(), bound).mappings()
        return [_final_losses(row, query) for row in found]

    def latest(self, query: str) -> tuple[int, tuple[int, ...]] | None:
        """Return start and periods of the one of a query that starts last."""
        found = self._connection.execute(_latest(), {"query": query}).first()
        return None if found is None else (found.start_ms, tuple(json.loads(found.periods)))


def _alike(*where: Any, source: Any = _CHARGES) -> Any:
    """Add up charges that count for good; those whose cells differ stay single."""
    columns = _CHARGES.c
    alone = columns.costs.is_not(None)
    start = sa.case((alone, columns.start_ms)).label("start_ms")
    end = sa.case((alone, columns.end_ms)).label("end_ms")
    by = (start, end, columns.fingerprint, columns.cells, columns.periods)
    # Spent: never settled.
    lost = sa.func.coalesce(columns.settled_units, columns.held_units, columns.units)
    added = (
        sa.func.count().label("windows"),
        sa.func.sum(lost).label("lost"),
        sa.func.max(columns.start_ms).label("latest_ms"),
    )
    return sa.select(*by, *added).select_from(source).where(_is_final(), *where).group_by(*by)


def _is_final() -> Any:
    return _CHARGES.c.state.in_([state.value for state in FINAL])


@cache
def _finals() -> Any:
    of = [_CHARGES.c[name] == sa.bindparam(name) for name in ("scope", "query")]
    after = _CHARGES.c.end_ms > sa.bindparam("end_ms")
    return _alike(*of, after, _CHARGES.c.start_ms <= sa.bindparam("by_ms"))


@cache
def _finals_since() -> Any:
    of = [_LINKS.c[name] == sa.bindparam(name) for name in ("scope", "query")]
    ended = (_LINKS.c.kind == LinkKind.ENDED.value, _LINKS.c.link > sa.bindparam("link"))
    return _alike(*of, *ended, source=_LINKS.join(_CHARGES, same_window(_CHARGES, _LINKS)))


@cache
def _latest() -> Any:
    last = (_CHARGES.c.start_ms.desc(), _CHARGES.c.end_ms.desc())
    columns = sa.select(_CHARGES.c.start_ms, _CHARGES.c.periods)
    mine = _CHARGES.c.query == sa.bindparam("query")
    return columns.where(mine, _is_final()).order_by(*last).limit(1)


def _final_losses(row: Mapping[Any, Any], query: str) -> FinalLosses:
    start_ms, end_ms = row["start_ms"], row["end_ms"]
    return FinalLosses(
        key=None if start_ms is None else WindowKey(end_ms, query, start_ms),
        fingerprint=row["fingerprint"],
        cells=row["cells"],
        periods=tuple(json.loads(row["periods"])),
        windows=row["windows"],
        units=int(row["lost"]),
        latest_ms=row["latest_ms"],
    )
