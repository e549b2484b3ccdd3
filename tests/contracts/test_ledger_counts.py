"""Partials and marks: what partitions counted is kept until its window is decided."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from accountant.errors import ConfigChangedError, LogChangedError
from accountant.records import UNSEEN_MS, PartialStatus, QueryRegistration, Stand
from tests.support.ledgers import (
    EVENT,
    TOPIC_ID,
    A,
    Clock,
    Opens,
    Series,
    admit,
    deny,
    partial,
    refuses,
    set_up,
    terms,
)

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger

DATABASES = ["sqlite"]


def test_partials_come_back_as_they_were(ledger: Ledger) -> None:
    """Vectors survive the database bit by bit, in order of partitions."""
    set_up(ledger, EVENT, 5, [A])
    big = partial(A, 0, partition=1, values=(2**62, -(2**62), 0))
    small = partial(A, 0)
    assert [ledger.counts.put_partial(one) for one in (big, small)] == [PartialStatus.STORED] * 2
    assert [one.digest for one in ledger.counts.partials(A.key(0))] == [small.digest, big.digest]
    assert ledger.counts.partials(A.key(0))[1].value.tolist() == [2**62, -(2**62), 0]


def test_recount_of_a_cut_slice_contradicts_nothing(ledger: Ledger) -> None:
    """What retention cut short since is no news; a complete recount that differs is."""
    set_up(ledger, EVENT, 5, [A])
    whole = partial(A, 0, values=(3, 1, 0))
    assert ledger.counts.put_partial(whole) is PartialStatus.STORED
    cut = replace(partial(A, 0, values=(1, 1, 0)), complete=False)
    assert ledger.counts.put_partial(cut) is PartialStatus.DUPLICATE
    assert not ledger.counts.conflicted(A.key(0))
    assert [one.digest for one in ledger.counts.partials(A.key(0))] == [whole.digest]
    assert ledger.counts.put_partial(partial(A, 0, values=(2, 1, 0))) is PartialStatus.CONFLICT
    assert ledger.counts.conflicted(A.key(0))


def test_a_contradicting_partial_is_never_forgotten(opened: Opens) -> None:
    """Two counts of one slice deny the window, also after a restart and a third report."""
    ledger = opened()
    set_up(ledger, EVENT, 5, [A])
    admit(ledger, 20, A)
    assert ledger.counts.put_partial(partial(A, 0)) is PartialStatus.STORED
    assert ledger.counts.put_partial(partial(A, 0)) is PartialStatus.DUPLICATE
    assert ledger.counts.put_partial(partial(A, 0, values=(4,))) is PartialStatus.CONFLICT
    again = opened()
    assert again.counts.conflicted(A.key(0))
    assert again.counts.put_partial(partial(A, 0)) is PartialStatus.CONFLICT
    assert refuses(again, A, 0)
    deny(again, A, 0, "conflict")
    assert again.counts.put_partial(partial(A, 0)) is PartialStatus.DECIDED
    assert not again.counts.partials(A.key(0))


def test_a_partial_of_another_log_or_configuration_is_refused(ledger: Ledger) -> None:
    """Nothing counted elsewhere gets in."""
    set_up(ledger, EVENT, 5, [A])
    with pytest.raises(ConfigChangedError):
        ledger.counts.put_partial(partial(Series("a", fingerprint="other"), 0))
    ledger.pins.register_budget(terms(EVENT, 5, "t"))
    ledger.pins.register_query(QueryRegistration("n", "t", "elsewhere", "f1", "{}", 0))
    with pytest.raises(LogChangedError):
        ledger.counts.put_partial(partial(Series("n"), 0))
    assert TOPIC_ID not in str(ledger.reports.verify())


def test_punctuation_marks(ledger: Ledger) -> None:
    """The newest mark at or before an instant is found, per feed and partition."""
    for time_ms, offset in ((10, 100), (20, 200), (10, 999)):
        ledger.counts.put_mark("feed", 0, time_ms, offset)
    assert [ledger.counts.mark_before("feed", 0, at) for at in (9, 10, 19, 20, 99)] == [
        *(None, 100, 100, 200, 200)
    ]
    assert ledger.counts.mark_before("feed", 1, 99) is None


SEEN_EVERY_MS = UNSEEN_MS // 3


def test_a_partition_stands_still_only_while_somebody_could_read_on(
    ledger: Ledger, clock: Clock
) -> None:
    """Neither time that nobody read nor time spent catching up counts; a pause at the end does."""

    def see(offset: int, stand: Stand) -> int:
        clock.now_ms += SEEN_EVERY_MS
        ledger.counts.put_places({"feed": {1: (offset, stand)}})
        return ledger.counts.places("feed")[1].still_ms(0, clock.now_ms)

    still_ms = [
        see(offset, stand)
        for offset, stand in [
            (5, Stand.READING),
            (9, Stand.READING),
            (9, Stand.READING),
            (9, Stand.CORRUPT),
            (9, Stand.TRANSACTION),
            (12, Stand.TRANSACTION),
            (12, Stand.TRANSACTION),
            (20, Stand.END),
            (30, Stand.END),
            (30, Stand.UNREACHABLE),
            (30, Stand.END),
            (30, Stand.END),
            (31, Stand.READING),
            (31, Stand.READING),
            (31, Stand.OPENED),
            (31, Stand.READING),
            (31, Stand.READING),
        ]
    ]
    steps = [0, 0, 1, 2, 3, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1]
    assert [each // SEEN_EVERY_MS for each in still_ms] == steps
    see(31, Stand.END)
    seen_ms = clock.now_ms
    clock.now_ms += UNSEEN_MS
    place = ledger.counts.places("feed")[1]
    assert place.still_ms(0, clock.now_ms) == 2 * SEEN_EVERY_MS, "what was seen, and no more"
    assert place.still_ms(seen_ms - 7, clock.now_ms) == 7
    assert place.still_ms(seen_ms + 7, clock.now_ms) == 0
    assert place.still_ms(0, clock.now_ms + 1) == 0, "nobody reads it any more"
    clock.now_ms += 1
    assert see(31, Stand.END) == 0, "and the time until somebody does again counts as nothing"
    assert set(ledger.counts.places("feed")) == {1}
    assert ledger.counts.places("other") == {}


def test_all_feeds_are_reported_in_one_transaction(ledger: Ledger, clock: Clock) -> None:
    """Each at its own place, all at one time."""
    clock.now_ms += 1
    ledger.counts.put_places(
        {
            "badges": {0: (7, Stand.END), 1: (8, Stand.READING)},
            "forecast": {0: (9, Stand.TRANSACTION)},
        }
    )
    badges, forecast = ledger.counts.places("badges"), ledger.counts.places("forecast")
    told = [(at.log_offset, at.stand) for at in (badges[0], badges[1], forecast[0])]
    assert told == [(7, Stand.END), (8, Stand.READING), (9, Stand.TRANSACTION)]
    assert {at.seen_ms for at in (*badges.values(), *forecast.values())} == {clock.now_ms}
