"""The declared tables as SQLAlchemy knows them.

Tables carry a prefix, because a PostgreSQL database may hold other things beside the ledger.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from accountant.store.declaration import Kind, Table
from accountant.store.tables import TABLES

__all__ = ["VERSION", "metadata", "table_of"]

VERSION: Final = "1"
"""Version of the schema that this code reads and writes: no other is opened."""

_PREFIX: Final = "tocsin_"

metadata: Final = sa.MetaData()

_TYPES: Final[dict[Kind, type[sa.types.TypeEngine[Any]]]] = {
    Kind.TEXT: sa.Text,
    Kind.WHOLE: sa.BigInteger,
    Kind.SMALL: sa.Integer,
    Kind.TRUTH: sa.Boolean,
    Kind.BYTES: sa.LargeBinary,
    Kind.ENCODED: sa.LargeBinary,
    Kind.WHOLES: sa.Text,
}


def table_of(declared: Table[Any]) -> sa.Table:
    """Return the table of a declaration."""
    return metadata.tables[_PREFIX + declared.name]


def _add(declared: Table[Any]) -> None:
    columns = (
        sa.Column(
            one.name,
            _TYPES[one.kind],
            *([sa.ForeignKey(f"{_PREFIX}{one.refers}.{one.name}")] if one.refers else []),
            primary_key=one.name in declared.key,
            autoincrement=False,
            nullable=one.nullable,
        )
        for one in declared.columns
    )
    indexes = (
        sa.Index(
            _PREFIX + one.name,
            *one.columns,
            sqlite_where=sa.text(one.where) if one.where else None,
            postgresql_where=sa.text(one.where) if one.where else None,
        )
        for one in declared.indexes
    )
    unique = [sa.UniqueConstraint(*declared.unique)] if declared.unique else []
    sa.Table(_PREFIX + declared.name, metadata, *columns, *indexes, *unique)


for _declared in TABLES:
    _add(_declared)
