"""Decisions of this ledger with their numbers, and those adopted from other timelines."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from accountant.records import Outcome, StoredDecision
from accountant.store import decisionchain, rows
from accountant.store.among import among, listed
from accountant.store.declaration import made_from
from accountant.store.rows import Rows, same_window
from accountant.store.schema import table_of
from accountant.store.tables.charged import CHARGES
from accountant.store.tables.decided import (
    ADOPTED,
    DECISIONS,
    GAPS,
    SEQUENCES,
    TALLIES,
    AdoptedRow,
    DecisionRow,
    GapRow,
    SequenceRow,
    TallyRow,
)
from accountant.store.tables.windows import window_columns
from accountant.store.tallies import Tallies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accountant.costs.charges import WindowKey
    from accountant.records import SeenDecision
    from accountant.store.among import Listed

__all__ = ["Adopted", "Decisions", "Left", "Sequences", "Stated"]

_DECISIONS, _ADOPTED, _CHARGES = (table_of(one) for one in (DECISIONS, ADOPTED, CHARGES))


class Stated(NamedTuple):
    """What a decision states, without its alarms.

    Args:
        sequence: its number.
        start_ms: start of its window.
        end_ms: end of its window.
        outcome: as it is stored.
        alarm_count: how many alarms it gave.
        epsilon_units: what it says that it cost.
        archived: whether its charge is said to be gone.
        hash: as it is stored.
    """

    sequence: int
    start_ms: int
    end_ms: int
    outcome: str
    alarm_count: int
    epsilon_units: int
    archived: bool
    hash: bytes


class Left(NamedTuple):
    """What of a decision tells whether its charge may go, and what it leaves.

    Args:
        query: whose it is.
        start_ms: start of its window.
        end_ms: end of its window.
        sequence: its number.
        hash: as it is stored.
        alarms: as they are stored.
        published: whether it has left.
    """

    query: str
    start_ms: int
    end_ms: int
    sequence: int
    hash: bytes
    alarms: bytes
    published: bool

    @property
    def window(self) -> tuple[str, int, int]:
        """Its window, by the columns."""
        return self[:3]


class Decisions(Rows[DecisionRow]):
    """Decisions of this ledger, whose id no row repeats."""

    def store(
        self,
        decision: StoredDecision,
        *,
        next_start_ms: int,
        run_digest: bytes | None,
        last: SequenceRow,
    ) -> bytes:
        """Store a decision, count it, and return its hash.

        Args:
            decision: the next one of its query.
            next_start_ms: where the query's cursor goes.
            run_digest: of the run that it leaves; ``None`` without one.
            last: what is kept of the query's numbers: that of this one, and the hash before it.
        """
        window = window_columns(decision.key)
        row = made_from(
            DecisionRow,
            decision,
            **window,
            archived=False,
            next_start_ms=next_start_ms,
            run_digest=run_digest,
            alarms_digest=None,
            hash=b"",
        )
        row = replace(row, hash=decisionchain.hash_after(last.hash, row))
        self.add(row)
        reason, at_ms = decision.reason or "", decision.decided_at_ms
        tally = TallyRow(decision.key.query, decision.outcome, reason, 1, at_ms)
        Tallies(self._connection, TALLIES).count([tally])
        return row.hash

    def of(self, key: WindowKey, *, ledger_id: str) -> StoredDecision | None:
        """Return a window's decision."""
        found = self.at(key)
        return None if found is None else made_from(StoredDecision, found, ledger_id=ledger_id)

    def between(
        self, query: str, first_start_ms: int, last_start_ms: int, *, ledger_id: str
    ) -> list[StoredDecision]:
        """Return a query's decisions by range of window starts (inclusive)."""
        starts = _DECISIONS.c.start_ms.between(first_start_ms, last_start_ms)
        found = self._read(sa.select(_DECISIONS).where(_DECISIONS.c.query == query, starts))
        return [made_from(StoredDecision, row, ledger_id=ledger_id) for row in found]

    def unpublished(
        self, query: str, released_by_ms: int, limit: int, *, ledger_id: str
    ) -> list[StoredDecision]:
        """Return the decisions that may leave now, in order; none passes an earlier one."""
        waiting = sa.select(_DECISIONS).where(_DECISIONS.c.query == query, sa.text("NOT published"))
        ready: list[StoredDecision] = []
        for row in self._read(waiting.order_by(_DECISIONS.c.sequence).limit(limit)):
            if row.release_ms > released_by_ms:
                break
            ready.append(made_from(StoredDecision, row, ledger_id=ledger_id))
        return ready

    def waiting(self, released_by_ms: int) -> set[str]:
        """Return the queries that have decisions which may leave now."""
        return set(self._connection.scalars(_waiting(), {"by_ms": released_by_ms}))

    def last_decided_ms(self) -> int | None:
        """Return when the latest of the queries' last decisions was made; ``None`` without one."""
        last: int | None = self._connection.scalar(_last_decided())
        return last

    def left_among(self, windows: Listed) -> list[Left]:
        """Return what of some windows' decisions tells whether they go, and what they leave."""
        found = self._connection.execute(_left_among(self._dialect), {"windows": windows}).all()
        return [Left._make(row) for row in found]

    def strip(self, going: Iterable[Left]) -> None:
        """Leave digests of the alarms of some decisions, whose charges go."""
        alike: defaultdict[bytes, list[tuple[str, int, int]]] = defaultdict(list)
        for one in going:
            alike[one.alarms].append(one.window)
        statement = _strip_among(self._dialect)
        for alarms, mine in alike.items():
            given = {"windows": listed(mine), "digest": decisionchain.alarms_digest(alarms)}
            self._connection.execute(statement, given)

    def before(self, query: str, sequence: int) -> DecisionRow | None:
        """Return the last decision of a query before a number."""
        found = self._read(_before(), query=query, sequence=sequence)
        return found[0] if found else None

    def in_order(self, query: str, since_ms: int) -> Iterator[DecisionRow]:
        """Yield a query's decisions by number, from the window at an instant on."""
        after = -(2**63)
        if since_ms > after:
            bound = {"query": query, "since_ms": since_ms}
            first = self._connection.scalar(_first_since(), bound)
            after = 2**63 - 1 if first is None else first - 1
        while found := self.page(query, after):
            yield from found
            after = found[-1].sequence

    def page(self, query: str, after: int) -> list[DecisionRow]:
        """Return the next decisions of a query behind a number, in their order."""
        return self._read(_in_order(), query=query, limit=rows.PAGE, after=after)

    def stated_among(self, windows: Listed) -> dict[tuple[str, int, int], Stated]:
        """Return what the decisions of some windows state."""
        found = self._connection.execute(_stated_among(self._dialect), {"windows": windows}).all()
        return {(row[0], row[2], row[3]): Stated._make(row[1:]) for row in found}

    def uncharged(self, query: str, since_ms: int) -> list[tuple[int, int]]:
        """Return a query's windows that are decided without a charge, none compacted, by start."""
        bound = {"query": query, "since_ms": since_ms}
        return [(start, end) for start, end in self._connection.execute(_uncharged(), bound)]

    def unpublished_by_query(self) -> dict[str, int]:
        """Return how many decisions have not left, of every query that has any."""
        return dict(map(tuple, self._connection.execute(_unpublished_by_query())))


class Sequences:
    """Numbers of decisions, by query: touched only while its scope is locked."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._last = Rows(connection, SEQUENCES)
        self.gaps = Rows(connection, GAPS)

    def take(self, query: str) -> SequenceRow:
        """Return what is kept of a query's numbers with the next one taken: yet to be put."""
        before = self.of(query)
        return replace(before, last_sequence=before.last_sequence + 1)

    def of(self, query: str) -> SequenceRow:
        """Return what is kept of a query's numbers; before the first, what they begin with."""
        found = self._last.get(query=query)
        return found or SequenceRow(query, 0, decisionchain.begin(query), 0, b"")

    def put(self, *rows: SequenceRow) -> None:
        """Keep something else of the numbers of queries."""
        self._last.put(*rows)

    def all(self) -> list[SequenceRow]:
        """Return what is kept of every query that has a number."""
        return self._last.all()

    def last(self) -> dict[str, int]:
        """Return the last number of every query that has one."""
        return dict(map(tuple, self._connection.execute(_last_numbers())))

    def last_of(self, query: str) -> int:
        """Return the number of a query's last decision; 0 before the first."""
        return self.of(query).last_sequence

    def skip(self, query: str, last: int, *, declared_at_ms: int) -> None:
        """Declare the numbers up to ``last`` as used by another timeline of this ledger."""
        before = self.of(query)
        self.gaps.add(GapRow(query, before.last_sequence + 1, last, declared_at_ms))
        self.put(replace(before, last_sequence=last))


class Adopted(Rows[AdoptedRow]):
    """Decisions of other timelines that were taken over as spent."""

    def store(self, seen: SeenDecision, *, adopted_at_ms: int) -> None:
        """Store a decision that was seen on the topic."""
        self.add(made_from(AdoptedRow, seen, adopted_at_ms=adopted_at_ms))

    def of(self, key: WindowKey) -> StoredDecision | None:
        """Return a window's decision, already published, if one was adopted."""
        found = self.at(key)
        if found is None:
            return None
        return made_from(
            StoredDecision,
            found,
            reason=None if found.outcome is Outcome.DECIDED else "adopted",
            alarms=b"",
            release_ms=found.adopted_at_ms,
            decided_at_ms=found.adopted_at_ms,
            published=True,
            fingerprint="",
        )

    def digests(self, ledger_ids: Iterable[str]) -> set[str]:
        """Return what was adopted from some ledgers, as digests."""
        of = _ADOPTED.c.ledger_id.in_(sorted(set(ledger_ids)))
        return set(self._connection.scalars(sa.select(_ADOPTED.c.digest).where(of)))

    def after(self, scope: str, end_ms: int = -(2**63)) -> list[AdoptedRow]:
        """Return those of a budget that end after an instant, or all."""
        return self._read(_after(), scope=scope, end_ms=end_ms)


@cache
def _last_numbers() -> Any:
    columns = table_of(SEQUENCES).c
    return sa.select(columns.query, columns.last_sequence)


@cache
def _last_decided() -> Any:
    # One look for each query: as a join, SQLite would read every decision to find the few.
    numbers = table_of(SEQUENCES)
    last = (_DECISIONS.c.query == numbers.c.query, _DECISIONS.c.sequence == numbers.c.last_sequence)
    each = sa.select(_DECISIONS.c.decided_at_ms).where(*last).correlate(numbers).scalar_subquery()
    return sa.select(sa.func.max(each)).select_from(numbers)


@cache
def _left_among(dialect: str) -> Any:
    columns = (_DECISIONS.c[name] for name in Left._fields)
    return sa.select(*columns).where(among(_DECISIONS, dialect))


@cache
def _strip_among(dialect: str) -> Any:
    stripped = _DECISIONS.update().where(among(_DECISIONS, dialect))
    digest: Any = sa.bindparam("digest")
    return stripped.values(archived=sa.true(), alarms=b"", alarms_digest=digest)


@cache
def _first_since() -> Any:
    since = _DECISIONS.c.start_ms >= sa.bindparam("since_ms")
    mine = (_DECISIONS.c.query == sa.bindparam("query"), since)
    by_start = sa.select(_DECISIONS.c.sequence).where(*mine).order_by(_DECISIONS.c.start_ms)
    return by_start.limit(1)


@cache
def _in_order() -> Any:
    behind = _DECISIONS.c.sequence > sa.bindparam("after")
    mine = sa.select(_DECISIONS).where(_DECISIONS.c.query == sa.bindparam("query"), behind)
    return mine.order_by(_DECISIONS.c.sequence).limit(sa.bindparam("limit"))


@cache
def _before() -> Any:
    earlier = _DECISIONS.c.sequence < sa.bindparam("sequence")
    mine = sa.select(_DECISIONS).where(_DECISIONS.c.query == sa.bindparam("query"), earlier)
    return mine.order_by(_DECISIONS.c.sequence.desc()).limit(1)


@cache
def _stated_among(dialect: str) -> Any:
    columns = (_DECISIONS.c[name] for name in ("query", *Stated._fields))
    return sa.select(*columns).where(among(_DECISIONS, dialect))


@cache
def _uncharged() -> Any:
    mine = _DECISIONS.c.query == sa.bindparam("query")
    since = _DECISIONS.c.start_ms >= sa.bindparam("since_ms")
    charge = sa.exists().where(same_window(_CHARGES, _DECISIONS))
    columns = (_DECISIONS.c.start_ms, _DECISIONS.c.end_ms)
    found = sa.select(*columns).where(mine, since, ~_DECISIONS.c.archived, ~charge)
    return found.order_by(*columns)


@cache
def _unpublished_by_query() -> Any:
    # As in _waiting.
    waiting = sa.select(_DECISIONS.c.query, sa.func.count()).where(sa.text("NOT published"))
    return waiting.group_by(_DECISIONS.c.query)


@cache
def _waiting() -> Any:
    # The condition stands in the text, so that the planner can use the partial index.
    ready = _DECISIONS.c.release_ms <= sa.bindparam("by_ms")
    return sa.select(_DECISIONS.c.query).where(sa.text("NOT published"), ready).distinct()


@cache
def _after() -> Any:
    columns = _ADOPTED.c
    where = (columns.scope == sa.bindparam("scope"), columns.end_ms > sa.bindparam("end_ms"))
    return sa.select(_ADOPTED).where(*where)
