"""When feeds get more partitions: announced first, made then, and done when every sensor knows.

The custodian's command may be killed at any step and is run again; each step here may be called
again and changes nothing then. What was announced is never taken back: windows that were denied for
it are decided by nobody.

Workers learn of it as they learn of everything, from the ledger. One that has not yet cannot spoil
a window: what it counted is refused (:meth:`accountant.ledger.counts.Counts.put_partial`), and it
looks again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from accountant.errors import LedgerError, LogChangedError
from accountant.layouts import Growth
from accountant.log.entries import Grown
from accountant.records import Outcome
from accountant.rules.refusals import utc_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accountant.layouts import Layouts
    from accountant.ledger.door import Door
    from accountant.log.state import State
    from accountant.store.transaction import Transaction

__all__ = ["Growths"]

_LAST_MS: Final = (1 << 63) - 1


class Growths:
    """Keeps how many partitions feeds have, and since when. Nothing is charged here."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def layouts(self) -> dict[str, Layouts]:
        """Return how many partitions every registered feed has had, by its name."""
        with self._door.state() as state:
            return {feed: state.layouts(feed) for feed in sorted(state.logs)}

    def of(self, feed: str) -> Layouts:
        """Return how many partitions a feed has had.

        Raises:
            LogChangedError: it is not registered.
        """
        with self._door.state() as state:
            return _registered(state, feed)

    def refuse_unfit(self, feed: str, partitions: int) -> None:
        """Refuse what ``announce`` would refuse whenever it begins, before anything is written.

        Raises:
            LogChangedError, LedgerError: as ``announce``.
        """
        with self._door.state() as state:
            _refuse_unfit(feed, partitions, _registered(state, feed))

    def announce(
        self, feed: str, partitions: int, *, from_ms: int | None, first_starts: Mapping[str, int]
    ) -> Growth:
        """Say that a feed is about to have more partitions; idempotent until that is done.

        Call it before the partitions are made. From then on no count is taken of anybody who does
        not know of it, so that none is taken of a window with records of before and after.

        Args:
            feed: its name.
            partitions: of its topic afterwards.
            from_ms: no partition is made before this instant. ``None`` where they are there
                already, since nobody knows when: every window that is undecided may have records of
                before and after then.
            first_starts: by query that is counted on the feed, the start of its first window that
                can take a record appended at ``from_ms`` or later.

        Raises:
            LogChangedError: the feed is not registered.
            LedgerError: it has as many, another growth is not over, or one of the windows named was
                counted or decided already.
        """
        with self._door.write() as writing:  # nobody who stores a count is on the way unseen
            known = _registered(writing.state, feed)
            if known.unfinished is not None and known.newest == partitions:
                return known.unfinished
            _refuse_unfit(feed, partitions, known)
            over_ms = known.growths[-1].until_ms if known.growths else None
            if from_ms is None:
                from_ms = over_ms or 0
            elif over_ms is not None and from_ms < over_ms:
                raise LedgerError(
                    f"feed {feed!r} is still being extended to {known.newest} partitions",
                    hint=f"choose a time from {utc_text(over_ms)} on",
                )
            else:
                _refuse_begun(writing.tx, first_starts)
            growth = Growth(
                feed=feed,
                partitions=partitions,
                before=known.newest,
                from_ms=from_ms,
                until_ms=None,
                announced_ms=writing.tick(),
            )
            writing.append(Grown(growth))
            return growth

    def conclude(self, feed: str, partitions: int, *, until_ms: int) -> Growth:
        """Say that the partitions are there, and from when on every record is routed over them.

        The first such instant stays, should this be called again.

        Args:
            feed: its name.
            partitions: as they were announced.
            until_ms: by then every sensor knows of them; after now, and after the growth began.

        Raises:
            LedgerError: it was not announced, or the instant has passed.
        """
        with self._door.write() as writing:
            known = writing.state.growths.get(feed, ())
            growth = next((one for one in known if one.partitions == partitions), None)
            if growth is None:
                raise LedgerError(
                    f"no extension of feed {feed!r} to {partitions} partitions was announced",
                    hint=f"run `tocsin topics add-partitions FILE {feed} --partitions "
                    f"{partitions}`",
                )
            if growth.until_ms is not None:
                return growth
            # Windows that have ended by now were denied; the instant divides those that have not.
            if until_ms <= max(writing.tick(), growth.from_ms):
                raise LedgerError(
                    f"the time at which feed {feed!r} uses its new partitions has passed already",
                    hint="run the command again; it waits for them",
                )
            over = replace(growth, until_ms=until_ms)
            writing.append(Grown(over))
            return over


def _registered(state: State, feed: str) -> Layouts:
    if feed not in state.logs:
        raise LogChangedError(
            f"no worker has read feed {feed!r} with this ledger",
            hint="add partitions with Kafka's own tools, then start the workers",
        )
    return state.layouts(feed)


def _refuse_unfit(feed: str, partitions: int, known: Layouts) -> None:
    """Refuse a second growth beside one that is not done, and one to no more than there are."""
    if known.unfinished is not None:
        raise LedgerError(
            f"feed {feed!r} is already being extended to {known.newest} partitions",
            hint=f"finish that first: `tocsin topics add-partitions FILE {feed} --partitions"
            f" {known.newest}`",
        )
    if partitions <= known.newest:
        raise LedgerError(
            f"feed {feed!r} has {known.newest} partitions",
            hint="write a larger number: Kafka cannot remove partitions",
        )


def _refuse_begun(tx: Transaction, first_starts: Mapping[str, int]) -> None:
    """Refuse to change windows that somebody has counted, or that were decided.

    Windows that were denied ahead of their time are neither.
    """
    for query, start_ms in first_starts.items():
        counted = any(row.start_ms >= start_ms for row in tx.partials.each(query=query))
        ended = tx.log.ended(query, start_ms, _LAST_MS)
        if counted or any(one.outcome is Outcome.DECIDED for one in ended):
            raise LedgerError(
                f"windows of alarm {query!r} from before and after the change are already counted",
                hint="run the command again; check the clocks of all machines (NTP)",
            )
