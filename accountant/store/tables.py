"""The eight tables of a ledger: its log, and the working rows that must be deleted some day.

Every working row ends in a digest of all its columns, keyed with the ledger's secret. Tables carry
a prefix, because a PostgreSQL database may hold other things beside the ledger.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

__all__ = [
    "COUNTERS",
    "ENTRIES",
    "KEPT",
    "MARKS",
    "PARTIALS",
    "PLACES",
    "PRIVATE",
    "USED",
    "WORKING",
    "metadata",
]

metadata: Final = sa.MetaData()

_TEXT, _WHOLE, _BYTES = sa.Text, sa.BigInteger, sa.LargeBinary
_WINDOW: Final = {"query": _TEXT, "start_ms": _WHOLE, "end_ms": _WHOLE}


def _table(name: str, by: dict[str, Any], /, **values: Any) -> sa.Table:
    columns = [sa.Column(one, kind, primary_key=True) for one, kind in by.items()]
    columns += [sa.Column(one, kind, nullable=False) for one, kind in values.items()]
    return sa.Table(f"tocsin_{name}", metadata, *columns)


_BY_BYTES: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

ENTRIES: Final = _table(
    "entries", {"seq": _WHOLE}, kind=_TEXT, key=_BY_BYTES, payload=_BYTES, hash=_BYTES
)
"""The log (:mod:`accountant.log.entries`)."""

sa.Index(
    "tocsin_entries_ended",
    ENTRIES.c.key,
    sqlite_where=sa.text("kind = 'ended'"),
    postgresql_where=sa.text("kind = 'ended'"),
)

PARTIALS: Final = _table(
    "partials",
    {**_WINDOW, "partition": sa.Integer},
    fingerprint=_TEXT,
    topic_id=_TEXT,
    complete=sa.Boolean,
    cells=_WHOLE,
    cell_index=_BYTES,
    cell_value=_BYTES,
    first_offset=_WHOLE,
    last_offset=_WHOLE,
    conflicted=sa.Boolean,
    digest=_BYTES,
)
"""Counts of undecided windows; vectors are little-endian 64-bit integers."""

USED: Final = _table(
    "used",
    {"query": _TEXT, "partition": sa.Integer, "start_ms": _WHOLE},
    fingerprint=_TEXT,
    topic_id=_TEXT,
    state=_BYTES,
    digest=_BYTES,
)
"""What people used up of a cap over a period, through the window that starts at ``start_ms``."""

PRIVATE: Final = _table(
    "private",
    {"kind": _TEXT, **_WINDOW},
    fingerprint=_TEXT,
    body=_BYTES,
    digest=_BYTES,
)
"""The ledger's secret, the state of runs, noisy counts of panes: in no export."""

MARKS: Final = _table(
    "marks",
    {"feed": _TEXT, "partition": sa.Integer, "time_ms": _WHOLE},
    log_offset=_WHOLE,
    digest=_BYTES,
)
"""Where watermarks lie."""

PLACES: Final = _table(
    "places",
    {"feed": _TEXT, "partition": sa.Integer},
    log_offset=_WHOLE,
    stand=_TEXT,
    still_since_ms=_WHOLE,
    seen_ms=_WHOLE,
    digest=_BYTES,
)
"""How far each partition is read, and since when it has not gone on."""

COUNTERS: Final = _table("counters", {"name": _TEXT}, value=_WHOLE, at_ms=_WHOLE, digest=_BYTES)
"""The mark of time, what has left, starts and errors: numbers that only rise."""

KEPT: Final = _table("kept", {"name": _TEXT, "number": _WHOLE}, body=_BYTES, digest=_BYTES)
"""The newest image of the state, and by what decisions in archives are known again."""

WORKING: Final = (PARTIALS, USED, PRIVATE, MARKS, PLACES, COUNTERS, KEPT)
