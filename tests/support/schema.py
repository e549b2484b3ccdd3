"""Empty databases get the ledger's schema by what the migrations of the first one executed.

Hundreds of tests begin with an empty database, and putting the same statements together again takes
most of the time that a new ledger takes. The first one of a process is made by the migrations; the
next ones by the statements which that executed, in their order, in a transaction of the same kind.
Databases that hold an older ledger are migrated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy import event

from accountant.store import store
from accountant.store.schema import VERSION_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MIGRATIONS", "remember_the_schema"]

MIGRATIONS: Final = store._upgrade
"""The migrations themselves, for tests of what they make."""

_ASKS: Final = ("SELECT", "PRAGMA")


def remember_the_schema() -> None:
    """Let every later database of this process be made as the first one was."""
    store._upgrade = _remembering(MIGRATIONS)


def _remembering(upgrade: Callable[[sa.Connection], None]) -> Callable[[sa.Connection], None]:
    executed: dict[str, list[tuple[str, Any]]] = {}

    def made(connection: sa.Connection) -> None:
        dialect = connection.dialect.name
        if sa.inspect(connection).has_table(VERSION_TABLE):
            upgrade(connection)
        elif dialect in executed:
            for statement, parameters in executed[dialect]:
                connection.exec_driver_sql(statement, parameters or None)
        else:
            executed[dialect] = _executed_by(upgrade, connection)

    return made


def _executed_by(
    upgrade: Callable[[sa.Connection], None], connection: sa.Connection
) -> list[tuple[str, Any]]:
    """Migrate, and return the statements that change something, with their parameters."""
    found: list[tuple[str, Any]] = []

    def note(_on: Any, _cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        if not statement.lstrip().upper().startswith(_ASKS):
            found.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", note)
    try:
        upgrade(connection)
    finally:
        event.remove(connection, "before_cursor_execute", note)
    return found
