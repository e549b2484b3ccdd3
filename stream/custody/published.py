"""What was published, as its records say: by the decision that each is about, without copies."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.errors import DataError
from stream.decisions.records import (
    Alarm,
    CountRecord,
    decode_alarm,
    decode_count,
    decode_decision,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Struct

    from stream.decisions.records import DecisionRecord, Record

__all__ = ["Number", "Records", "fields_altered"]

_NUMBERS: Final = 2**63
_KINDS: Final = {Alarm: "alarm", CountRecord: "count"}


class Number(NamedTuple):
    """Names a decision: its number in a query of a ledger."""

    ledger: str
    query: str
    sequence: int


class Records:
    """Published decisions, alarms and counts, each that differs from the others once."""

    def __init__(self) -> None:
        self._decisions: defaultdict[Number, list[DecisionRecord]] = defaultdict(list)
        self._alarms: defaultdict[Number, dict[bytes, Alarm]] = defaultdict(dict)
        self._counts: defaultdict[Number, dict[bytes, CountRecord]] = defaultdict(dict)
        self.unreadable: Counter[str] = Counter()

    def take(self, record: Record) -> None:
        """Take one; copies are nothing new."""
        number = Number(record.ledger, record.query, record.sequence)
        if not 0 < record.sequence < _NUMBERS:
            self.unreadable[_KINDS.get(type(record), "decision")] += 1
        elif isinstance(record, Alarm):
            self._alarms[number].setdefault(encode(record), record)
        elif isinstance(record, CountRecord):
            self._counts[number].setdefault(encode(record), record)
        elif record not in self._decisions[number]:
            self._decisions[number].append(record)

    def take_decision(self, value: bytes | None) -> None:
        """Take a record of the decisions topic."""
        self._read(value, decode_decision, "decision")

    def take_alarm(self, value: bytes | None) -> None:
        """Take a record of the alarms topic."""
        self._read(value, decode_alarm, "alarm")

    def take_count(self, value: bytes | None) -> None:
        """Take a record of the counts topic."""
        self._read(value, decode_count, "count")

    def numbers(self) -> set[Number]:
        """Return which decisions the records are about."""
        return self._decisions.keys() | self._alarms.keys() | self._counts.keys()

    def alarms_of(self, number: Number) -> list[Alarm]:
        """Return the alarms of a decision, in the order in which they were taken."""
        return list(self._alarms.get(number, {}).values())

    def counts_of(self, number: Number) -> list[CountRecord]:
        """Return the noisy counts of a decision, in the order in which they were taken."""
        return list(self._counts.get(number, {}).values())

    def first_counts(self) -> dict[tuple[str, str], int]:
        """Return, by ledger and query, the number of the first decision with counts."""
        return {
            (ledger, query): sequence
            for ledger, query, sequence in sorted(self._counts, reverse=True)
        }

    def decisions_of(self, number: Number) -> list[DecisionRecord]:
        """Return the records of a decision: one, but for what was altered."""
        return self._decisions.get(number, [])

    def _read(self, value: bytes | None, decode: Callable[[bytes], Record], kind: str) -> None:
        try:
            self.take(decode(value or b""))
        except DataError:
            self.unreadable[kind] += 1


def fields_altered(one: Struct, again: Struct) -> list[str]:
    """Return the fields of a record that differ from those of another of its kind."""
    names = one.__struct_fields__
    return [name for name in names if getattr(one, name) != getattr(again, name)]
