"""What leaves the whole pipeline: from YAML and a file to records and charges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.log.entries import Ended, decode
from stream.decisions.records import encode
from stream.decisions.release import alarm_records, decision_record
from tests.support.ledgers import must_verify
from tests.support.paned import opened, replayed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import Any

    from operators.noise.source import NoiseSource
    from stream.decisions.records import AlarmRecord
    from stream.model.alarms import Alarms


@dataclass(frozen=True)
class Left:
    """What left, decision by decision.

    Args:
        records: encoded, without the ledger's name; first the decision's.
        alarms: the records of cells that fired.
        charges: what every window was settled at.
    """

    records: Sequence[Sequence[bytes]]
    alarms: Sequence[Sequence[AlarmRecord]]
    charges: Sequence[Any]


def left_by(
    folder: Path, alarms: Alarms, events: Iterable[tuple[int, str, str]], noise: NoiseSource
) -> Left:
    """Replay one alarm over some events.

    Args:
        folder: of its own.
        alarms: its configuration.
        events: second, room and person of each.
        noise: that is drawn.
    """
    (query,) = alarms.by_name.values()
    lines = [
        f"2024-01-01T00:{at // 60:02d}:{at % 60:02d}Z,{room},{who}" for at, room, who in events
    ]
    path = folder / "events.csv"
    path.write_text("\n".join(["ts,room,person", *lines]))
    with opened(alarms) as ledger:
        decisions = list(replayed(alarms, ledger, path, noise=noise))
        must_verify(ledger)
        entries = [decode(row.kind, row.payload) for row in ledger.reports.entries()]
        nameless = ledger.ledger_id.encode()
    fired = [list(alarm_records(query, each)) for each in decisions]
    records = [
        [
            encode(one).replace(nameless, b"-")
            for one in (decision_record(query, alarms, each), *rang)
        ]
        for each, rang in zip(decisions, fired, strict=True)
    ]
    charges = [
        (one.window, one.settled_units, one.loss_units, one.costs)
        for one in entries
        if isinstance(one, Ended)
    ]
    return Left(records, fired, charges)
