"""Decisions and alarms find each other in whatever order the two topics are read."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from stream.kafka.public.pairing import Pairing, Window
from tests.support.published import alarm_of, decision_of
from tests.support.yardstick import steps

ROOMS = ("hall", "lab", "roof")
DECISIONS, ALARMS = "decisions", "alarms"


class Logs:
    """Two topics of one partition each, as a publisher that may crash writes them.

    Args:
        seed: of what is drawn.
    """

    def __init__(self, seed):
        draw = random.Random(seed)
        self.topics = {DECISIONS: [], ALARMS: []}
        self.windows = []
        for number in range(6):
            rooms = draw.sample(ROOMS, draw.randrange(4))
            alarms = [alarm_of(number, {"room": room}) for room in rooms]
            decision = decision_of(number, alarms=alarms)
            self.windows.append((number, {alarm.alarm_id for alarm in alarms}))
            sent = draw.randrange(len(alarms) + 1)  # where it crashed, the first time
            for part in (alarms[:sent], alarms) if draw.random() < 0.5 else (alarms,):
                self.topics[DECISIONS].append(decision)
                self.topics[ALARMS] += part

    def read(self, seed):
        """Read both in a drawn order; return what comes out, after every record."""
        pairing, found = Pairing(), []
        order = [topic for topic, records in self.topics.items() for _ in records]
        random.Random(seed).shuffle(order)
        left = {topic: enumerate(records) for topic, records in self.topics.items()}
        for topic in order:
            offset, record = next(left[topic])
            if topic == DECISIONS:
                pairing.decision(topic, offset, Window(record, offset))
            else:
                pairing.alarm(topic, offset, record)
            found += pairing.windows()
        return found


def taken_for_delivered(seed):
    """Return windows that, read again after an earlier one, lie before its safe place.

    In each order every window comes out once, with all its alarms.
    """
    logs = Logs(seed)
    found, again = logs.read(seed + 1), logs.read(seed + 2)
    for windows in (found, again):
        assert [
            (one.decision.sequence, {alarm.alarm_id for alarm in one.alarms}) for one in windows
        ] == logs.windows
        assert all(one.whole for one in windows)
    return [
        later.decision.sequence
        for number, window in enumerate(found)
        for later in again[number + 1 :]
        if later.published_ms < window.safe[DECISIONS]
    ]


@pytest.mark.parametrize("seed", range(80))
def test_nothing_after_what_is_safe_is_taken_for_delivered(seed):
    """Killed after any window, a process finds all later ones beyond what it committed.

    In order, whatever was written twice, and however the topics are read.
    """
    assert not taken_for_delivered(seed)


def test_committing_how_far_one_has_read_is_caught(monkeypatch):
    """A decision that waits for its alarms lies before what was read."""
    monkeypatch.setattr(Pairing, "_safe", lambda self: dict(self._next))
    assert any(taken_for_delivered(seed) for seed in range(40))


def test_lost_alarms_do_not_hold_a_query_for_ever():
    """A decision without its alarms waits, until it is known that they will not come."""
    pairing = Pairing()
    alarm = alarm_of(0, {"room": "hall"})
    pairing.decision(DECISIONS, 0, Window(decision_of(0, alarms=[alarm]), 0))
    assert not list(pairing.windows(give_up=True)), "it may be on its way"
    pairing.decision(DECISIONS, 1, Window(decision_of(1), 0))
    assert pairing.blocked
    assert not list(pairing.windows())
    first, second = pairing.windows(give_up=True)
    assert (first.whole, second.whole) == (False, True)
    pairing.alarm(ALARMS, 0, alarm)
    assert not list(pairing.windows())


def test_queries_do_not_wait_for_each_other():
    """What is missing of one holds its own place, and nobody's answer."""
    pairing = Pairing()
    late = alarm_of(0, {"room": "hall"}, alarm="late")
    pairing.decision(DECISIONS, 0, Window(decision_of(0, alarm="late", alarms=[late]), 0))
    pairing.decision(DECISIONS, 1, Window(decision_of(0), 0))
    (window,) = pairing.windows()
    assert window.decision.alarm == "crowd"
    assert window.safe == {DECISIONS: 0}
    pairing.alarm(ALARMS, 0, late)
    (window,) = pairing.windows()
    assert window.safe == {DECISIONS: 2, ALARMS: 1}


@pytest.mark.parametrize(
    ("ledger", "early"), [("ledger", False), ("ledger", True), ("another", True)]
)
def test_an_alarm_waits_for_its_decision_though_its_window_begins_earlier(*, ledger, early):
    """Early alarms and late ones of SVT runs do; an alarm without a decision goes with the next."""
    own, first = alarm_of(2, {"room": "hall"}), alarm_of(0, {"room": "lab"})
    step = {"step_start": own.window_start, "step_end": own.window_end} if early else {}
    alarm = replace(own, ledger=ledger, window_start=first.window_start, **step)
    pairing = Pairing()
    pairing.alarm(ALARMS, 0, first)
    pairing.alarm(ALARMS, 1, alarm)
    pairing.decision(DECISIONS, 0, Window(decision_of(1), 0))
    (window,) = pairing.windows()
    assert window.safe == {DECISIONS: 1, ALARMS: 1}
    pairing.decision(DECISIONS, 1, Window(decision_of(2, alarms=[alarm], ledger=ledger), 0))
    (window,) = pairing.windows()
    assert window.alarms == (alarm,)


def test_a_window_that_comes_out_looks_at_no_other_that_waits():
    """Reading back many takes as long for each as for few: nothing else runs meanwhile."""
    read = [Window(decision_of(number), 0) for number in range(2_000)]

    def paired():
        pairing = Pairing()
        for offset, window in enumerate(read):
            pairing.decision(DECISIONS, offset, window)
        return list(pairing.windows())

    assert steps(paired) < 2_000 * len(read)
