"""Records of a partition as they lie in the log, one by one or column by column."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import chain, compress
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["Headers", "Record", "Records"]

Headers: TypeAlias = "Sequence[tuple[str, bytes | None]]"
"""Of one record, in order."""


class Record(NamedTuple):
    """One record of a partition.

    Args:
        offset: its place in the log.
        timestamp_ms: its timestamp.
        log_append: whether the broker set the timestamp (``LogAppendTime``).
        value: its value; ``None`` for a tombstone.
        headers: its headers, in order; they play no part in decoding.
    """

    offset: int
    timestamp_ms: int
    log_append: bool
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Records:
    """Records of one partition in log order, column by column: no object is made for any of them.

    Args:
        offset: shape (n,), int64.
        timestamp_ms: shape (n,), int64.
        log_append: shape (n,), bool.
        value: n values.
        headers: n times the headers of a record.
    """

    offset: NDArray[np.int64]
    timestamp_ms: NDArray[np.int64]
    log_append: NDArray[np.bool_]
    value: list[bytes | None]
    headers: list[Headers]

    @staticmethod
    def of(records: Sequence[Record] | Records) -> Records:
        """Return records as columns."""
        if isinstance(records, Records):
            return records
        return Records(
            np.array([record.offset for record in records], np.int64),
            np.array([record.timestamp_ms for record in records], np.int64),
            np.array([record.log_append for record in records], np.bool_),
            [record.value for record in records],
            [record.headers for record in records],
        )

    @staticmethod
    def joined(parts: Sequence[Records]) -> Records:
        """Return the records of one or more parts, in order."""
        if len(parts) == 1:
            return parts[0]
        columns = ([getattr(part, each.name) for part in parts] for each in fields(Records))
        return Records(*map(_joined, columns))

    def __len__(self) -> int:
        """Number of records."""
        return len(self.value)

    def between(self, start: int, stop: int) -> Records:
        """Return the records at positions ``[start, stop)``."""
        return self._each(itemgetter(slice(start, stop)))

    def where(self, mask: NDArray[np.bool_]) -> Records:
        """Return the records where a mask of shape (n,) is true."""
        if mask.all():
            return self
        chosen = mask.tolist()
        return self._each(
            lambda column: (
                column[mask] if isinstance(column, np.ndarray) else list(compress(column, chosen))
            )
        )

    def _each(self, chosen: Callable[[Any], Any]) -> Records:
        return Records(*(chosen(getattr(self, each.name)) for each in fields(self)))


def _joined(columns: Sequence[Any]) -> Any:
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return list(chain.from_iterable(columns))
