"""What befell those who work with a ledger, counted: starts, and what stopped them.

Nothing is decided by it. It is kept where it outlives a process, so that the next one can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accountant.errors import ClockError
from accountant.store.transaction import CLOCK

if TYPE_CHECKING:
    from accountant.ledger.door import Door

__all__ = ["CLOCK_SET", "START", "Happened", "Journal"]

START: Final = "start"
"""A worker started; every further name is the kind of an error that stopped one."""

CLOCK_SET: Final = "clock_set"
"""The custodian set the mark of time."""

_HAPPENED: Final = "happened/"


@dataclass(frozen=True, slots=True)
class Happened:
    """How often something happened, and when last.

    Args:
        times: since the ledger was made.
        last_ms: by the clock as it stood then, right or wrong.
    """

    times: int
    last_ms: int


class Journal:
    """Counts what befell those who work with a ledger, where it outlives them."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def note(self, name: str) -> None:
        """Count something once more.

        Also where the ledger refuses everything else, as when the clock went back: that is what
        there is to note.

        Args:
            name: one word; never anything of an event.

        Raises:
            DependencyError: the database cannot be reached.
        """
        with self._door.write() as writing:
            counters = writing.tx.counters
            try:
                now_ms = self._door.clock_ms()
            except ClockError:  # not to be believed: the last time the ledger saw
                now_ms = counters.of(CLOCK)[0]
            counters.count(_HAPPENED + name, now_ms)

    def entries(self) -> dict[str, Happened]:
        """Return everything that happened, by name."""
        with self._door.read() as (tx, state):
            found = {name: Happened(*one) for name, one in tx.counters.named(_HAPPENED).items()}
            if state.clock_set_ms is not None:
                found[CLOCK_SET] = Happened(state.clock_sets, state.clock_set_ms)
            return found
