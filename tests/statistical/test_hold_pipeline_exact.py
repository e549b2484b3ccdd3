"""Holds through the whole pipeline: from YAML and a file to records and charges.

The law of transcripts is enumerated in ``tests/statistical/test_hold_exact.py``. Here two
neighbours are replayed with the same noise: a person more, in the windows and rooms that are held,
changes no byte of any record and no charge.
"""

from __future__ import annotations

from itertools import product

import pytest

from operators.noise.source import KeyedNoise
from tests.statistical.pipeline_law import left_by
from tests.support.paned import alarm, configured

ROOMS = [f"r{at}" for at in range(24)]
ABOVE, MINUTES = 6, 6
TUMBLE = "TUMBLE(ts, INTERVAL '1' MINUTE)"
EARLY = "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
USER = (
    "privacy_unit: user, period: 1d,"
    " contribution: {max_groups_per_window: 30, max_events_per_group: 3}"
)
MORE = ("", ", repeat_in: run")
KINDS = [
    *((f"{{svt: {{max_alarms: 10, repeat: 3{more}}}}}", TUMBLE, USER) for more in MORE),
    *((name, TUMBLE, USER) for name in ("tslm", "ppwlm", "dppwlm", "svt")),
    *((name, TUMBLE, "privacy_unit: event") for name in ("tslm", "dppwlm", "svt")),
    *((name, EARLY, "privacy_unit: event") for name in ("tslm", "svt")),
]


def told(folder, kind, *, more=(), minutes=(), hold="hold: 2m"):
    """Return what leaves.

    Five people are in every room for a minute, and a sixth in some of them in some minutes.
    """
    mechanism, window, unit = kind
    written = alarm("crowd", window, f"COUNT(*) > {ABOVE}", tolerance="2", mechanism=mechanism)
    written = written.replace("    tolerance", f"    {hold}\n    tolerance")
    alarms = configured(folder, written, rooms=ROOMS, until=f"00:0{MINUTES}", unit=unit)
    events = [
        (60 * minute + 30, room, f"p{room}{at}")
        for minute, room, at in product(range(MINUTES), ROOMS, range(ABOVE - 1))
    ]
    events += [(60 * minute + 30, room, "q") for minute in minutes for room in more] * 3
    left = left_by(folder, alarms, events, KeyedNoise(f"{kind}".encode()))
    assert any(units for _, units, *_ in left.charges)
    return left


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind)[:24])
def test_whoever_is_in_held_rooms_changes_nothing(tmp_path, kind):
    """A person in every held room and window: all records and charges stay. Twin: without hold."""
    held = range(2, 4) if kind[1] == EARLY else range(1, 3)
    for hold, same in (("hold: 2m", True), ("timing: {grace: 30s}", False)):
        there = told(tmp_path / f"{same}0", kind, hold=hold)
        first = {one.group["room"] for one in there.alarms[0]}
        assert 0 < len(first) < len(ROOMS)
        moved = told(tmp_path / f"{same}1", kind, more=first, minutes=held, hold=hold)
        assert ((there.records, there.charges) == (moved.records, moved.charges)) is same
