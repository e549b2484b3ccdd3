"""Statements on the ledger's tables, built once and run many times.

Building a statement takes longer than running it, so those that every window needs are cached.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from accountant.store import schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accountant.costs.charges import WindowKey

__all__ = [
    "Statements",
    "add_up",
    "advance_clock",
    "delete_by",
    "fields",
    "given",
    "next_sequence",
    "select_by",
    "update_by",
    "window_columns",
]


class Statements:
    """Runs statements within one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._insert: Any = (
            sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        )

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield every row of a table of :mod:`accountant.store.schema`, by primary key."""
        found: sa.Table = getattr(schema, table)
        statement = sa.select(found).order_by(*found.primary_key.columns)
        for row in self._connection.execute(statement).mappings():
            yield {str(name): value for name, value in row.items()}

    def _get(
        self, table: sa.Table, by: Mapping[str, Any], *, lock: str = ""
    ) -> dict[str, Any] | None:
        return self._one(select_by(table, tuple(by), lock), given(by))

    def _set(self, table: sa.Table, by: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        statement = update_by(table, tuple(by), tuple(values))
        self._connection.execute(statement, {**given(by), **given(values, "new_")})

    def _one(self, statement: Any, given: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        found = self._connection.execute(statement, given or {}).mappings().first()
        return None if found is None else dict(found)

    def _all(self, statement: Any, given: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        return [dict(row) for row in self._connection.execute(statement, given or {}).mappings()]


# Statements are built once: building one takes longer than running it.


@cache
def select_by(table: sa.Table, by: tuple[str, ...], lock: str) -> Any:
    """Select rows whose columns equal ``is_*``; ``lock`` is ``share``, ``update`` or empty."""
    statement = sa.select(table).where(*_equal(table, by))
    if not lock:
        return statement
    # An admission holds its scope and refers to queries that a decision holds while it waits for
    # that scope: FOR UPDATE would block the foreign key's check, and the two would deadlock.
    return statement.with_for_update(read=lock == "share", key_share=lock == "update")


@cache
def update_by(table: sa.Table, by: tuple[str, ...], names: tuple[str, ...]) -> Any:
    """Set columns to ``new_*`` where others equal ``is_*``."""
    new: dict[str, Any] = {name: sa.bindparam(f"new_{name}") for name in names}
    return table.update().where(*_equal(table, by)).values(new)


@cache
def delete_by(table: sa.Table, by: tuple[str, ...]) -> Any:
    """Delete rows whose columns equal ``is_*``."""
    return table.delete().where(*_equal(table, by))


@cache
def next_sequence(insert: Any) -> Any:
    """Take the next number of the query ``of_query``."""
    table = schema.sequences
    first = insert(table).values(query=sa.bindparam("of_query"), last_sequence=1)
    return first.on_conflict_do_update(
        index_elements=["query"], set_={"last_sequence": table.c.last_sequence + 1}
    ).returning(table.c.last_sequence)


@cache
def add_up(insert: Any, table: sa.Table, added: tuple[str, ...]) -> Any:
    """Insert rows; where one is there under the same key, add to its columns ``added``."""
    statement = insert(table)
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=[column.name for column in table.primary_key.columns],
        set_={name: table.c[name] + new[name] for name in added},
    )


@cache
def advance_clock() -> Any:
    """Move the clock's mark to ``now_ms``, never back."""
    table = schema.ledger
    now_ms = sa.bindparam("now_ms", type_=sa.BigInteger)
    return table.update().where(table.c.clock_ms < now_ms).values(clock_ms=now_ms)


def _equal(table: sa.Table, by: tuple[str, ...]) -> list[Any]:
    return [table.c[name] == sa.bindparam(f"is_{name}") for name in by]


def given(values: Mapping[str, Any], prefix: str = "is_") -> dict[str, Any]:
    """Return values under the names that statements bind them by."""
    return {f"{prefix}{name}": value for name, value in values.items()}


def fields(record: Any) -> dict[str, Any]:
    """Return a frozen record as columns."""
    # dataclasses.asdict would copy deeply and take the window key apart.
    values = {name: getattr(record, name) for name in record.__dataclass_fields__}
    return {name: v.value if isinstance(v, StrEnum) else v for name, v in values.items()}


def window_columns(key: WindowKey) -> dict[str, Any]:
    """Return a window as columns."""
    return {"query": key.query, "start_ms": key.start_ms, "end_ms": key.end_ms}
