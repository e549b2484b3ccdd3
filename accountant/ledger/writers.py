"""The processes that release from a ledger, counted: a copy lacks what came after it was made.

Every process that releases has a name of its own, drawn at random, and a count of releases. It is
raised in the ledger first, then said outside (:mod:`stream.kafka.witness`), and only then does
anything leave. So whatever was said outside, the ledger it left from knows; another copy of it, or
the same one put back, does not, from the first release after they parted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.store.tables.writers import WriterRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accountant.ledger.access import Access

__all__ = ["Writers"]


class Writers:
    """Counts releases. Nothing is charged here."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._store = access.store

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
        with self._store.write() as tx:
            tx.writers.add_up([WriterRow(writer, 1, self._access.tick(tx))], "releases")
            row = tx.writers.get(writer=writer)
            return (0 if row is None else row.releases), tx.sequences.last()

    def unknown(self, said: Mapping[str, int]) -> list[str]:
        """Return the processes that released more than this ledger knows of, sorted.

        Args:
            said: releases by process, as they were said outside.
        """
        with self._store.read() as tx:
            known = {name: tx.writers.get(writer=name) for name in said}
        return sorted(
            name for name, row in known.items() if said[name] > (0 if row is None else row.releases)
        )

    def take_over(self, said: Mapping[str, int]) -> None:
        """Take releases as known: what they released has been charged.

        Args:
            said: releases by process.
        """
        with self._store.write() as tx:
            now_ms = self._access.tick(tx)
            for name, releases in sorted(said.items()):
                known = tx.writers.get("update", writer=name)
                more = releases - (0 if known is None else known.releases)
                if more > 0:
                    tx.writers.add_up([WriterRow(name, more, now_ms)], "releases")
