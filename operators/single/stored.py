"""States that an operator leaves to its next window, as bytes that the ledger keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from accountant.arguments import expect, instance_of
from accountant.errors import LedgerCorruptError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Layout", "read_state"]


class Layout(Protocol):
    """How a state is stored."""

    @property
    def version(self) -> int:
        """Of the layout."""
        ...


L = TypeVar("L", bound=Layout)
S = TypeVar("S")


def read_state(
    stored: bytes, layout: type[L], version: int, state: Callable[[L], S], *, what: str
) -> S:
    """Return a state that was stored.

    Args:
        stored: its bytes.
        layout: what they are.
        version: the one that is known.
        state: makes it; may raise a ``ValueError``.
        what: whose state it is, in words.

    Raises:
        LedgerCorruptError: these bytes are no state of a known version.
    """
    expect(instance_of(bytes), stored=stored)
    try:
        read = msgspec.msgpack.decode(stored, type=layout)
        if read.version == version:
            return state(read)
    except (msgspec.MsgspecError, ValueError):
        pass  # the cause would quote what was stored
    raise LedgerCorruptError(
        f"the stored state of {what} cannot be read",
        hint="restore a backup that this version or an older one wrote",
    )
