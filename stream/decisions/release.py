"""From a stored decision to the records that leave.

What the ledger keeps of a decision is which groups fired, by name, and their noisy counts where
these leave, too: a later configuration may number them otherwise, and a retry must publish what was
decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from accountant.costs.charges import WindowKey
from accountant.records import Outcome, SeenDecision
from stream.decisions.counts import WindowCounts  # noqa: TC001  # the decoder reads it
from stream.decisions.records import (
    AlarmRecord,
    CountRecord,
    DecisionRecord,
    alarm_id,
    alarms_digest,
    count_id,
    decision_loss_fields,
    loss_fields,
)
from stream.decisions.schedule import window_from
from stream.model.alarms import cells_per_unit, scope_of
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.instants import from_iso_utc, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from accountant.costs.charges import CellCosts
    from accountant.costs.noisy import Noisy
    from accountant.costs.runs import RunAfter
    from accountant.records import StoredDecision
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = [
    "Drawn",
    "alarm_records",
    "count_records",
    "decision_record",
    "encode_fired",
    "released_alarms",
    "released_counts",
    "released_ids",
    "released_severities",
    "seen_decision",
    "whole_window",
    "window_around",
]

_Groups = list[dict[str, str]]


class _Late(msgspec.Struct, frozen=True):
    """An alarm of an earlier window of the run, asked again with this one's."""

    group: dict[str, str]
    start_ms: int
    end_ms: int


class _InRun(msgspec.Struct, frozen=True):
    """What left of a window, where that is more than the list of its own groups."""

    fired: _Groups
    late: list[_Late] = []
    unanswered: int = 0
    counts: WindowCounts | msgspec.UnsetType = msgspec.UNSET
    severities: list[str] | msgspec.UnsetType = msgspec.UNSET


_STORED = msgspec.json.Decoder(_Groups | _InRun)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn for a window: nothing of it has left before it is stored.

    Args:
        fired: shape (cells,), which groups fired.
        cost: what each of them lost.
        late: numbers of earlier windows and of groups that fired only now.
        unanswered: how many got no answer, as the run of their alarm was spent.
        run: how the window leaves its run.
        noisy: what is stored of a pane.
        counts: the noisy counts of the window, where they leave.
        reached: shape (cells,), how many severity levels fired, where there are any.
    """

    fired: NDArray[np.bool_]
    cost: CellCosts
    late: tuple[tuple[int, int], ...] = ()
    unanswered: int = 0
    run: RunAfter | None = None
    noisy: Noisy | None = None
    counts: WindowCounts | None = None
    reached: NDArray[np.int64] | None = None

    @property
    def alarms(self) -> int:
        """How many alarms it releases."""
        return int(np.count_nonzero(self.fired)) + len(self.late)


def encode_fired(alarm: Alarm, drawn: Drawn) -> bytes:
    """Return the groups that fired as JSON, for the ledger, and what leaves beside them."""
    cells, domain = np.flatnonzero(drawn.fired), alarm.domain
    fired = [domain.group(cell) for cell in cells.tolist()]
    late = [_Late(domain.group(cell), *alarm.calendar.bounds(at)) for at, cell in drawn.late]
    names = [level.name for level in alarm.aim.severities]
    reached = drawn.reached[cells].tolist() if names and drawn.reached is not None else ()
    severities = [names[level - 1] for level in reached]
    if not late and not drawn.unanswered and drawn.counts is None and not severities:
        return msgspec.json.encode(fired)
    counts = msgspec.UNSET if drawn.counts is None else drawn.counts
    levels = severities or msgspec.UNSET
    return msgspec.json.encode(_InRun(fired, late, drawn.unanswered, counts, levels))


def released_ids(decision: StoredDecision) -> list[str]:
    """Return the ids of a decision's alarms, in the order in which they leave."""
    return [alarm_id(key, group) for key, group in released_alarms(decision)]


def alarm_records(alarm: Alarm, decision: StoredDecision) -> Iterator[AlarmRecord]:
    """Yield the alarms of a decision: those of older windows, then its own by group."""
    severities = released_severities(decision)
    for key, group in released_alarms(decision):
        identity, around = alarm_id(key, group), window_around(alarm, key)
        window = around or (key.start_ms, key.end_ms)
        severity = severities.get(identity, "")
        level = alarm.at_severity(severity)
        yield AlarmRecord(
            alarm_id=identity,
            alarm=key.query,
            group=group,
            mechanism=alarm.mechanism,
            max_fnr=float(level.aim.max_fnr),
            tolerance=level.tolerance,
            ledger=decision.ledger_id,
            sequence=decision.sequence,
            severity=severity or msgspec.UNSET,
            held_until=iso_utc(window[1] + alarm.hold_ms) if alarm.hold_ms else msgspec.UNSET,
            **_bounds("window", *window),
            **({} if around is None else _bounds("step", key.start_ms, key.end_ms)),
            **loss_fields(decision.epsilon_units, gaussian=alarm.aim.gaussian),
        )


def count_records(decision: StoredDecision) -> Iterator[CountRecord]:
    """Yield the noisy counts that leave with a decision, by group; none where none do."""
    counts = _stored(decision).counts
    if counts is msgspec.UNSET:
        return
    for group, count in counts.by_group():
        yield CountRecord(
            count_id=count_id(decision.key, group),
            alarm=decision.key.query,
            group=group,
            count=count,
            standard_deviation=counts.standard_deviation,
            noisy_panes=counts.noisy_panes,
            panes=counts.panes,
            ledger=decision.ledger_id,
            sequence=decision.sequence,
            **_bounds("window", decision.key.start_ms, decision.key.end_ms),
        )


def released_counts(decision: StoredDecision) -> Iterator[tuple[Mapping[str, str], float, float]]:
    """Yield group, noisy count and standard deviation of what leaves with a decision."""
    counts = _stored(decision).counts
    if counts is not msgspec.UNSET:
        for group, count in counts.by_group():
            yield group, count, counts.standard_deviation


def decision_record(alarm: Alarm, alarms: Alarms, decision: StoredDecision) -> DecisionRecord:
    """Return the record that says how a window ended, and all that charging it again takes.

    A ledger that lost it is put right from the record alone, whatever is configured by then.

    Raises:
        ValueError: a denied window has alarms or a charge.
    """
    if decision.reason is not None and (decision.alarm_count or decision.epsilon_units):
        raise ValueError("a denied window rings nothing and costs nothing")
    key, budget = decision.key, alarms.budget
    known = bool(decision.alarms) or not decision.alarm_count
    around = window_around(alarm, key)
    return DecisionRecord(
        alarm=key.query,
        outcome="decided" if decision.reason is None else "denied",
        reason=decision.reason,
        alarms=decision.alarm_count,
        alarms_digest=alarms_digest(released_ids(decision)) if known else "",
        unanswered=_stored(decision).unanswered,
        cells_per_unit=cells_per_unit(alarm, budget),
        ledger=decision.ledger_id,
        sequence=decision.sequence,
        fingerprint=decision.fingerprint,
        budget=scope_of(alarm, alarms),
        periods=tuple(map(iso_utc, budget.touched(key.start_ms, key.end_ms))),
        next_start=iso_utc(window_from(alarm, key.start_ms + 1).key.start_ms),
        draw=decision.draw or msgspec.UNSET,
        **_bounds("window", key.start_ms, key.end_ms),
        **({} if around is None else _bounds("whole", *around)),
        **decision_loss_fields(decision.epsilon_units, gaussian=alarm.aim.gaussian),
    )


def seen_decision(record: DecisionRecord) -> SeenDecision:
    """Return a published decision as the ledger reads it.

    Raises:
        ValueError: its times are not ones that Tocsin writes.
    """
    return SeenDecision(
        ledger_id=record.ledger,
        query=record.alarm,
        scope=record.budget,
        start_ms=from_iso_utc(record.window_start),
        end_ms=from_iso_utc(record.window_end),
        sequence=record.sequence,
        outcome=Outcome(record.outcome),
        epsilon_units=record.loss_units,
        alarm_count=record.alarms,
        next_start_ms=from_iso_utc(record.next_start),
        cells_per_unit=record.cells_per_unit,
        periods=tuple(map(from_iso_utc, record.periods)),
        draw=record.draw or None,
        gaussian=record.privacy is not msgspec.UNSET,
    )


def window_around(alarm: Alarm, key: WindowKey) -> tuple[int, int] | None:
    """Return the window of which a decided one is a step; ``None`` for a window of its own."""
    calendar = alarm.calendar
    if not isinstance(calendar, CumulativeCalendar):
        return None
    return calendar.window(calendar.first_starting_at(key.start_ms))


def whole_window(alarm: Alarm, key: WindowKey) -> tuple[int, int]:
    """Return start and end of a decided window, or of the window that it is a step of."""
    return window_around(alarm, key) or (key.start_ms, key.end_ms)


def released_alarms(decision: StoredDecision) -> list[tuple[WindowKey, dict[str, str]]]:
    """Return window and group of every alarm, those of older windows first."""
    stored = _stored(decision)
    alarm = decision.key.query
    late = [
        (WindowKey(end_ms=one.end_ms, query=alarm, start_ms=one.start_ms), one.group)
        for one in stored.late
    ]
    return [*late, *((decision.key, group) for group in stored.fired)]


def released_severities(decision: StoredDecision) -> dict[str, str]:
    """Return the severity of every alarm that has one, by its id."""
    stored = _stored(decision)
    names = stored.severities or ()
    return {
        alarm_id(decision.key, group): name
        for group, name in zip(stored.fired, names, strict=False)
    }


def _bounds(name: str, start_ms: int, end_ms: int) -> dict[str, Any]:
    return {f"{name}_start": iso_utc(start_ms), f"{name}_end": iso_utc(end_ms)}


def _stored(decision: StoredDecision) -> _InRun:
    if not decision.alarms:  # denied, or only its cost is known any more
        return _InRun([])
    found = _STORED.decode(decision.alarms)
    return found if isinstance(found, _InRun) else _InRun(found)
