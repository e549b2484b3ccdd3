"""Holds through the whole pipeline: from YAML and a file to records and charges.

The law of transcripts is enumerated in ``tests/statistical/test_hold_exact.py``. Here two
neighbours are replayed with the same noise: a person more, in the windows and rooms that are held,
changes no byte of any record and no charge.
"""

from __future__ import annotations

import pytest

from accountant.log.entries import Ended, decode
from operators.noise.source import KeyedNoise
from stream.decisions.records import encode
from stream.decisions.release import alarm_records, decision_record
from tests.support.ledgers import must_verify
from tests.support.paned import alarm, configured, opened, replayed

ROOMS = [f"r{at}" for at in range(24)]
ABOVE, MINUTES = 6, 6
TUMBLE = "TUMBLE(ts, INTERVAL '1' MINUTE)"
EARLY = "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
USER = (
    "privacy_unit: user, period: 1d,"
    " contribution: {max_groups_per_window: 30, max_events_per_group: 3}"
)
KINDS = [
    *((name, TUMBLE, USER) for name in ("tslm", "ppwlm", "dppwlm", "svt")),
    *((name, TUMBLE, "privacy_unit: event") for name in ("tslm", "dppwlm", "svt")),
    *((name, EARLY, "privacy_unit: event") for name in ("tslm", "svt")),
]


def told(
    folder,
    kind,
    *,
    more=(),
    minutes=(),
    hold="hold: 2m",
):
    """Return records without the ledger's name, charges, and who fired in the first minute.

    Five people are in every room for a minute, and a sixth in some of them in some minutes.
    """
    mechanism, window, unit = kind
    written = alarm("crowd", window, f"COUNT(*) > {ABOVE}", tolerance="2", mechanism=mechanism)
    written = written.replace("    tolerance", f"    {hold}\n    tolerance")
    alarms = configured(folder, written, rooms=ROOMS, until=f"00:0{MINUTES}", unit=unit)
    query, path = alarms.by_name["crowd"], folder / "events.csv"
    there = [
        (minute, room, f"p{room}{at}")
        for minute in range(MINUTES)
        for room in ROOMS
        for at in range(ABOVE - 1)
    ]
    there += [(minute, room, "q") for minute in minutes for room in more for _ in range(3)]
    lines = [f"2024-01-01T00:0{minute}:30Z,{room},{who}" for minute, room, who in there]
    path.write_text("\n".join(["ts,room,person", *lines]))
    records, first = [], set()
    with opened(alarms) as ledger:
        noise = KeyedNoise(f"{kind}".encode())
        for decision in replayed(alarms, ledger, path, noise=noise):
            rang = list(alarm_records(query, decision))
            said = (decision_record(query, alarms, decision), *rang)
            records += [encode(one).replace(ledger.ledger_id.encode(), b"-") for one in said]
            if len(records) == len(said):
                first = {one.group["room"] for one in rang}
        must_verify(ledger)
        found = (decode(row.kind, row.payload) for row in ledger.reports.entries())
        ended = [one for one in found if isinstance(one, Ended)]
        charges = [(one.window, one.settled_units, one.loss_units, one.costs) for one in ended]
    assert any(units for _, units, *_ in charges)
    return records, charges, first


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind)[:24])
def test_whoever_is_in_held_rooms_changes_nothing(tmp_path, kind):
    """A person in every held room and window: all records and charges stay. Twin: without hold."""
    early = kind[1] == EARLY
    held = range(2, 4) if early else range(1, 3)
    there, charges, first = told(tmp_path / "0", kind)
    assert 0 < len(first) < len(ROOMS)
    moved, charged, _ = told(tmp_path / "1", kind, more=first, minutes=held)
    assert (moved, charged) == (there, charges)
    short = "timing: {grace: 30s}"
    there, charges, first = told(tmp_path / "2", kind, hold=short)
    moved, charged, _ = told(tmp_path / "3", kind, more=first, minutes=held, hold=short)
    assert (moved, charged) != (there, charges)
