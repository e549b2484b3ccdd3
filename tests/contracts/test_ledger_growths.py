"""A feed that gets more partitions: what the ledger remembers, and whom it refuses meanwhile."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from accountant.errors import LedgerError, LogChangedError
from accountant.layouts import Growth, Layouts
from accountant.log.entries import Grown, decode
from accountant.records import LogIdentity, PartialStatus
from tests.support.ledgers import (
    EVENT,
    TOPIC_ID,
    A,
    Clock,
    Opens,
    Series,
    admit,
    deny,
    must_verify,
    partial,
    set_up,
    settle,
)

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger

DATABASES = ["sqlite"]
NOW_MS = Clock().now_ms
UNTIL_MS = NOW_MS + 50


def announced(ledger: Ledger, partitions: int = 5, *, from_ms: int | None = 20) -> Growth:
    """Announce that the feed grows; windows of A from 20 on are neither counted nor decided."""
    return ledger.growths.announce(
        "feed", partitions, from_ms=from_ms, first_starts={A.query: from_ms or 0}
    )


def identity(partitions: int) -> LogIdentity:
    """Return the feed's log as Kafka tells it."""
    return LogIdentity("feed", "cluster", TOPIC_ID, "topic", partitions)


def test_a_growth_is_announced_and_concluded_once(opened: Opens) -> None:
    """Each step may be repeated, from anywhere: what was said first stays."""
    ledger = opened()
    set_up(ledger, EVENT, 5, [A])
    assert ledger.growths.layouts() == {"feed": Layouts(2)}
    first = announced(ledger)
    assert first == Growth("feed", 5, 2, 20, None, NOW_MS)
    assert announced(opened(), from_ms=300) == first
    done = opened().growths.conclude("feed", 5, until_ms=UNTIL_MS)
    assert done == replace(first, until_ms=UNTIL_MS)
    assert ledger.growths.conclude("feed", 5, until_ms=UNTIL_MS + 7) == done
    assert opened().growths.layouts() == {"feed": Layouts(2, (done,))}
    assert ledger.growths.of("feed").revision == 2
    must_verify(ledger)


def test_a_second_growth_waits_for_the_first(ledger: Ledger) -> None:
    """One at a time, only upwards, and none begins before the last one is over."""
    set_up(ledger, EVENT, 5, [A])
    announced(ledger)
    with pytest.raises(LedgerError, match="already growing to 5 partitions"):
        announced(ledger, 6)
    ledger.growths.conclude("feed", 5, until_ms=UNTIL_MS)
    with pytest.raises(LedgerError, match="has 5 partitions"):
        announced(ledger, 5)
    with pytest.raises(LedgerError, match="has 5 partitions"):
        announced(ledger, 4)
    with pytest.raises(LedgerError, match="is still growing"):
        announced(ledger, 6, from_ms=UNTIL_MS - 1)
    second = announced(ledger, 6, from_ms=UNTIL_MS)
    assert (second.before, second.from_ms) == (5, UNTIL_MS)
    assert ledger.growths.of("feed").revision == 3


def test_what_nobody_announced_is_not_concluded(ledger: Ledger, clock: Clock) -> None:
    """Nor is it over at an instant that has passed: windows up to now were denied for it."""
    set_up(ledger, EVENT, 5, [A])
    with pytest.raises(LedgerError, match="was announced"):
        ledger.growths.conclude("feed", 5, until_ms=UNTIL_MS)
    with pytest.raises(LogChangedError, match="no worker has read feed 'other'"):
        ledger.growths.announce("other", 5, from_ms=20, first_starts={})
    announced(ledger)
    clock.now_ms = UNTIL_MS
    with pytest.raises(LedgerError, match="cannot all have known"):
        ledger.growths.conclude("feed", 5, until_ms=UNTIL_MS)


@pytest.mark.parametrize("ended", ["counted", "decided"])
def test_windows_that_were_begun_do_not_change(ledger: Ledger, ended: str) -> None:
    """A growth that would reach back into what is counted or decided is refused, and not stored."""
    set_up(ledger, EVENT, 5, [A])
    admit(ledger, 40, A)
    for index in range(2):
        settle(ledger, A, index)
    if ended == "counted":
        ledger.counts.put_partial(partial(A, 2))
    else:
        settle(ledger, A, 2)
    with pytest.raises(LedgerError, match="are counted"):
        announced(ledger)
    assert ledger.growths.layouts() == {"feed": Layouts(2)}
    assert announced(ledger, from_ms=30).from_ms == 30


def test_windows_that_were_denied_ahead_of_their_time_do_not_count(ledger: Ledger) -> None:
    """Nor do those from before an alarm began: its first window may start long after now."""
    late = Series("late", first=500)
    set_up(ledger, EVENT, 5, [A, late])
    admit(ledger, 40, A)
    for index in range(4):
        deny(ledger, A, index)
    growth = ledger.growths.announce(
        "feed", 5, from_ms=20, first_starts={A.query: 20, late.query: 20}
    )
    assert growth.from_ms == 20


def test_partitions_that_are_there_begin_nobody_knows_when(ledger: Ledger) -> None:
    """So every undecided window may have records of before and after, counted ones too."""
    set_up(ledger, EVENT, 5, [A])
    ledger.counts.put_partial(partial(A, 0))
    assert announced(ledger, 3, from_ms=None).from_ms == 0
    ledger.growths.conclude("feed", 3, until_ms=UNTIL_MS)
    assert announced(ledger, 4, from_ms=None).from_ms == UNTIL_MS


def test_a_count_of_somebody_who_does_not_know_is_refused(ledger: Ledger) -> None:
    """Each step makes older readers stale; what they stored before it stays."""
    set_up(ledger, EVENT, 5, [A])
    put = ledger.counts.put_partial
    assert put(partial(A, 0)) is PartialStatus.STORED
    announced(ledger)
    assert put(partial(A, 0, 1)) is PartialStatus.STALE
    assert put(replace(partial(A, 0, 1), revision=1)) is PartialStatus.STORED
    ledger.growths.conclude("feed", 5, until_ms=UNTIL_MS)
    later = Series("a").key(0)
    assert put(replace(partial(A, 1), revision=1)) is PartialStatus.STALE
    assert put(replace(partial(A, 1, 4), revision=2)) is PartialStatus.STORED
    assert [one.partition for one in ledger.counts.partials(later)] == [0, 1]
    assert [one.partition for one in ledger.counts.partials(A.key(1))] == [4]


def test_the_log_may_have_the_partitions_that_were_announced(ledger: Ledger) -> None:
    """Those of before too: some broker may not have heard. All others are refused, with a way."""
    set_up(ledger, EVENT, 5, [A])

    def fits(partitions: int) -> bool:
        try:
            ledger.pins.refuse_changes((), [identity(partitions)], ())
            ledger.pins.register_log(identity(partitions))
        except LogChangedError:
            return False
        return True

    assert [fits(each) for each in (1, 2, 3, 5)] == [False, True, False, False]
    with pytest.raises(LogChangedError, match="partitions 2 -> 5") as caught:
        ledger.pins.register_log(identity(5))
    assert "tocsin topics add-partitions FILE feed --partitions 5" in caught.value.hint
    announced(ledger)
    assert [fits(each) for each in (2, 5, 6)] == [True, True, False]
    ledger.growths.conclude("feed", 5, until_ms=UNTIL_MS)
    assert [fits(each) for each in (1, 2, 5, 6)] == [False, True, True, False]
    with pytest.raises(LogChangedError, match="topic_id"):
        ledger.pins.register_log(replace(identity(5), topic_id="other"))


def test_counts_and_an_announcement_at_once_agree(opened: Opens) -> None:
    """Either the count was there and refuses the growth, or the growth refuses the count."""
    ledger = opened()
    set_up(ledger, EVENT, 5, [A])
    outcomes: dict[str, object] = {}
    other = opened()

    def count() -> None:
        outcomes["count"] = other.counts.put_partial(partial(A, 2))

    thread = Thread(target=count)
    thread.start()
    try:
        announced(ledger)
        outcomes["growth"] = True
    except LedgerError:
        outcomes["growth"] = False
    thread.join()
    expected = PartialStatus.STALE if outcomes["growth"] else PartialStatus.STORED
    assert outcomes["count"] is expected


def test_a_growth_that_cannot_have_been_is_found(ledger: Ledger) -> None:
    """Whoever has it begin earlier or end sooner would have people counted twice."""
    set_up(ledger, EVENT, 5, [A])
    growth = announced(ledger)
    ledger.growths.conclude("feed", 5, until_ms=UNTIL_MS)
    must_verify(ledger)
    with ledger._door.write() as writing:
        writing.append(Grown(replace(growth, until_ms=20)))
    (impossible,) = ledger.reports.verify()
    assert impossible == "feed 'feed' cannot have grown to 5 partitions as the ledger has it"


def test_growths_are_exported(ledger: Ledger) -> None:
    """Who has had how many partitions since when is the custodian's to see."""
    set_up(ledger, EVENT, 5, [A])
    growth = announced(ledger)
    (row,) = [one for one in ledger.reports.entries() if one.kind == Grown.kind]
    assert decode(row.kind, row.payload) == Grown(growth)
    assert (growth.feed, growth.partitions, growth.before) == ("feed", 5, 2)
    assert (growth.from_ms, growth.until_ms) == (20, None)
