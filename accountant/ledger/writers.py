"""The processes that release from a ledger, counted: a copy lacks what came after it was made.

Every process that releases has a name of its own, drawn at random, and a count of releases. It is
raised in the ledger first, then said outside (:mod:`stream.kafka.witness`), and only then does
anything leave. So whatever was said outside, the ledger it left from knows; another copy of it, or
the same one put back, does not, from the first release after they parted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accountant.ledger.door import Door

__all__ = ["Writers"]

_RELEASES: Final = "releases/"


class Writers:
    """Counts releases. Nothing is charged here."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def release(self, writer: str) -> tuple[int, dict[str, int]]:
        """Count one release more of a process.

        Args:
            writer: its name, which no other process has.

        Returns:
            How many there were, and the number of the last decision of every query: whoever knows
            of the release knows of these, and it may take no later ones along.

        Raises:
            ClockError: the clock went back.
        """
        with self._door.write() as writing:
            releases = writing.tx.counters.count(_RELEASES + writer, writing.tick())
            queries, numbers = writing.state.queries.values(), dict(writing.state.numbers)
            numbers |= {one.query: one.sequence for one in queries if one.sequence}
            return releases, numbers

    def unknown(self, said: Mapping[str, int]) -> list[str]:
        """Return the processes that released more than this ledger knows of, sorted.

        Args:
            said: releases by process, as they were said outside.
        """
        with self._door.store.read() as tx:
            known = tx.counters.named(_RELEASES)
        return sorted(name for name, many in said.items() if many > known.get(name, (0, 0))[0])

    def take_over(self, said: Mapping[str, int]) -> None:
        """Take releases as known: what they released has been charged.

        Args:
            said: releases by process.
        """
        with self._door.write() as writing:
            now_ms, counters = writing.tick(), writing.tx.counters
            for name, releases in sorted(said.items()):
                if releases > counters.of(_RELEASES + name)[0]:
                    counters.put(_RELEASES + name, releases, now_ms)
