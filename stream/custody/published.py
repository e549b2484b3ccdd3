"""What was published, as its records say: by the decision that each is about, without copies."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.errors import DataError
from stream.decisions.records import (
    AlarmRecord,
    CountRecord,
    DecisionRecord,
    Record,
    decode_alarm,
    decode_count,
    decode_decision,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Struct

__all__ = ["Number", "Records", "fields_altered"]

_NUMBERS: Final = 2**63
_KINDS: Final[dict[type[Record], tuple[str, Callable[[bytes], Record]]]] = {
    DecisionRecord: ("decision", decode_decision),
    AlarmRecord: ("alarm", decode_alarm),
    CountRecord: ("count", decode_count),
}


class Number(NamedTuple):
    """Names a decision: its number in an alarm of a ledger."""

    ledger: str
    alarm: str
    sequence: int


class Records:
    """Published decisions, alarms and counts, each that differs from the others once."""

    def __init__(self) -> None:
        self._kept: defaultdict[Number, dict[bytes, Record]] = defaultdict(dict)
        self.unreadable: Counter[str] = Counter()
        """How many could not be taken, by kind, in a word."""

    def take(self, record: Record) -> None:
        """Take one; copies are nothing new."""
        if 0 < record.sequence < _NUMBERS:
            number = Number(record.ledger, record.alarm, record.sequence)
            self._kept[number].setdefault(encode(record), record)
        else:
            self.unreadable[_KINDS[type(record)][0]] += 1

    def read(self, kind: type[Record], value: bytes | None) -> None:
        """Take a record of the topic of a kind, if this version would write it so."""
        word, decode = _KINDS[kind]
        try:
            record = decode(value or b"")
        except DataError:
            record = None
        if record is not None and encode(record) == value:
            self.take(record)
        else:
            self.unreadable[word] += 1

    def numbers(self) -> set[Number]:
        """Return which decisions the records are about."""
        return set(self._kept)

    def of(self, number: Number) -> list[Record]:
        """Return the records of a decision, in the order in which they were taken."""
        return list(self._kept.get(number, {}).values())

    def first_counts(self) -> dict[tuple[str, str], int]:
        """Return, by ledger and alarm, the number of the first decision with counts."""
        return {
            (ledger, alarm): sequence
            for (ledger, alarm, sequence), records in sorted(self._kept.items(), reverse=True)
            if any(isinstance(one, CountRecord) for one in records.values())
        }


def fields_altered(one: Struct, again: Struct) -> list[str]:
    """Return the fields of a record that differ from those of another of its kind."""
    names = one.__struct_fields__
    return [name for name in names if getattr(one, name) != getattr(again, name)]
