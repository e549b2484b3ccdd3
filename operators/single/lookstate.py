"""What the looks at a window leave to the next one, as the ledger keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from operators.single.stored import read_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LookState"]

_VERSION: Final = 1


@dataclass(frozen=True, slots=True, eq=False)
class LookState:
    """What the looks at a window leave to the next one. PRIVATE: it holds noise that is in use.

    Args:
        number: of the last step that was decided.
        rung: shape (cells,), bool: who is done.
        shared: what the looks at this window share.
    """

    number: int
    rung: NDArray[np.bool_]
    shared: NDArray[np.int64] = field(repr=False)

    def to_bytes(self) -> bytes:
        """Return the state for the ledger; equal states have equal bytes."""
        return msgspec.msgpack.encode(
            _Stored(
                version=_VERSION,
                number=self.number,
                cells=self.rung.size,
                rung=np.packbits(self.rung).tobytes(),
                shared=self.shared.astype("<i8", copy=False).tobytes(),
            )
        )

    @classmethod
    def from_bytes(cls, stored: bytes) -> LookState:
        """Return the state that was stored.

        Raises:
            LedgerCorruptError: these bytes are no state of a known version.
        """
        return read_state(stored, _Stored, _VERSION, cls._read, what="a window's looks")

    @classmethod
    def _read(cls, read: _Stored) -> LookState:
        rung = np.unpackbits(np.frombuffer(read.rung, np.uint8), count=read.cells)
        shared = np.frombuffer(read.shared, dtype="<i8").astype(np.int64)
        return cls(read.number, rung.astype(np.bool_), shared)


class _Stored(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    version: int
    number: int
    cells: int
    rung: bytes
    shared: bytes
