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
from stream.windows.instants import from_iso_utc
from tests.statistical.enumeration import GivenNoise, ints
from tests.statistical.pipeline_law import left_by
from tests.support.paned import alarm, configured

STEPS, SIDE, ABOVE = 3, 5, 2
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
    """Return what leaves where somebody comes into every room at some seconds, and the operator."""
    written = alarm("crowd", window, f"COUNT(*) > {ABOVE}", tolerance="2", mechanism="svt")
    alarms = configured(folder, written, rooms=ROOMS, until="00:03")
    noise = GivenNoise(*noises(looks))
    left = left_by(folder, alarms, [(at, room, "p") for at in times_s for room in ROOMS], noise)
    early = operator_of(alarms.by_name["crowd"])
    assert isinstance(early.looker, RunLooks)
    terms = early.looker.terms
    assert noise.rates == [terms.threshold_rate, *[terms.query_rate] * looks]
    assert not noise.values.size
    return left, early


@pytest.mark.parametrize("times_s", [TIMES_S, (5, 70, 80, 90, 100), (), (0,) * 6])
def test_the_pipeline_rings_at_the_step_that_the_definition_says(tmp_path, times_s):
    """For every noise of the threshold and of each question: at that step's end, and once."""
    left, early = told(tmp_path, times_s)
    test = early.condition.test(early.condition.formula.literals[0])
    threshold, *asked = noises(STEPS)
    seen = [[sum(at < end for at in times_s)] * len(ROOMS) for end in (60, 120, 180)]
    rings = np.stack([test.quantise(ints(each)) for each in seen]) + asked
    rings = rings >= threshold + early.looker.terms.correction
    found = [
        (one.group["room"], (from_iso_utc(str(one.step_end)) - START_MS) // 60_000)
        for each in left.alarms
        for one in each
    ]
    first = np.where(rings.any(axis=0), 1 + rings.argmax(axis=0), 0).tolist()
    assert dict(found) == {room: at for room, at in zip(ROOMS, first, strict=True) if at}
    assert len(found) == len(dict(found))


@pytest.mark.parametrize("broken", [False, True])
def test_the_step_is_all_that_is_told(tmp_path, broken):
    """Events that move within their steps change no byte of any record, whatever the noise.

    A twin that looks twice a step, with the same answers to ask for, tells in which half it was.
    """
    window, looks = (FINER, 2 * STEPS) if broken else (LOOKS, STEPS)
    there, moved = (
        told(tmp_path / str(at), times_s, window, looks=looks)[0].records
        for at, times_s in enumerate((TIMES_S, MOVED_S))
    )
    assert (there != moved) is broken


def test_what_has_left_does_not_depend_on_what_comes(tmp_path):
    """An event of the last step moves records of that step, and none of those before."""
    there, gone = (
        told(tmp_path / str(at), times_s)[0].records for at, times_s in enumerate(((5, 150), (5,)))
    )
    assert there != gone
    assert there[:2] == gone[:2]
    assert len(there) == STEPS
