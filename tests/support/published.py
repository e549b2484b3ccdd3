"""Records of the public topics, as a worker writes them, without a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from accountant.costs.charges import WindowKey
from accountant.log.entries import Ended, decode
from stream.custody.archive import archived_in
from stream.custody.published import Records
from stream.custody.released import compare, published_by
from stream.decisions.records import (
    AlarmRecord,
    CountRecord,
    DecisionRecord,
    alarm_id,
    alarms_digest,
    count_id,
)
from stream.windows.instants import iso_utc
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from stream.decisions.records import Record
    from stream.model.alarms import Alarms

HOUR_MS = 3_600_000


def schema(kind: Literal["alarm", "count", "decision", "notice"]) -> dict[str, Any]:
    """Return the published JSON Schema (2020-12) of a record, or of what is delivered."""
    path = ROOT / "stream" / "decisions" / "schemas" / f"{kind}.schema.json"
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])


_DECISION = msgspec.convert(schema("decision")["examples"][0], DecisionRecord)


def _hour(number: int, alarm: str) -> tuple[WindowKey, dict[str, Any]]:
    """Return the window of an hour, and its ends as records have them."""
    key = WindowKey(query=alarm, start_ms=number * HOUR_MS, end_ms=(number + 1) * HOUR_MS)
    return key, {"window_start": iso_utc(key.start_ms), "window_end": iso_utc(key.end_ms)}


def decision_of(
    number: int,
    *,
    denied: bool = False,
    unanswered: int = 0,
    alarms: Sequence[AlarmRecord] = (),
    ledger: str = "ledger",
    alarm: str = "crowd",
) -> DecisionRecord:
    """Return the decision of the hour of a number, which is its number in the ledger, too."""
    _, ends = _hour(number, alarm)
    return msgspec.structs.replace(
        _DECISION,
        alarm=alarm,
        **ends,
        outcome="denied" if denied else "decided",
        reason="budget" if denied else None,
        alarms=len(alarms),
        alarms_digest=alarms_digest(one.alarm_id for one in alarms),
        unanswered=unanswered,
        ledger=ledger,
        sequence=number,
        next_start=ends["window_end"],
    )


def alarm_of(number: int, group: Mapping[str, str], *, alarm: str = "crowd") -> AlarmRecord:
    """Return a ring in the hour of a number."""
    key, ends = _hour(number, alarm)
    return AlarmRecord(
        alarm_id=alarm_id(key, group),
        alarm=alarm,
        group=dict(group),
        **ends,
        mechanism="tslm",
        max_fnr=0.05,
        tolerance="1",
        epsilon="0",
        ledger="ledger",
        sequence=number,
    )


def count_of(number: int, group: Mapping[str, str], count: float) -> CountRecord:
    """Return a noisy count of the hour of a number."""
    key, ends = _hour(number, "crowd")
    return CountRecord(
        count_id=count_id(key, group),
        alarm="crowd",
        group=dict(group),
        **ends,
        count=count,
        standard_deviation=5.5,
        noisy_panes="panes-0123abcd",
        panes=12,
        ledger="ledger",
        sequence=number,
    )


def decisions_in(ledger: Ledger, folder: Path) -> Iterator[StoredDecision]:
    """Yield the decisions among the entries that a ledger moved to a folder, in order."""
    for row in archived_in(ledger, folder):
        entry = decode(row.kind, row.payload) if row.kind == Ended.kind else None
        if isinstance(entry, Ended):
            yield entry.decision(ledger.ledger_id, published=True)


def compared(
    alarms: Alarms, ledger: Ledger, shown: Iterable[Record]
) -> tuple[list[str], list[str]]:
    """Hold records against a ledger; return problems and notes."""
    records = Records()
    for one in shown:
        records.take(one)
    through = published_by(ledger)
    return compare(alarms, ledger, records, through=through, to_the_end=True)
