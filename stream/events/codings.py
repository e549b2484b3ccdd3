"""What a codec is: how messages become rows, and rows messages.

The file ``NAME_events.py`` has the coding of the codec ``NAME``: all who read or write messages ask
for it here, and name none.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from stream.events.columns import Drop, Parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from stream.model.feeds import Codec, Feed

    _Reads: TypeAlias = Callable[[Sequence[bytes], dict[str, int], float], Iterator["Rows"]]

__all__ = ["Coding", "Rows", "UnsuitableMessageError", "coding_of", "count", "many", "single"]


class UnsuitableMessageError(Exception):
    """The message as a whole is not what the feed declares; the text names no value."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as a codec left them, and where they come from.

    Args:
        parsed: the rows.
        message: shape (m,), positions of messages, ascending.
        count: shape (m,), how many of the rows come from each.
    """

    parsed: Parsed
    message: NDArray[np.int64]
    count: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Coding:
    """How messages of a codec are read and written.

    Args:
        rows: returns, for a feed, what yields the rows of messages, those of so many bytes at a
            time, and counts the messages that cannot be read (:func:`single`, :func:`many`).
        write: yields the messages that hold rows, in their order.
        single: whether a message is one row.
    """

    rows: Callable[[Feed], _Reads]
    write: Callable[[pa.RecordBatch], Iterator[bytes]]
    single: bool


def coding_of(codec: Codec) -> Coding:
    """Return how messages of a codec are read and written."""
    found: Coding = import_module(f"{__package__}.{codec.value}_events").CODING
    return found


def single(parse: Callable[[Sequence[bytes]], tuple[Parsed, dict[int, Drop]]]) -> _Reads:
    """Return how messages are read of which each is one row.

    Args:
        parse: returns the rows of the messages that could be read, in order, and the reason for
            each of the others by its position.
    """

    def read(values: Sequence[bytes], drops: dict[str, int], limit: float) -> Iterator[Rows]:
        start = held = 0
        sizes = list(map(len, values))
        if sum(sizes) <= limit:
            sizes = []  # nothing to cut
        for at, size in enumerate(sizes):
            if held + size > limit and at > start:
                yield between(values, start, at, drops)
                start, held = at, 0
            held += size
        yield between(values, start, len(values), drops)

    def between(values: Sequence[bytes], start: int, stop: int, drops: dict[str, int]) -> Rows:
        whole = stop - start == len(values)
        parsed, bad = parse(values if whole else values[start:stop])
        counts = np.ones(stop - start, dtype=np.int64)
        for at, drop in bad.items():
            counts[at] = 0
            count(drops, drop)
        return Rows(parsed, np.arange(start, stop), counts)

    return read


def many(parse: Callable[[bytes], Iterable[Parsed]], feed: Feed) -> _Reads:
    """Return how messages are read that hold any number of rows.

    Args:
        parse: yields the rows of a message, a slice of bounded size at a time; one that is refused
            raises an ``UnsuitableMessageError`` before.
        feed: whose rows they are.
    """

    def read(values: Sequence[bytes], drops: dict[str, int], limit: float) -> Iterator[Rows]:
        parts: list[tuple[int, Parsed]] = []
        held = 0
        for at, value in enumerate(values):
            try:
                for part in parse(value):
                    size = sum(column.nbytes for column in part.columns)
                    if held + size > limit and parts:
                        yield joined(parts)
                        parts, held = [], 0
                    parts.append((at, part))
                    held += size
            except UnsuitableMessageError:
                count(drops, Drop.UNDECODABLE)
        yield joined(parts)

    def joined(parts: Sequence[tuple[int, Parsed]]) -> Rows:
        return Rows(
            Parsed.concatenated((part for _, part in parts), feed),
            np.array([at for at, _ in parts], np.int64),
            np.array([len(part.verdicts) for _, part in parts], np.int64),
        )

    return read


def count(drops: dict[str, int], drop: Drop, number: int = 1) -> None:
    """Add to what was dropped for a reason."""
    drops[drop.value] = drops.get(drop.value, 0) + number
