"""Alarms, decisions and noisy counts: what leaves Tocsin, as JSON.

All kinds of record hold configuration and released values only. Records of other versions are read,
too: a field that is not known is passed over, and one that is new may be missing. Their published
schemas are ``alarm.schema.json``, ``decision.schema.json`` and ``count.schema.json`` in
``stream/decisions/schemas``.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

import msgspec

from accountant.errors import DataError
from accountant.units import from_loss_units
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from accountant.costs.charges import WindowKey

__all__ = [
    "AlarmRecord",
    "CountRecord",
    "DecisionRecord",
    "Record",
    "alarm_id",
    "alarms_digest",
    "count_id",
    "decision_loss_fields",
    "decode_alarm",
    "decode_count",
    "decode_decision",
    "encode",
    "epsilon_text",
    "identity",
    "loss_fields",
]

_Kind = TypeVar("_Kind")


class AlarmRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One group fired in one window.

    Args:
        alarm_id: 32 hex digits, the same for every copy of this alarm.
        alarm: the alarm's name in the configuration.
        group: the group's values by field; empty for one group over everything.
        window_start: ISO 8601 UTC with milliseconds, inclusive.
        window_end: exclusive.
        mechanism: which mechanism decided.
        max_fnr: the promised bound on misses: where the condition holds or, if false alarms are
            promised up to the threshold, holds with twice the tolerance to spare.
        tolerance: how far below the threshold firing is no error (or beyond it, no alarm), in
            the unit that the configuration writes it in, as a decimal number in a string (``a/b``
            where decimals do not end); by comparison where the condition has several.
        epsilon: loss charged per cell at worst, as a decimal number in a string.
        ledger: id of the ledger that paid.
        sequence: the decision's number among those of the alarm in that ledger.
        step_start: of an early alarm, start of the step at which it fired; else left out.
        step_end: end of that step, exclusive; the alarm is published after this step.
        privacy: ``gdp`` where a Gaussian budget paid; there is no epsilon then.
        rho: what it paid per cell, ``mu^2 / 2``, as a decimal number in a string.
        held_until: of an alarm with ``hold``, that long after ``window_end``: the group is not
            asked in later windows that end by then, and stays as it is; else left out.
        severity: the highest severity level that fired, whose max_fnr and tolerance these are; left
            out for alarms without levels.
    """

    alarm_id: str
    alarm: str
    group: dict[str, str]
    window_start: str
    window_end: str
    mechanism: str
    max_fnr: float
    tolerance: str | dict[str, str]
    epsilon: str | msgspec.UnsetType = msgspec.UNSET
    ledger: str
    sequence: int
    step_start: str | msgspec.UnsetType = msgspec.UNSET
    step_end: str | msgspec.UnsetType = msgspec.UNSET
    privacy: Literal["gdp"] | msgspec.UnsetType = msgspec.UNSET
    rho: str | msgspec.UnsetType = msgspec.UNSET
    held_until: str | msgspec.UnsetType = msgspec.UNSET
    severity: str | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Refuse a loss of no kind, or of both."""
        _check_kind(self, (self.epsilon,), (self.rho,))


class DecisionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one window of one alarm, or of one step of a cumulative one.

    Args:
        alarm: the alarm's name in the configuration.
        window_start: ISO 8601 UTC with milliseconds, inclusive; of a step, the step's.
        window_end: exclusive; of a step, the step's.
        whole_start: of a step, start of the window that it is a step of; else left out.
        whole_end: end of that window, exclusive: the same as ``window_end`` in its last step.
        privacy: ``gdp`` where a Gaussian budget paid; there is no epsilon then.
        rho: what it paid per cell, ``mu^2 / 2``, as a decimal number in a string.
        rho_units: the same in whole loss units (a trillionth of a rho).
        draw: of a pane, hex digest of the noisy counts that it left, keyed with a secret of the
            ledger: another draw has another one. Else left out.
        outcome: ``decided``, or ``denied`` (nothing was drawn).
        reason: why it was denied; ``None`` when decided.
        alarms: how many alarms it released.
        alarms_digest: hex digest of which (:func:`alarms_digest`); empty where only what they cost
            is known, of a decision that was taken over.
        unanswered: groups that got no answer, as the SVT run of their alarm was spent.
        epsilon: loss charged per cell at worst, as a decimal number in a string; of a run, what
            this window added to its loss.
        epsilon_units: the same in whole loss units (a trillionth of an epsilon).
        cells_per_unit: cells of the window that one privacy unit can reach.
        ledger: id of the ledger that recorded it.
        sequence: its number among those of the alarm in that ledger.
        fingerprint: hex digest of the configuration that decided it.
        budget: what it drew on.
        periods: starts of the budget periods it touches, under unit ``user``.
        next_start: start of the alarm's next window.
    """

    alarm: str
    window_start: str
    window_end: str
    outcome: Literal["decided", "denied"]
    reason: str | None
    alarms: int
    alarms_digest: str
    unanswered: int
    epsilon: str | msgspec.UnsetType = msgspec.UNSET
    epsilon_units: int | msgspec.UnsetType = msgspec.UNSET
    cells_per_unit: int
    ledger: str
    sequence: int
    fingerprint: str
    budget: str
    periods: tuple[str, ...]
    next_start: str
    whole_start: str | msgspec.UnsetType = msgspec.UNSET
    whole_end: str | msgspec.UnsetType = msgspec.UNSET
    draw: str | msgspec.UnsetType = msgspec.UNSET
    privacy: Literal["gdp"] | msgspec.UnsetType = msgspec.UNSET
    rho: str | msgspec.UnsetType = msgspec.UNSET
    rho_units: int | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Refuse a loss of no kind, or of both."""
        _check_kind(self, (self.epsilon, self.epsilon_units), (self.rho, self.rho_units))

    @property
    def loss_units(self) -> int:
        """What a cell lost at worst, in loss units of whatever paid."""
        found = self.epsilon_units if self.privacy is msgspec.UNSET else self.rho_units
        return cast("int", found)  # as checked when it was made


class CountRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The noisy count of one group in one window, of an alarm that releases counts.

    It is what the window's noisy panes add up to, whatever that is: also below 0, and above what
    could have been counted. It is right on average, and says nothing more of what was counted.

    Args:
        count_id: 32 hex digits, the same for every copy of this count.
        alarm: the alarm's name in the configuration.
        group: the group's values by field; empty for one group over everything.
        window_start: ISO 8601 UTC with milliseconds, inclusive; of an early alarm, of the step.
        window_end: exclusive. Counted are the last ``panes`` panes before it.
        count: of events, or the sum in the field's own unit.
        standard_deviation: of its noise, in the same unit.
        noisy_panes: the name of the panes; counts over the same panes share their noise.
        panes: how many of them were added up.
        ledger: id of the ledger that keeps the decision.
        sequence: the decision's number among those of the alarm in that ledger.
    """

    count_id: str
    alarm: str
    group: dict[str, str]
    window_start: str
    window_end: str
    count: int | float
    standard_deviation: float
    noisy_panes: str
    panes: int
    ledger: str
    sequence: int


Record: TypeAlias = AlarmRecord | DecisionRecord | CountRecord
"""Whatever leaves."""


def alarm_id(key: WindowKey, group: Mapping[str, str]) -> str:
    """Return the id of an alarm: 32 hex digits that depend on alarm, window and group alone.

    Not on the ledger, the worker or the attempt: every copy of an alarm carries the same id.
    """
    return _identity(b"tocsin.alarm", key, group)


def count_id(key: WindowKey, group: Mapping[str, str]) -> str:
    """Return the id of a noisy count, as that of an alarm."""
    return _identity(b"tocsin.count", key, group)


def alarms_digest(ids: Iterable[str]) -> str:
    """Return what stands for the alarms of one decision: BLAKE2b-128 in hex over their ids.

    Each id once, in ascending order, one a line, so that ``sort -u | b2sum -l 128`` gives it, too:
    copies and their order change nothing, and every retry has the same. Of no alarm, it is the
    digest of nothing.
    """
    lines = "".join(f"{one}\n" for one in sorted(set(ids)))
    return blake2b(lines.encode(), digest_size=16).hexdigest()


def identity(kind: bytes, parts: Sequence[object]) -> str:
    """Return what names a record of a kind: 32 hex digits, the same for the same parts."""
    canonical = msgspec.json.encode(parts, order="deterministic")
    return blake2b(canonical, digest_size=16, person=kind).hexdigest()


def encode(record: Record) -> bytes:
    """Return a record as one JSON object."""
    return msgspec.json.encode(record)


def loss_fields(units: int, *, gaussian: bool) -> dict[str, Any]:
    """Return the fields of an alarm that say what a cell lost.

    Args:
        units: the loss, in loss units.
        gaussian: whether a Gaussian budget paid.
    """
    text = epsilon_text(units)
    return {"privacy": "gdp", "rho": text} if gaussian else {"epsilon": text}


def decision_loss_fields(units: int, *, gaussian: bool) -> dict[str, Any]:
    """Return the fields of a decision that say what a cell lost; see :func:`loss_fields`."""
    name = "rho_units" if gaussian else "epsilon_units"
    return {**loss_fields(units, gaussian=gaussian), name: units}


def epsilon_text(units: int) -> str:
    """Return loss units as an exact decimal number of epsilon (or rho), no trailing zeros."""
    return decimal(from_loss_units(units))


def _check_kind(
    record: AlarmRecord | DecisionRecord, pure: tuple[object, ...], gaussian: tuple[object, ...]
) -> None:
    lost, other = (pure, gaussian) if record.privacy is msgspec.UNSET else (gaussian, pure)
    if msgspec.UNSET in lost or other.count(msgspec.UNSET) < len(other):
        raise ValueError("a record has an epsilon, or privacy: gdp and a rho")


def _identity(kind: bytes, key: WindowKey, group: Mapping[str, str]) -> str:
    """Return what names a record of a kind: 32 hex digits, of window and group alone."""
    return identity(kind, [key.query, key.start_ms, key.end_ms, dict(group)])


def _decoding(kind: type[_Kind], what: str) -> Callable[[bytes], _Kind]:
    """Return what parses a record of a topic, and raises a ``DataError`` where it is none."""
    decoder = msgspec.json.Decoder(kind)

    def decode(value: bytes) -> _Kind:
        try:
            return decoder.decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DataError(
                f"the record is not {what} of this version",
                hint="check the topic: other producers or another version of Tocsin wrote to it",
            ) from error

    return decode


decode_alarm = _decoding(AlarmRecord, "an alarm")
decode_decision = _decoding(DecisionRecord, "a decision")
decode_count = _decoding(CountRecord, "a noisy count")
