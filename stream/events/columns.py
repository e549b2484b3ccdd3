"""Declared columns, and why a row of them is dropped.

Both codecs and the file readers end here: columns of the declared types, null where a field is
absent, and for every row one verdict. A verdict is a function of that row alone, whatever its
neighbours look like (promise 1), and it never carries a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.model.feeds import FieldType, required_fields
from stream.windows.instants import TIME_END_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.model.feeds import Feed

__all__ = [
    "GOOD",
    "MAX_STRING_BYTES",
    "Drop",
    "Parsed",
    "arrow_type",
    "count",
    "declared_schema",
    "examine",
    "reject",
    "verdict",
]

MAX_STRING_BYTES = 1024
"""A row with a longer declared string is a bad row: nothing that names a person is longer, and a
dictionary-encoded column could otherwise spell one long string out millions of times."""

GOOD = 255
"""Verdict of a row that stays; smaller numbers index ``Drop``."""

_ARROW_TYPES = {
    FieldType.STRING: pa.string(),
    FieldType.INTEGER: pa.int64(),
    FieldType.FLOAT: pa.float64(),
    FieldType.BOOLEAN: pa.bool_(),
    FieldType.TIMESTAMP: pa.int64(),
}


class Drop(StrEnum):
    """Why an event is dropped; where several apply, the first of this list is named."""

    CREATE_TIME = "create_time"
    """Its timestamp was set by the producer, not by the broker."""
    UNDECODABLE = "undecodable"
    """The message cannot be read at all, or holds text that is not UTF-8."""
    UNMARKED = "unmarked"
    """More records than can be kept precede the first mark of a punctuated feed."""
    WRONG_TYPE = "wrong_type"
    """A field is not of its declared type, or does not fit it."""
    TOO_LONG = "too_long"
    """A string is longer than ``MAX_STRING_BYTES``."""
    NOT_FINITE = "not_finite"
    """A float is NaN or infinite."""
    MISSING_FIELD = "missing_field"
    """The event time, the privacy unit or the declared id is absent or null."""
    BAD_TIME = "bad_time"
    """The event time lies outside ``[0, TIME_END_MS)``."""
    MISROUTED = "misrouted"
    """The unit belongs to another partition."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Rows as a codec or a file left them, and where they come from.

    Args:
        columns: one array per declared field, in order and of its declared type.
        verdicts: shape (rows,), uint8: ``GOOD`` or the number of a ``Drop``.
        message: shape (rows,), int64: the position of each one's message or line among those that
            were given, not decreasing.
    """

    columns: tuple[pa.Array, ...]
    verdicts: NDArray[np.uint8]
    message: NDArray[np.int64]

    @staticmethod
    def refused(feed: Feed, drop: Drop, *message: int) -> Parsed:
        """Return the rows that stand for messages that cannot be read: of nothing but a reason."""
        rows = len(message)
        return Parsed(
            tuple(pa.nulls(rows, field_type) for field_type in declared_schema(feed).types),
            np.full(rows, verdict(drop), np.uint8),
            np.array(message, np.int64),
        )

    @staticmethod
    def joined(parts: Sequence[Parsed], feed: Feed) -> Parsed:
        """Return the rows of all parts, in order."""
        if not parts:
            return Parsed.refused(feed, Drop.UNDECODABLE)  # of no message
        if len(parts) == 1:
            return parts[0]
        columns = zip(*(part.columns for part in parts), strict=True)
        return Parsed(
            tuple(map(pa.concat_arrays, columns)),
            np.concatenate([part.verdicts for part in parts]),
            np.concatenate([part.message for part in parts]),
        )

    def good(self) -> Parsed:
        """Return the rows that stay."""
        good = self.verdicts == GOOD
        if good.all():
            return self
        mask = pa.array(good)
        columns = tuple(column.filter(mask) for column in self.columns)
        return Parsed(columns, self.verdicts[good], self.message[good])

    def count_drops(self, drops: dict[str, int]) -> None:
        """Add the number of rows dropped, by reason, to ``drops``."""
        counts = np.bincount(self.verdicts, minlength=GOOD + 1)
        for number, drop in enumerate(Drop):
            count(drops, drop, int(counts[number]))


def count(drops: dict[str, int], drop: Drop, number: int) -> None:
    """Add to what was dropped for a reason; nothing is no entry."""
    if number:
        drops[drop.value] = drops.get(drop.value, 0) + number


def arrow_type(kind: FieldType) -> pa.DataType:
    """Return the Arrow type that a declared type is kept in (timestamps as int64 ms)."""
    return _ARROW_TYPES[kind]


def declared_schema(feed: Feed) -> pa.Schema:
    """Return the schema of decoded rows: the declared fields, in order."""
    return pa.schema([(field.name, arrow_type(field.type)) for field in feed.fields.values()])


def verdict(drop: Drop) -> int:
    """Return the number of a reason in ``Parsed.verdicts``."""
    return _NUMBERS[drop]


def reject(verdicts: NDArray[np.uint8], rows: pa.BooleanArray, drop: Drop) -> None:
    """Give the rows where ``rows`` is true (null is not) a verdict, unless they have an earlier.

    Args:
        verdicts: shape (n,), as in ``Parsed``; they are updated in place.
        rows: of length n.
        drop: the reason.
    """
    if rows.true_count:
        chosen = pc.fill_null(rows, False).to_numpy(zero_copy_only=False)
        np.minimum(verdicts, np.uint8(verdict(drop)), out=verdicts, where=chosen)


def examine(parsed: Parsed, feed: Feed) -> None:
    """Judge every row by what both codecs share; the verdicts are updated in place."""
    verdicts, required = parsed.verdicts, required_fields(feed)
    for field, column in zip(feed.fields.values(), parsed.columns, strict=True):
        if field.type is FieldType.STRING:
            lengths = pc.binary_length(column)
            if (pc.max(lengths).as_py() or 0) > MAX_STRING_BYTES:
                reject(verdicts, pc.greater(lengths, MAX_STRING_BYTES), Drop.TOO_LONG)
        elif field.type is FieldType.FLOAT:
            reject(verdicts, pc.invert(pc.is_finite(column)), Drop.NOT_FINITE)
        if field.name in required and column.null_count:
            reject(verdicts, column.is_null(), Drop.MISSING_FIELD)
        if field.name == feed.time:
            least, most = (bound.as_py() or 0 for bound in pc.min_max(column).values())
            if least < 0 or most >= TIME_END_MS:
                late = pc.greater_equal(column, TIME_END_MS)
                reject(verdicts, pc.or_(pc.less(column, 0), late), Drop.BAD_TIME)


_NUMBERS = {drop: number for number, drop in enumerate(Drop)}
