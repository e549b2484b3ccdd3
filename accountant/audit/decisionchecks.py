"""What contradicts itself among the decisions of one query, read in the order of their numbers."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from heapq import merge
from itertools import chain as chained
from typing import TYPE_CHECKING

from accountant.audit import archivechecks, releasechecks, runchecks
from accountant.records import Outcome
from accountant.store.tables.decided import TallyRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accountant.costs.runs import StoredRun
    from accountant.store.tables.decided import ArchiveRow, DecisionRow, GapRow
    from accountant.store.tables.pinned import QueryRow
    from accountant.store.transaction import Transaction

__all__ = ["problems", "tally_problems"]

_BEGINNING_MS = -(2**63)


def problems(
    tx: Transaction,
    queries: Mapping[str, QueryRow],
    runs: Mapping[str, StoredRun],
    from_ms: Mapping[str, int],
) -> Iterator[str]:
    """Yield what contradicts the decisions, one sentence each.

    Args:
        tx: sees one snapshot.
        queries: as they are registered, by name.
        runs: as they stand, by query.
        from_ms: by query, the start of the first window whose decision is looked at: all without.
    """
    last = tx.sequences.last()
    beside: defaultdict[str, list[GapRow | ArchiveRow]] = defaultdict(list)
    for gap in tx.sequences.gaps.each():
        beside[gap.query].append(gap)
    for name in sorted(last.keys() | queries.keys() | beside.keys() | runs.keys()):
        since_ms = from_ms.get(name, _BEGINNING_MS)
        anew = since_ms == _BEGINNING_MS
        query, run = queries.get(name), runs.get(name)
        watch = _Watch(name, query, run)
        numbers = _Numbers(name, last.get(name, 0), anew=anew)
        kept, archived = tx.sequences.of(name), tx.archives.all(query=name)
        yield from archivechecks.kept_problems(kept, archived)
        hashes = releasechecks.Hashes(tx, kept, anew=anew)
        stated = tx.decisions.in_order(name, since_ms)
        spans = sorted(
            (one.first_sequence, one.last_sequence) for one in (*beside[name], *archived)
        )
        for first, until, one in merge(
            ((one.sequence, one.sequence, one) for one in stated),
            ((*span, None) for span in spans),
            key=lambda each: each[:2],
        ):
            if one is None and not anew and numbers.begins:
                continue  # before whatever is read
            yield from numbers.take(first, until)
            if one is not None:
                watch.take(one)
                yield from hashes.take(one)
        yield from chained(numbers.end(), watch.end(), hashes.end(query, run))
        yield from _uncharged(tx, name, since_ms)


def tally_problems(tx: Transaction) -> Iterator[str]:
    """Count the decisions again, and those in archives as they were counted when they went."""
    kept = {(one.query, one.outcome, one.reason): one for one in tx.tallies.each()}
    found: dict[tuple[str, Outcome, str], TallyRow] = {}
    for one in chained(tx.tallies.recounted(), _archived_tallies(tx)):
        key = (one.query, one.outcome, one.reason)
        so_far = found.get(key, replace(one, windows=0))
        windows, last_ms = so_far.windows + one.windows, max(so_far.last_ms, one.last_ms)
        found[key] = replace(one, windows=windows, last_ms=last_ms)
    for key in sorted(kept.keys() | found.keys()):
        if kept.get(key) != found.get(key):
            query, outcome, reason = key
            how = f"{outcome} ({reason})" if reason else f"{outcome}"
            yield f"windows of {query!r} that were {how} are not counted as they are stored"


def _archived_tallies(tx: Transaction) -> Iterator[TallyRow]:
    for row in tx.archives.each():
        for outcome, reason, windows, last_ms in json.loads(row.tallies):
            yield TallyRow(row.query, Outcome(outcome), reason, windows, last_ms)


def _uncharged(tx: Transaction, query: str, since_ms: int) -> Iterator[str]:
    for start_ms, end_ms in tx.decisions.uncharged(query, since_ms):
        yield f"window [{start_ms}, {end_ms}) of {query!r} is decided without a charge"


class _Numbers:
    """Follows the numbers of a query's decisions, which leave none out and use none twice.

    Args:
        query: its name.
        last: the last number.
        anew: whether they are read from the first on; else from whatever comes first.
    """

    def __init__(self, query: str, last: int, *, anew: bool) -> None:
        self._query = query
        self._last = last
        self._next: int | None = 1 if anew else None
        self._missing = 0
        self._first_missing = 0

    @property
    def begins(self) -> bool:
        """Whether none was taken yet, and any may come first."""
        return self._next is None

    def take(self, first: int, until: int) -> Iterator[str]:
        """Take numbers that are used, in order of the first."""
        expected = first if self._next is None else self._next
        if first > expected:
            self._miss(expected, first)
        twice = first < expected
        if twice or until > self._last:
            number, times = (first, 2) if twice else (until, 1)
            yield f"number {number} of {self._query!r} is used {times} time(s) up to {self._last}"
        self._next = max(expected, until + 1)

    def end(self) -> Iterator[str]:
        """Say which are missing."""
        if self._next is not None and self._next <= self._last:
            self._miss(self._next, self._last + 1)
        if self._missing:
            yield (
                f"{self._missing} number(s) of {self._query!r} have no decision, "
                f"first {self._first_missing}"
            )

    def _miss(self, first: int, until: int) -> None:
        self._first_missing = self._first_missing or first
        self._missing += until - first


class _Watch:
    """Looks at the order of a query's decisions, at its cursor and at its run."""

    def __init__(self, name: str, query: QueryRow | None, run: StoredRun | None) -> None:
        self._name = name
        self._query = query
        self._in_order = True
        self._last_ms: int | None = None
        self._run = None if run is None else runchecks.RunSum(run)

    def take(self, one: DecisionRow) -> None:
        """Take the next decision."""
        if self._last_ms is not None and one.start_ms <= self._last_ms:
            self._in_order = False
        self._last_ms = one.start_ms
        if self._run is not None and one.outcome == Outcome.DECIDED:
            self._run.take(one)

    def end(self) -> Iterator[str]:
        """Say what was wrong."""
        if not self._in_order:
            yield f"windows of {self._name!r} were decided twice or out of order"
        query = self._query
        if query is not None and self._last_ms is not None and self._last_ms >= query.cursor_ms:
            yield f"the cursor of {self._name!r} stands before a decided window"
        if self._run is not None:
            yield from self._run.problems(query)
