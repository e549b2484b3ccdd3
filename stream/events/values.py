"""Values that come row by row, from JSON or CSV, and the declared columns that they become.

A value is judged by itself. JSON has to have the declared type; a cell of CSV is a text, read as
the type: numbers as JSON writes them, ``true``, ``false``, 1 or 0, any text, and times as in JSON.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from stream.events.columns import arrow_type
from stream.model.feeds import FieldType
from stream.windows.localtime import EPOCH, MILLISECOND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["VALUE_TYPES", "column_of", "convert"]

_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
VALUE_TYPES: Final[Mapping[FieldType, Any]] = {
    FieldType.STRING: str | None,
    FieldType.INTEGER: _INT64 | None,
    FieldType.FLOAT: float | None,
    FieldType.BOOLEAN: bool | None,
    FieldType.TIMESTAMP: _INT64 | datetime | None,
}
"""What msgspec reads a declared type as; ``None`` is of every type."""

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,18})", re.ASCII)


def convert(value: object, kind: FieldType, *, text: bool = False) -> Any:
    """Return a value of a row as a declared type has it.

    Args:
        value: as JSON holds it, or a cell of CSV.
        kind: the type.
        text: whether it is a cell of CSV.

    Raises:
        msgspec.ValidationError: it is not of the type.
    """
    if text and kind in {FieldType.INTEGER, FieldType.TIMESTAMP} and isinstance(value, str):
        # msgspec goes by way of floats, and takes a time with a fraction for seconds.
        value, text = int(value) if _WHOLE.fullmatch(value) else value, False
    found = msgspec.convert(value, VALUE_TYPES[kind], strict=not text)
    if found is None and value is not None:
        raise msgspec.ValidationError("null is a word of JSON, and no value of a cell")
    return found


def column_of(values: Sequence[Any], kind: FieldType) -> pa.Array:
    """Return converted values as a column of the declared type."""
    if kind in {FieldType.INTEGER, FieldType.TIMESTAMP}:
        # Twice as fast where none is null or a date: nothing else that is no number was let in.
        with suppress(TypeError):
            return pa.array(np.fromiter(values, np.int64, len(values)))
        values = [_epoch_ms(value) if isinstance(value, datetime) else value for value in values]
    return pa.array(values, arrow_type(kind))


def _epoch_ms(moment: datetime) -> int:
    """Return the milliseconds since the epoch, rounded down; naive times are UTC."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // MILLISECOND
