"""Compaction: the past gives way to what it left behind, and nothing that is alive can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from accountant.records import Answer, SeenDecision
from accountant.store.chain import read_anchor
from accountant.units import PrivacyUnit
from tests.support.exports import replayed
from tests.support.ledgers import (
    Series,
    deny,
    registration,
    requests,
    set_up,
    settle,
    without_anchors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accountant.ledger.ledger import Ledger
    from accountant.records import ScopeStatus, StoredDecision

PERIOD = 60


def queries(unit: PrivacyUnit) -> list[Series]:
    """Return a tumbling, a hopping and a long query."""
    period = PERIOD if unit is PrivacyUnit.USER else 0
    return [
        Series("a", units=1, period=period),
        Series("hop", 20, 10, 2, period=period),
        Series("long", 40, 40, 1, cells_per_unit=2 if period else 1, period=period),
    ]


def wall(unit: PrivacyUnit) -> int:
    """Return a wall that some windows pass."""
    return 8 if unit is PrivacyUnit.USER else 4


def end_until(ledger: Ledger, all_series: list[Series], until_ms: int) -> None:
    """Ask for every window that ends by an instant, one by one, end it and publish it."""
    asked = requests(all_series, until_ms)
    for number, request in enumerate(asked, 1):
        key = request.charge.key
        if ledger.cursor(key.query) > key.start_ms:
            continue
        ledger.admit("s", asked[:number])
        one = next(series for series in all_series if series.query == key.query)
        index = key.start_ms // one.step
        kind = (key.start_ms // 10 + len(key.query)) % 4
        if ledger.answer(key) is not Answer.RESERVED or kind == 3:
            deny(ledger, one, index)
        elif kind == 2:
            settle(ledger, one, index, cells=(one.units, 0, 0, 0))
        else:
            settle(ledger, one, index, units=min(kind, one.units))
        ledger.mark_published(key)


def on_the_topic(decision: StoredDecision, **changes: object) -> SeenDecision:
    """Return a decision as it stands on the topic."""
    key = decision.key
    one = SeenDecision(
        *(decision.ledger_id, key.query, "s", key.start_ms, key.end_ms, decision.sequence),
        *(decision.outcome, decision.epsilon_units, decision.alarm_count),
        next_start_ms=key.end_ms,
    )
    return replace(one, **changes)  # type: ignore[arg-type]  # fields of a decision


def scopes(ledger: Ledger) -> Mapping[str, ScopeStatus]:
    """Return the status of every budget without its anchor."""
    return without_anchors(ledger.reports.status()).scopes


def kept(ledger: Ledger, kind: str) -> int:
    """Return how many rows of a kind there are."""
    return sum(row["record"] == kind for row in ledger.reports.export())


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_no_live_loss_changes(fresh: Callable[[], Ledger], unit: PrivacyUnit) -> None:
    """A compacted ledger and one that never was go on alike, to the last link of the chain."""
    all_series = queries(unit)
    plain, compacted = fresh(), fresh()
    for ledger in (plain, compacted):
        set_up(ledger, unit, wall(unit), all_series)
        end_until(ledger, all_series, 120)
        ledger.admit("s", requests(all_series, 150))
    before = without_anchors(compacted.reports.status())
    totals = replayed(compacted.reports.export())
    decisions = [compacted.decision(one.charge.key) for one in requests(all_series, 120)]
    topic = [on_the_topic(one) for one in decisions if one is not None]

    gone = compacted.upkeep.compact("s", 110)

    # The next windows start at 110 (hop) or later: all that ended by then goes, the rest stays.
    assert gone == len(requests(all_series, 110))
    assert compacted.upkeep.compact("s", 110) == 0
    assert without_anchors(compacted.reports.status()) == before
    assert replayed(compacted.reports.export()) == totals
    assert compacted.upkeep.unknown_decisions(topic) == []
    assert compacted.upkeep.unknown_decisions([replace(topic[0], alarm_count=9)]) != []
    assert compacted.reports.verify() == []
    assert kept(compacted, "charges") == kept(plain, "charges") - gone
    assert kept(compacted, "decisions") == kept(plain, "decisions")

    for ledger in (plain, compacted):
        end_until(ledger, all_series, 300)
        assert ledger.reports.verify() == []
    later = [one.charge.key for one in requests(all_series, 300) if one.charge.key.end_ms > 110]
    answers = [[ledger.answer(key) for key in later] for ledger in (plain, compacted)]
    assert answers[0] == answers[1]
    assert {Answer.RESERVED, Answer.REFUSED} <= set(answers[0])
    assert scopes(plain) == scopes(compacted)
    assert replayed(plain.reports.export()) == replayed(compacted.reports.export())
    assert compacted.upkeep.compact("s", 300) > 0
    assert scopes(compacted) == scopes(plain)
    assert compacted.reports.verify() == []


def test_windows_beside_what_is_gone_are_refused(ledger: Ledger) -> None:
    """A query that comes later cannot reach back to rows whose losses were given up."""
    a, new = Series("a", units=3), Series("new", size=20, step=20, units=2)
    set_up(ledger, PrivacyUnit.EVENT, 4, [a])
    end_until(ledger, [a], 60)
    assert ledger.upkeep.compact("s", 50) == 5
    ledger.pins.register_query(registration(new))
    ledger.admit("s", requests([a, new], 100))
    answers = [ledger.answer(new.key(index)) for index in range(5)]
    assert answers == [*[Answer.MISSED] * 3, *[Answer.PENDING] * 2]
    for index in range(3):
        deny(ledger, new, index, "not_admitted")
    assert ledger.reports.verify() == []
    assert ledger.upkeep.compact("s", 100) == 1, "a5 goes; what never held anything stays behind it"
    assert ledger.reports.verify() == []


def test_rows_that_were_given_up_stay_given_up(ledger: Ledger) -> None:
    """Also after a compaction that reaches less far back than one before it.

    ::

            0        20        40   50             80
    a       |===| .. |== .. ===|====|                    goes, up to 50
    new     |---------|---------|                        denied later; the first goes, up to 20
    late                        |------------------|     beside the losses of a that are gone
    """
    a, new = Series("a", units=3), Series("new", size=20, step=20)
    late = Series("late", size=40, step=40, units=2)
    set_up(ledger, PrivacyUnit.EVENT, 4, [a])
    end_until(ledger, [a], 50)
    assert ledger.upkeep.compact("s", 50) == 5
    ledger.pins.register_query(registration(new))
    for index in range(2):
        deny(ledger, new, index, "not_admitted")
        ledger.mark_published(new.key(index))
    assert ledger.upkeep.compact("s", 20) == 1
    ledger.pins.register_query(registration(late))
    ledger.admit("s", requests([a, new, late], 100))
    assert ledger.answer(late.key(1)) is Answer.MISSED
    assert ledger.reports.verify() == []


def test_what_has_not_left_yet_stays(ledger: Ledger) -> None:
    """An unpublished decision keeps its charge and its alarms, and all that came after it."""
    a = Series("a", period=PERIOD)
    set_up(ledger, PrivacyUnit.USER, 9, [a])
    for index in range(5):
        ledger.admit("s", requests([a], 10 * index + 10))
        settle(ledger, a, index, alarms=f"[{index}]".encode())
    ledger.admit("s", requests([a], 60))
    ledger.mark_published(*(a.key(index) for index in (0, 1, 3)))
    assert ledger.upkeep.compact("s", 50) == 2
    assert [one.alarms for one in ledger.unpublished("a", 10**9)] == [b"[2]", b"[4]"]
    assert ledger.decision(a.key(0)).alarms == b""  # type: ignore[union-attr]  # it is settled
    ledger.mark_published(a.key(2))
    assert ledger.upkeep.compact("s", 50) == 2
    assert ledger.upkeep.compact("s", 30) == 0
    assert ledger.reports.status().scopes["s"].periods == {0: 6}
    assert ledger.reports.verify() == []


def test_what_waits_keeps_what_it_waits_for(ledger: Ledger) -> None:
    """Nothing goes that a pending window may still be weighed against."""
    a, long = Series("a", period=PERIOD), Series("long", 60, 60, 2, period=PERIOD)
    set_up(ledger, PrivacyUnit.USER, 5, [a, long])
    end_until(ledger, [a], 40)
    ledger.admit("s", requests([a, long], 60))
    assert ledger.answer(long.key(0)) is Answer.PENDING
    before = ledger.reports.status()
    assert ledger.upkeep.compact("s", 60) == 0
    assert ledger.reports.status() == before
    for index in (4, 5):
        settle(ledger, a, index, units=0)
        ledger.mark_published(a.key(index))
    assert ledger.answer(long.key(0)) is Answer.RESERVED
    assert ledger.upkeep.compact("s", 60) == 0
    deny(ledger, long, 0, "budget")
    assert ledger.upkeep.compact("s", 60) == 6
    ledger.mark_published(long.key(0))
    assert ledger.upkeep.compact("s", 60) == 1
    assert ledger.reports.verify() == []


def test_a_noted_link_outlives_what_was_compacted(ledger: Ledger) -> None:
    """Links noted at or behind the last one that went are still compared."""
    a = Series("a", period=PERIOD)
    set_up(ledger, PrivacyUnit.USER, 9, [a])
    anchors: dict[int, bytes] = {}
    for index in range(4):
        ledger.admit("s", requests([a], 10 * index + 10))
        anchors.update([read_anchor(ledger.reports.status().scopes["s"].anchor)])
        settle(ledger, a, index)
        anchors.update([read_anchor(ledger.reports.status().scopes["s"].anchor)])
        ledger.mark_published(a.key(index))
    assert sorted(anchors) == list(range(3, 11))
    assert ledger.upkeep.compact("s", 20) == 2
    assert ledger.reports.verify({"s": anchors}) == []
    wrong = dict.fromkeys(anchors, b"?" * 16)
    found = ledger.reports.verify({"s": wrong})
    assert [line for line in found if "was noted" in line] == found
    assert len(found) == 4, "links 7 (the last that went) to 10"


def test_a_decision_found_beside_what_is_gone_counts_on_top(ledger: Ledger) -> None:
    """Another timeline's draw over rows whose losses were given up adds to the worst of them."""
    a = Series("a", units=2)
    set_up(ledger, PrivacyUnit.EVENT, 4, [a])
    end_until(ledger, [a], 50)
    spent = ledger.reports.status().scopes["s"].spent_units
    assert ledger.upkeep.compact("s", 40) == 4
    known = ledger.decision(a.key(0))
    assert known is not None
    assert ledger.upkeep.mark_spent([on_the_topic(known, ledger_id="other", epsilon_units=3)]) == 1
    assert ledger.reports.status().scopes["s"].spent_units == spent + 3
    assert ledger.reports.verify() == []
    assert ledger.upkeep.mark_spent([on_the_topic(known, ledger_id="third", epsilon_units=1)]) == 1
    assert ledger.reports.status().scopes["s"].spent_units == spent + 4
    assert ledger.reports.verify() == []
