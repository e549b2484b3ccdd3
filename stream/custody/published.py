"""What was published, as its records say: by the decision that each is about, without copies."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.errors import DataError
from stream.decisions.records import Alarm, decode_alarm, decode_decision, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.decisions.records import DecisionRecord

__all__ = ["Number", "Records"]

_NUMBERS: Final = 2**63


class Number(NamedTuple):
    """Names a decision: its number in a query of a ledger."""

    ledger: str
    query: str
    sequence: int


class Records:
    """Published decisions and alarms, each that differs from the others once."""

    def __init__(self) -> None:
        self._decisions: defaultdict[Number, list[DecisionRecord]] = defaultdict(list)
        self._alarms: defaultdict[Number, dict[bytes, Alarm]] = defaultdict(dict)
        self.unreadable: Counter[str] = Counter()

    def take(self, record: DecisionRecord | Alarm) -> None:
        """Take one; copies are nothing new."""
        number = Number(record.ledger, record.query, record.sequence)
        is_alarm = isinstance(record, Alarm)
        if not 0 < record.sequence < _NUMBERS:
            self.unreadable["alarm" if is_alarm else "decision"] += 1
        elif isinstance(record, Alarm):
            self._alarms[number].setdefault(encode(record), record)
        elif record not in self._decisions[number]:
            self._decisions[number].append(record)

    def take_decision(self, value: bytes | None) -> None:
        """Take a record of the decisions topic."""
        self._read(value, decode_decision, "decision")

    def take_alarm(self, value: bytes | None) -> None:
        """Take a record of the alarms topic."""
        self._read(value, decode_alarm, "alarm")

    def numbers(self) -> set[Number]:
        """Return which decisions the records are about."""
        return self._decisions.keys() | self._alarms.keys()

    def alarms_of(self, number: Number) -> list[Alarm]:
        """Return the alarms of a decision, in the order in which they were taken."""
        return list(self._alarms.get(number, {}).values())

    def decisions_of(self, number: Number) -> list[DecisionRecord]:
        """Return the records of a decision: one, but for what was altered."""
        return self._decisions.get(number, [])

    def _read(
        self, value: bytes | None, decode: Callable[[bytes], DecisionRecord | Alarm], kind: str
    ) -> None:
        try:
            self.take(decode(value or b""))
        except DataError:
            self.unreadable[kind] += 1
