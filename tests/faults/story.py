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
    """What a log says.

    Args:
        windows: by query and start.
        cursors: the oldest undecided window of every query.
    """

    windows: defaultdict[tuple[str, int], Told] = field(default_factory=lambda: defaultdict(Told))
    cursors: dict[str, int] = field(default_factory=dict)
    _replaced: set[tuple[str, int]] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Story:
        """Return what entries say: number, kind and payload of each, in order."""
        story = cls()
        for number, kind, payload in rows:
            story._take(number, kind, json.loads(payload))
        return story

    def numbered(self, query: str, sequence: int) -> tuple[int, Told] | None:
        """Return the start of the window that a query's decision of this number is of."""
        return next(
            (
                (start_ms, told)
                for (name, start_ms), told in self.windows.items()
                if name == query and told.ended and told.ended["sequence"] == sequence
            ),
            None,
        )

    def waiting(self, until_ms: int, left: dict[str, int]) -> int:
        """Return how many decisions of windows that end by an instant have not left.

        Args:
            until_ms: the instant.
            left: start of the last window whose decision has, by query.
        """
        return sum(
            told.ended["end_ms"] <= until_ms and start_ms > left.get(query, -1)
            for (query, start_ms), told in self.windows.items()
            if told.ended is not None and (query, start_ms) not in self._replaced
        )

    def _take(self, number, kind, entry):
        if kind == "query":
            self.cursors[entry["query"]] = entry["cursor_ms"]
        elif kind in {"admitted", "answered"}:
            for asked in entry.get("windows", ()):
                self.windows[asked["query"], asked["start_ms"]].answer = asked["answer"]
        elif kind == "ended":
            told = self.windows[entry["query"], entry["start_ms"]]
            told.ended, told.number = entry, number
            self.cursors[entry["query"]] = entry["next_start_ms"]
        elif kind == "recovered":
            for seen in entry["decisions"]:
                self._pass_over(seen["query"], seen["start_ms"], seen["next_start_ms"])
        elif kind == "passed":
            self.cursors[entry["query"]] = entry["cursor_ms"]

    def _pass_over(self, query, start_ms, next_start_ms):
        if query not in self.cursors:
            return
        if start_ms < self.cursors[query]:
            self._replaced.add((query, start_ms))
        self.cursors[query] = max(self.cursors[query], next_start_ms)
        for (name, start), told in self.windows.items():
            if name == query and start < self.cursors[query] and told.ended is None:
                told.answer = "spent"
