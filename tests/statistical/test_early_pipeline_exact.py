"""Early alarms through the whole pipeline: all noises in a box, from YAML and a file to records.

Every vector of noises is a room of its own, in which the same is counted, so that one replay
decides them all. How the first step that rings is distributed is proved of the definition
(``tests/statistical/test_early_exact.py``); here the pipeline is held to the definition.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.svt.early import RunLooks
from stream.decisions.mechanisms import operator_of
from stream.decisions.records import encode
from stream.decisions.release import alarm_records, decision_record
from stream.windows.instants import from_iso_utc
from tests.statistical.enumeration import GivenNoise
from tests.support.ledgers import must_verify
from tests.support.paned import alarm, configured, opened, replayed

STEPS, SIDE, ABOVE = 3, 5, 2
STEP_S = 60
START_MS = 1_704_067_200_000  # 2024-01-01T00:00Z
ROOMS = [f"r{at}" for at in range(SIDE ** (STEPS + 1))]
LOOKS = "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE)"
FINER = "CUMULATE(ts, INTERVAL '30' SECOND, INTERVAL '3' MINUTE)"
TIMES_S = (5, 20, 70, 170)
"""At how many seconds from the window's start somebody comes into every room."""
MOVED_S = (59, 0, 119, 120)
"""The same within their steps."""


def noises(looks):
    """Return the threshold's noise and that of every question, by room."""
    axes = np.meshgrid(*[np.arange(SIDE)] * (STEPS + 1), indexing="ij")
    threshold, *asked = (axis.ravel() for axis in axes)
    return [threshold, *(asked[look * STEPS // looks] for look in range(looks))]


def told(folder, times_s, window=LOOKS, *, looks=STEPS):
    """Return all records without the ledger's name, when every room's alarm left, the operator."""
    written = alarm("crowd", window, f"COUNT(*) > {ABOVE}", tolerance="2", mechanism="svt")
    alarms = configured(folder, written, rooms=ROOMS, until="00:03")
    query, path = alarms.by_name["crowd"], folder / "events.csv"
    times = [f"2024-01-01T00:{at // 60:02d}:{at % 60:02d}Z" for at in times_s]
    path.write_text("\n".join(["ts,room,person", *(f"{t},{r},p" for t in times for r in ROOMS)]))
    noise, records = GivenNoise(*noises(looks)), []
    left = {}
    with opened(alarms) as ledger:
        for decision in replayed(alarms, ledger, path, noise=noise):
            rang = list(alarm_records(query, decision))
            said = (decision_record(query, alarms, decision), *rang)
            records += [encode(one).replace(ledger.ledger_id.encode(), b"-") for one in said]
            assert not left.keys() & {one.group["room"] for one in rang}
            left |= {one.group["room"]: from_iso_utc(str(one.step_end)) for one in rang}
        must_verify(ledger)
    early = operator_of(query)
    assert not noise.values.size
    return records, left, early


@pytest.mark.parametrize("times_s", [TIMES_S, (5, 70, 80, 90, 100), (), (0,) * 6])
def test_the_pipeline_rings_at_the_step_that_the_definition_says(tmp_path, times_s):
    """For every noise of the threshold and of each question: at that step's end, and once."""
    _, left, early = told(tmp_path, times_s)
    assert isinstance(early.looker, RunLooks)
    test = early.condition.test(early.condition.formula.literals[0])
    threshold, *asked = noises(STEPS)
    expected = {}
    for look in range(STEPS):
        count = sum(at < (look + 1) * STEP_S for at in times_s)
        steps = test.quantise(np.full(len(ROOMS), count))
        rings = steps + asked[look] >= threshold + early.looker.terms.correction
        for room in np.flatnonzero(rings):
            expected.setdefault(ROOMS[room], START_MS + (look + 1) * STEP_S * 1_000)
    assert left == expected


@pytest.mark.parametrize("broken", [False, True])
def test_the_step_is_all_that_is_told(tmp_path, broken):
    """Events that move within their steps change no byte of any record, whatever the noise.

    A twin that looks twice a step, with the same answers to ask for, tells in which half it was.
    """
    window, looks = (FINER, 2 * STEPS) if broken else (LOOKS, STEPS)
    there, moved = (
        told(tmp_path / str(at), times_s, window, looks=looks)[0]
        for at, times_s in enumerate((TIMES_S, MOVED_S))
    )
    assert (there != moved) is broken


def test_what_has_left_does_not_depend_on_what_comes(tmp_path):
    """An event of the last step moves records of that step, and none of those before."""
    there, gone = (
        told(tmp_path / str(at), times_s)[0] for at, times_s in enumerate(((5, 150), (5,)))
    )
    before = [[one for one in each if b'"sequence":3' not in one] for each in (there, gone)]
    assert there != gone
    assert before[0] == before[1]
    assert 2 < len(before[0]) < len(there)
