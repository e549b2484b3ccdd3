"""Counts that wait for their window's decision, and where punctuation marks lie."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from accountant.records import Partial
from accountant.store.declaration import made_from
from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables.counted import MARKS, PARTIALS, MarkRow, PartialRow
from accountant.store.tables.windows import window_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from accountant.costs.charges import WindowKey

__all__ = ["Marks", "Partials"]

_PARTIALS, _MARKS = table_of(PARTIALS), table_of(MARKS)


class Partials(Rows[PartialRow]):
    """Partials of undecided windows."""

    def store(self, partial: Partial) -> bool:
        """Store a partial unless its place is taken; say whether it was stored."""
        row = made_from(
            PartialRow,
            partial,
            **window_columns(partial.key),
            cell_index=partial.index.astype("<i8").tobytes(),
            cell_value=partial.value.astype("<i8").tobytes(),
            conflicted=False,
        )
        return self.add_new(row)

    def matches(self, partial: Partial) -> bool:
        """Whether the stored partial stands; one that contradicts it is marked as in conflict.

        A recount of a slice that retention has cut short since says nothing against the whole one.
        """
        place = {**window_columns(partial.key), "partition": partial.partition}
        found = self.get(**place)
        if found is None or found.conflicted:
            return False
        if found.digest == partial.digest or (found.complete and not partial.complete):
            return True
        self.change(place, conflicted=True, digest=conflict_digest(found.digest))
        return False

    def of(self, key: WindowKey) -> list[Partial]:
        """Return a window's partials by partition."""
        return [self.of_row(row) for row in self.each(**window_columns(key))]

    @staticmethod
    def of_row(row: PartialRow) -> Partial:
        """Return a stored partial.

        Raises:
            ValueError: it is none that was ever stored.
        """
        return made_from(
            Partial,
            row,
            index=_whole(row.cell_index),
            value=_whole(row.cell_value),
            counted_on=None,
            revision=0,
            used=None,
        )

    def counted(self) -> set[str]:
        """Return the queries that have any."""
        return set(self._connection.scalars(sa.select(_PARTIALS.c.query).distinct()))

    def conflicted(self, key: WindowKey) -> bool:
        """Whether two different partials came for one place of the window."""
        return self.get(**window_columns(key), conflicted=True) is not None

    def drop_before(self, query: str, start_ms: int) -> None:
        """Delete the partials of a query's windows that start before an instant."""
        past = (_PARTIALS.c.query == query, _PARTIALS.c.start_ms < start_ms)
        self._connection.execute(_PARTIALS.delete().where(*past))


class Marks(Rows[MarkRow]):
    """Where punctuation marks lie in the log."""

    def note(self, feed: str, partition: int, time_ms: int, log_offset: int) -> None:
        """Remember where a mark lies; the first one stored stays."""
        place = (feed, partition, time_ms, log_offset)
        self.add_new(MarkRow(*place, mark_digest(*place)))

    def before(self, feed: str, partition: int, time_ms: int) -> int | None:
        """Return the offset of the newest mark at or before an instant."""
        place = (_MARKS.c.feed == feed, _MARKS.c.partition == partition)
        past = sa.select(_MARKS).where(*place, _MARKS.c.time_ms <= time_ms)
        newest = self._read(past.order_by(_MARKS.c.time_ms.desc()).limit(1))
        return newest[0].log_offset if newest else None


def conflict_digest(digest: str) -> str:
    """Return what stands for a partial's digest once another one contradicts it."""
    return blake2b(f"conflict {digest}".encode(), digest_size=16).hexdigest()


def mark_digest(feed: str, partition: int, time_ms: int, log_offset: int) -> bytes:
    """Return the checksum of a mark."""
    text = json.dumps([feed, partition, time_ms, log_offset])
    return blake2b(text.encode(), digest_size=8).digest()


def _whole(stored: bytes) -> NDArray[np.int64]:
    return np.frombuffer(stored, dtype="<i8").astype(np.int64)
