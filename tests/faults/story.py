"""What a ledger's log says of its windows, read beside all of Tocsin.

Written from the promises and from nothing of Tocsin's but the names of its entries' fields: what
folds them is looked at, too.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(slots=True)
class Told:
    """What a log says of one window.

    Args:
        answer: what it was answered last; ``spent`` where another copy's decision passed over it.
        ended: how it ended; ``None`` where it has not.
        number: of the entry that says so.
    """

    answer: str | None = None
    ended: dict[str, Any] | None = None
    number: int = 0

    @property
    def charged(self) -> bool:
        """Whether it was decided at a loss, within what was reserved for it before."""
        ended = self.ended or {}
        return self.answer == "reserved" and "settled_units" in ended and "asked" in ended


@dataclass(slots=True)
class Story:
    """What a log says of its one alarm.

    Args:
        windows: by their start.
        cursor_ms: start of the oldest undecided window; ``None`` where no alarm is registered.
    """

    windows: defaultdict[int, Told] = field(default_factory=lambda: defaultdict(Told))
    cursor_ms: int | None = None
    _replaced: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Story:
        """Return what entries say: number, kind and payload of each, in order."""
        story = cls()
        for number, kind, payload in rows:
            story._take(number, kind, json.loads(payload))
        return story

    def numbered(self, sequence: int) -> tuple[int, Told] | None:
        """Return the window that a decision of this number is of: its start, and what is told."""
        ended = ((start_ms, told) for start_ms, told in self.windows.items() if told.ended)
        return next((each for each in ended if each[1].ended["sequence"] == sequence), None)

    def waiting(self, until_ms: int, left_ms: int) -> int:
        """Return how many decisions of windows that end by an instant have not left.

        Args:
            until_ms: the instant.
            left_ms: start of the last window whose decision has.
        """
        return sum(
            told.ended["end_ms"] <= until_ms and start_ms > left_ms
            for start_ms, told in self.windows.items()
            if told.ended is not None and start_ms not in self._replaced
        )

    def _take(self, number, kind, entry):
        if kind in {"query", "passed"}:
            self.cursor_ms = entry["cursor_ms"]
        elif kind in {"admitted", "answered"}:
            for asked in entry.get("windows", ()):
                self.windows[asked["start_ms"]].answer = asked["answer"]
        elif kind == "ended":
            told = self.windows[entry["start_ms"]]
            told.ended, told.number = entry, number
            self.cursor_ms = entry["next_start_ms"]
        elif kind == "recovered" and self.cursor_ms is not None:
            for seen in entry["decisions"]:
                self._pass_over(seen["start_ms"], seen["next_start_ms"])

    def _pass_over(self, start_ms, next_start_ms):
        if start_ms < self.cursor_ms:
            self._replaced.add(start_ms)
        self.cursor_ms = max(self.cursor_ms, next_start_ms)
        for start, told in self.windows.items():
            if start < self.cursor_ms and told.ended is None:
                told.answer = "spent"
