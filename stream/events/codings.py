"""What a codec is: how messages become rows, and rows messages.

The file ``NAME_events.py`` has the coding of the codec ``NAME``: all who read or write messages ask
for it here, and name none. A message that cannot be read is a row as well, of nothing but the
reason: so there is one way to drop a row, and one to count what was dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from stream.events.columns import GOOD, Drop, Parsed, verdict
from stream.events.values import column_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from stream.model.feeds import Codec, Feed, FieldType

    Parse: TypeAlias = Callable[[Sequence[bytes]], Iterator[Parsed]]

__all__ = ["Coding", "coding_of", "one_each", "pieces"]

_PIECE_BYTES = 1 << 26
_AT_ONCE = 4096  # their objects stay in the processor's cache, and their memory is used again


@dataclass(frozen=True, slots=True)
class Coding:
    """How messages of a codec are read and written.

    Args:
        parser: returns, for a feed, what yields the rows of messages, some at a time: a message
            that cannot be read is one row.
        write: yields the messages that hold rows, in their order.
        single: whether a message is one row.
    """

    parser: Callable[[Feed], Parse]
    write: Callable[[pa.RecordBatch], Iterator[bytes]]
    single: bool


def coding_of(codec: Codec) -> Coding:
    """Return how messages of a codec are read and written."""
    found: Coding = import_module(f"{__package__}.{codec.value}_events").CODING
    return found


def one_each(
    messages: Sequence[bytes],
    decode: Callable[[bytes], Any],
    columns: Sequence[tuple[Callable[[Any], Any], FieldType]],
    nothing: Any,
) -> Iterator[Parsed]:
    """Yield the rows of messages of which each is one, some at a time.

    Args:
        messages: in order.
        decode: returns what a message holds. It raises a ``msgspec.ValidationError`` where a field
            is not of its type, and anything else where the message cannot be read.
        columns: of each field its value in what ``decode`` returns, and its type.
        nothing: stands for a message that is refused; all its values are ``None``.
    """
    left = iter(messages)
    part = np.arange(len(messages)) // _AT_ONCE
    if sum(map(len, messages)) > _PIECE_BYTES:
        part += np.cumsum(list(map(len, messages))) // _PIECE_BYTES
    edges = np.flatnonzero(np.diff(part)) + 1
    for start, stop in pairwise((0, *edges.tolist(), len(messages))):
        verdicts = np.full(stop - start, GOOD, np.uint8)
        found = _decoded(decode, islice(left, stop - start), nothing, verdicts)
        values = (column_of(list(map(of, found)), kind) for of, kind in columns)
        yield Parsed(tuple(values), verdicts, np.arange(start, stop))


def pieces(parts: Iterable[Parsed], feed: Feed) -> Iterator[Parsed]:
    """Join rows to pieces of bounded size; at least one comes.

    Args:
        parts: rows in order, each part of bounded size.
        feed: whose rows they are.
    """
    held: list[Parsed] = []
    size = 0
    for part in parts:
        more = sum(column.nbytes for column in part.columns)
        if held and size + more > _PIECE_BYTES:
            yield Parsed.joined(held, feed)
            held, size = [], 0
        held.append(part)
        size += more
    yield Parsed.joined(held, feed)


def _decoded(
    decode: Callable[[bytes], Any],
    messages: Iterator[bytes],
    nothing: Any,
    verdicts: NDArray[np.uint8],
) -> list[Any]:
    """Return what the messages hold; those that are refused get their verdict."""
    found: list[Any] = []
    while True:  # goes round again after every message that is refused
        try:
            # What came before a message that raises stays in the list.
            found.extend(map(decode, messages))
        except msgspec.ValidationError:
            drop = Drop.WRONG_TYPE
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 (total: whatever these bytes provoke is about them)
            drop = Drop.UNDECODABLE
        else:
            return found
        verdicts[len(found)] = verdict(drop)
        found.append(nothing)
