"""What a custodian changes in a ledger: decisions of other timelines, charges of the past."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from accountant.charging import adoption, compaction, vouching
from accountant.ledger.access import registered_scope
from accountant.ledger.journal import note
from accountant.ledger.sweeping import seldom_swept
from accountant.store.tables.journal import CLOCK_SET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.costs.charges import WindowKey
    from accountant.ledger.access import Access
    from accountant.records import SeenDecision
    from accountant.store.store import Store

__all__ = ["Upkeep", "give_back", "pause"]

PAUSE_S: Final = 0.11
"""Between two steps. Who waits for SQLite's lock looks for it every tenth of a second at worst."""

SERVER_PAUSE_S: Final = 0.02
"""The same where a server wakes who waits as soon as the lock is free."""

_STEP_PAGES: Final = 4_000
"""Pages that one step gives back: 16 MB, in half a second at worst."""

_NOTHING: Final = compaction.Step(charges=0, last=True)


class Upkeep:
    """Adopts and compacts."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._store = access.store

    def unknown_decisions(self, seen: Sequence[SeenDecision]) -> list[SeenDecision]:
        """Return released decisions that this ledger lacks or holds differently.

        Any of them means that this ledger was restored from an older copy, that two copies run, or
        that another ledger wrote to the topic.
        """
        with self._store.read() as tx:
            return adoption.unknown(tx, seen, ledger_id=self._access.ledger_id)

    def adopted(self, key: WindowKey) -> bool:
        """Tell whether another timeline's decision of a window was taken over as spent."""
        with self._store.read() as tx:
            return tx.adopted.of(key) is not None

    def last_decided_ms(self) -> int | None:
        """Return when the ledger decided last, by its clock; ``None`` where it never did."""
        with self._store.read() as tx:
            return tx.decisions.last_decided_ms()

    def set_clock(self) -> tuple[int, int]:
        """Put the mark of time at the clock's, where a clock that ran ahead had taken it along.

        Nothing is drawn again: what was decided stays decided, and cursors stay. The journal keeps
        how often that was done, and when last.

        Returns:
            Where the mark stood, and where it stands, in milliseconds.
        """
        with self._store.write() as tx:
            with vouching.changing(tx):
                before_ms, now_ms = tx.ledger(lock=True).clock_ms, self._access.clock_ms()
                tx.identity.change({"id": 1}, clock_ms=now_ms)
                note(tx, CLOCK_SET, now_ms)
            return before_ms, now_ms

    def mark_spent(self, seen: Sequence[SeenDecision]) -> int:
        """Take released decisions over as spent, and return how many were new.

        Their cost is charged beside anything this ledger charged itself, their windows are never
        drawn again, and the numbers of their queries go on behind them. Reservations of older
        windows of the same queries count as spent too: nobody knows what became of them.
        """
        with self._store.write() as tx:
            drawn_on = {one.scope for one in seen}
            beside = {row.query for row in tx.queries.all() if row.scope in drawn_on}
            names = sorted({one.query for one in seen} | beside)
            rows = [tx.queries.get("update", query=name) for name in names]
            queries = {row.query: row for row in rows if row is not None}
            budgets = {one.scope for one in seen} | {row.scope for row in queries.values()}
            # All of them, in their order: what follows may change what every budget rests on.
            every = sorted(budgets | {row.scope for row in tx.scopes.all()})
            locked = {name: registered_scope(tx, name, lock=True) for name in every}
            scopes = {name: locked[name] for name in sorted(budgets)}
            fresh = adoption.unknown(tx, seen, ledger_id=self._access.ledger_id)
            if fresh:
                with vouching.changing(tx):
                    adoption.adopt(
                        tx,
                        fresh,
                        scopes=scopes,
                        queries=queries,
                        ledger_id=self._access.ledger_id,
                        now_ms=self._access.tick(tx),
                    )
            return len(fresh)

    def compact(self, scope: str, before_ms: int) -> int:
        """Delete charges of the past, keeping what they left behind; return how many.

        No answer, total or status changes; see :mod:`accountant.charging.compaction` for what
        stays. Others go on meanwhile. It may be killed at any instant and called again. The space
        that they took is given back to the disk where it can be.
        """
        with self._store.read() as tx:
            goes = compaction.anything_goes(tx, registered_scope(tx, scope), before_ms)
        gone = 0
        with seldom_swept():
            while True:
                with self._store.write() as tx:
                    locked = registered_scope(tx, scope, lock=True)
                    step = compaction.step(tx, locked, before_ms) if goes else _NOTHING
                    self._access.tick(tx)
                gone += step.charges
                if step.last:
                    break
                pause(self._store)
        give_back(self._store)
        return gone


def give_back(store: Store) -> None:
    """Give space that is free in a ledger back to the disk, in short transactions."""
    while store.give_back(_STEP_PAGES):
        pause(store)


def pause(store: Store) -> None:
    """Let those go on who wait for a ledger while many transactions follow each other."""
    time.sleep(SERVER_PAUSE_S if store.file is None else PAUSE_S)
