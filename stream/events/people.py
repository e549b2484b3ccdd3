"""Privacy units by their texts: each hashed and routed when it is first met, not in every batch.

Most events are of people who were met before. What is remembered here only saves work: a unit's
hash and partition are functions of its text, texts are compared exactly, and one that was forgotten
is worked out again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stream.events.grouping import numbered
from stream.events.hashing import KeyedHash
from stream.events.partitioning import partitions_of
from stream.events.texts import SHORT_BYTES, Lexicon, Texts, words_of
from stream.events.units import Roster, Units

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from stream.model.feeds import Partitioner

__all__ = ["People"]

_MOST: Final = 1 << 17
"""Units that are remembered between batches, up to 100 bytes each, before all are forgotten."""


class People:
    """The privacy units of one reader.

    Args:
        hash_key: 16 to 64 secret bytes; the same wherever units are compared.
        partitioner: the declared hash of the topic's keys.
        partitions: of the topic.

    Raises:
        ValueError: the key is too short.
    """

    def __init__(self, hash_key: bytes, *, partitioner: Partitioner, partitions: int) -> None:
        """Begin with nobody."""
        self._hash = KeyedHash(hash_key, purpose=b"tocsin.unit")
        self._slot_key = hash_key
        self._partitioner = partitioner
        self._partitions = partitions
        self._forget(0)

    def units(self, column: pa.Array) -> tuple[Units, NDArray[np.int64]]:
        """Return the unit of each row, and by a unit's number the partition of its events.

        Args:
            column: the units' texts, a ``string`` array without nulls.
        """
        texts = Texts.of(column)
        if texts.most > SHORT_BYTES:
            encoded = column.dictionary_encode()
            number = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            different = Texts.of(encoded.dictionary)
            return Units(number, Roster(self._hash(different))), self._route(different)
        if texts.most > self._lexicon.longest:
            self._forget(texts.most)
        number = self._lexicon.find(texts)
        rows = np.flatnonzero(number < 0)
        if len(rows):
            new = texts[rows]
            each, first = numbered(*(new.padded(word) for word in range(words_of(new.most))))
            number[rows] = each + len(self._lexicon)
            self._remember(new[first])
        met = Units(number, self._roster), self._home
        if len(self._lexicon) > _MOST:
            self._forget(0)
        return met

    def _forget(self, longest: int) -> None:
        """Begin anew, with texts of up to so many bytes; rows that were handed out stay good."""
        self._lexicon = Lexicon(self._slot_key, longest)
        self._roster = Roster()
        self._home = np.zeros(0, np.int64)

    def _remember(self, texts: Texts) -> None:
        """Add texts that are different from one another and from all that are known."""
        self._lexicon.add(texts)
        self._roster.extend(self._hash(texts))
        self._home = np.concatenate([self._home, self._route(texts)])

    def _route(self, texts: Texts) -> NDArray[np.int64]:
        return partitions_of(texts, self._partitioner, self._partitions)
