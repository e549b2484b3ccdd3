"""Which rows pass a filter, by SQL's three-valued logic.

A comparison with a null is unknown, ``NOT`` keeps unknown, ``AND`` and ``OR`` are Kleene's; a row
passes only where the whole expression is true. Every operation is total per row: strings are
compared as bytes (which orders UTF-8 by code point) and never decoded, so no event can make the
filter fail for the others.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from operators.conditions.comparison import Comparison
from stream.events.columns import arrow_type
from stream.model.feeds import FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream.model.filters import Where

__all__ = ["passing"]

_COMPARE: Final[Mapping[Comparison, Any]] = {
    Comparison.EQ: pc.equal,
    Comparison.NE: pc.not_equal,
    Comparison.LT: pc.less,
    Comparison.LE: pc.less_equal,
    Comparison.GT: pc.greater,
    Comparison.GE: pc.greater_equal,
}


def passing(where: Where, rows: pa.RecordBatch) -> NDArray[np.bool_]:
    """Return which rows pass a filter.

    Args:
        where: the filter.
        rows: declared fields as columns of their declared types, nulls allowed.

    Returns:
        Shape (rows,), true where the filter is true; unknown is not true.
    """
    known = pc.fill_null(_truth(where, rows), False)
    return np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _truth(where: Where, rows: pa.RecordBatch) -> Any:
    """Return the three-valued outcome per row, null where unknown."""
    match where:
        case Compare(field, kind, comparison, value):
            return _COMPARE[comparison](_column(rows, field), pa.scalar(value, arrow_type(kind)))
        case IsIn(field, kind, values):
            if kind is FieldType.FLOAT:
                # A hash tells 0.0 from -0.0; equality does not.
                values += tuple(-value for value in values if value == 0)
            column = _column(rows, field)
            found = pc.is_in(column, value_set=pa.array(values, arrow_type(kind)))
            return pc.if_else(pc.is_valid(column), found, pa.scalar(None, pa.bool_()))
        case IsNull(field):
            return pc.is_null(_column(rows, field))
        case Not(part):
            return pc.invert(_truth(part, rows))
        case And(parts):
            return reduce(pc.and_kleene, [_truth(part, rows) for part in parts])
        case Or(parts):
            return reduce(pc.or_kleene, [_truth(part, rows) for part in parts])
    raise TypeError(f"no filter: {type(where).__name__}")


def _column(rows: pa.RecordBatch, name: str) -> Any:
    """Return a column by name (names are unique: the schema is the feed's declaration)."""
    return rows.column(rows.schema.get_field_index(name))
