"""How many windows of each query ended in which way: counted as they end, not by reading them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables.decided import DECISIONS, TALLIES, TallyRow

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Tallies"]

_DECISIONS, _TALLIES = table_of(DECISIONS), table_of(TALLIES)


class Tallies(Rows[TallyRow]):
    """Counts of decisions; a query's are changed while its row is locked."""

    def count(self, rows: Iterable[TallyRow]) -> None:
        """Add to the counts, and move the instants at which the last windows ended, never back."""
        values = [self._declared.values(row) for row in rows]
        if values:
            self._connection.execute(_count(self._insert), values)

    def recounted(self) -> list[TallyRow]:
        """Count every decision that is there: this takes as long as there are decisions."""
        return self._read(_recounted())


@cache
def _count(insert: Any) -> Any:
    statement = insert(_TALLIES)
    new, old = statement.excluded, _TALLIES.c
    return statement.on_conflict_do_update(
        index_elements=[column.name for column in _TALLIES.primary_key.columns],
        set_={
            "windows": old.windows + new.windows,
            "last_ms": sa.case((new.last_ms > old.last_ms, new.last_ms), else_=old.last_ms),
        },
    )


@cache
def _recounted() -> Any:
    reason = sa.func.coalesce(_DECISIONS.c.reason, "")
    by = (_DECISIONS.c.query, _DECISIONS.c.outcome, reason)
    counted = (sa.func.count(), sa.func.max(_DECISIONS.c.decided_at_ms))
    return sa.select(*by, *counted).group_by(*by)
