"""Charges and what is kept about them: totals, links, shapes, adopted decisions.

One half of :class:`accountant.store.rows.Transaction`; every method is one statement or two.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from accountant.costs.charges import WindowKey
from accountant.regions.shapes import Shape
from accountant.store import chain, schema
from accountant.store.entries import (
    FINAL,
    ChargeRow,
    ChargeState,
    PeriodTotal,
    read_adopted,
    read_charge,
    read_key,
)
from accountant.store.statements import Statements, add_up, fields, window_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accountant.records import SeenDecision, StoredDecision
    from accountant.store.chain import Happening, Link

__all__ = ["ChargeRows", "FinalLosses"]

CHUNK = 1_000


class FinalLosses(NamedTuple):
    """Charges of one query that have ended for good: all that are alike, or one whose cells differ.

    Args:
        key: the window of the one; ``None`` for those that cost all their cells the same.
        fingerprint: of the configuration.
        cells: cells of one window.
        periods: budget periods that each of them touches.
        windows: how many.
        units: what their dearest cells lost, added up.
        latest_ms: start of the one that starts last.
    """

    key: WindowKey | None
    fingerprint: str
    cells: int
    periods: tuple[int, ...]
    windows: int
    units: int
    latest_ms: int


class ChargeRows(Statements):
    """Rows of charges within one transaction."""

    def add_charges(self, rows: Sequence[ChargeRow]) -> None:
        """Store new charges."""
        values = [
            {**fields(row), **window_columns(row.key), "periods": json.dumps(row.periods)}
            for row in rows
        ]
        for one in values:
            del one["key"]
        for first in range(0, len(values), CHUNK):
            self._connection.execute(schema.charges.insert(), values[first : first + CHUNK])

    def charge(self, key: WindowKey) -> ChargeRow | None:
        """Return a window's charge."""
        found = self._get(schema.charges, window_columns(key))
        return None if found is None else read_charge(found)

    def update_charge(self, key: WindowKey, **values: Any) -> None:
        """Set columns of a charge."""
        self._set(schema.charges, window_columns(key), values)

    def charges_after(
        self, scope: str, end_ms: int, *, starting_before_ms: int | None = None
    ) -> list[ChargeRow]:
        """Return a budget's charges whose windows end after an instant."""
        bound = {"scope": scope, "end_ms": end_ms, "before_ms": starting_before_ms}
        if starting_before_ms is None:
            del bound["before_ms"]
        statement = _overlapping(bounded=starting_before_ms is not None)
        return [read_charge(row) for row in self._all(statement, bound)]

    def charges_in(self, scope: str, state: ChargeState) -> list[ChargeRow]:
        """Return a budget's charges that are reserved, or that are pending, in order."""
        rows = self._all(_in_state(state), {"scope": scope})
        return sorted((read_charge(row) for row in rows), key=lambda charge: charge.key)

    def charge_rows(self) -> Iterator[ChargeRow]:
        """Yield every charge."""
        yield from map(read_charge, self.rows("charges"))

    # --- realised losses

    def final_losses(
        self, scope: str, query: str, *, end_ms: int, by_ms: int | None = None
    ) -> list[FinalLosses]:
        """Return a query's charges that count for good, of windows that end after an instant.

        ``by_ms`` leaves out windows that start after it.
        """
        last_ms = 2**63 - 1 if by_ms is None else by_ms
        bound = {"scope": scope, "query": query, "end_ms": end_ms, "by_ms": last_ms}
        return [_final_losses(row, query) for row in self._all(_finals(), bound)]

    def final_losses_since(self, scope: str, query: str, number: int) -> list[FinalLosses]:
        """Return a query's charges that came to count for good after a link."""
        bound = {"scope": scope, "query": query, "link": number}
        return [_final_losses(row, query) for row in self._all(_finals_since(), bound)]

    def latest_final(self, query: str) -> tuple[int, tuple[int, ...]] | None:
        """Return start and periods of the charge that counts for good and starts last."""
        found = self._one(_latest_final(), {"query": query})
        return None if found is None else (found["start_ms"], _periods(found))

    # --- loss by period

    def totals(self, scope: str, periods: Iterable[int] | None = None) -> dict[int, PeriodTotal]:
        """Return what is held by period start, for some periods or all."""
        if periods is None:
            first, last = -(2**63), 2**63 - 1
        else:
            wanted = sorted(set(periods))
            if not wanted:
                return {}
            # A range, not a list of values: periods asked for together lie together.
            first, last = wanted[0], wanted[-1]
        bound = {"scope": scope, "first": first, "last": last}
        rows = self._connection.execute(_totals(), bound)
        return {int(period): PeriodTotal(int(held), int(final)) for period, held, final in rows}

    def add_to_totals(self, scope: str, change: Mapping[int, PeriodTotal]) -> None:
        """Add to what is held in some periods."""
        values = [
            {"scope": scope, "period_ms": at, "held_units": one.held, "final_units": one.final}
            for at, one in sorted(change.items())
        ]
        if values:
            both = ("held_units", "final_units")
            self._connection.execute(add_up(self._insert, schema.totals, both), values)

    def compacted(self, scope: str) -> dict[int, int]:
        """Return what compacted charges left behind, by period start."""
        table = schema.compacted
        statement = sa.select(table.c.period_ms, table.c.final_units).where(table.c.scope == scope)
        return {int(period): int(final) for period, final in self._connection.execute(statement)}

    # --- which rows a query covers

    def add_shape(self, query: str, fingerprint: str, shape: Shape) -> None:
        """Store which rows a query's cells cover under one configuration."""
        values = {"query": query, "fingerprint": fingerprint, **fields(shape)}
        self._connection.execute(schema.shapes.insert().values(values))

    def shape(self, query: str, fingerprint: str) -> Shape | None:
        """Return which rows a query's cells cover under one configuration."""
        found = self._get(schema.shapes, {"query": query, "fingerprint": fingerprint})
        return None if found is None else Shape(found["region"], found["grouping"])

    def shapes(self) -> dict[tuple[str, str], Shape]:
        """Return every shape by query and fingerprint."""
        return {
            (row["query"], row["fingerprint"]): Shape(row["region"], row["grouping"])
            for row in self.rows("shapes")
        }

    # --- the chain

    def append_links(self, scope: str, happened: Sequence[Happening]) -> None:
        """Add to a budget's chain; the scope is locked."""
        if not happened:
            return
        head = self._get(schema.scopes, {"scope": scope}) or {}
        links = chain.extend(head["chain_link"], head["chain_hash"], happened)
        values = [
            {
                "scope": scope,
                "link": link.number,
                "kind": link.kind.value,
                **window_columns(link.key),
                "told": link.told,
                "hash": link.hash,
            }
            for link in links
        ]
        for first in range(0, len(values), CHUNK):
            self._connection.execute(schema.links.insert(), values[first : first + CHUNK])
        head = {"chain_link": links[-1].number, "chain_hash": links[-1].hash}
        self._set(schema.scopes, {"scope": scope}, head)

    def links(self, scope: str) -> Iterator[Link]:
        """Yield a budget's links in order."""
        table = schema.links
        statement = sa.select(table).where(table.c.scope == scope).order_by(table.c.link)
        for row in map(dict, self._connection.execute(statement).mappings()):
            kind = chain.LinkKind(row["kind"])
            yield chain.Link(row["link"], kind, read_key(row), row["told"], bytes(row["hash"]))

    def last_state(self, scope: str) -> str | None:
        """Return what the newest state link of a budget's chain says."""
        table = schema.links
        told = sa.select(table.c.told).where(
            table.c.scope == scope,
            sa.text("told IS NOT NULL"),
            table.c.kind == chain.LinkKind.STATE.value,
        )
        newest: str | None = self._connection.scalar(told.order_by(table.c.link.desc()).limit(1))
        return newest

    def adoptions_told(self, scope: str) -> set[str]:
        """Return the digests of adopted decisions that the chain still tells of."""
        table = schema.links
        told = sa.select(table.c.told).where(
            table.c.scope == scope,
            sa.text("told IS NOT NULL"),
            table.c.kind == chain.LinkKind.ADOPTED.value,
        )
        return set(self._connection.scalars(told))

    # --- compaction

    def last_compactable_link(self, scope: str, horizon_ms: int) -> tuple[int, bytes] | None:
        """Return the link before the first that must stay, with its hash; ``None`` without one.

        A link may go when its charge has ended, its window ends by the horizon and its decision,
        if any, has left. Links of adopted decisions go with those around them.
        """
        link, charge, decision = schema.links, schema.charges, schema.decisions
        waiting = sa.exists().where(_same_window(decision, link), ~decision.c.published)
        is_open = charge.c.state.in_([ChargeState.PENDING.value, ChargeState.RESERVED.value])
        ended = link.c.kind == chain.LinkKind.ENDED.value
        stays = sa.or_(is_open, sa.and_(ended, sa.or_(charge.c.end_ms > horizon_ms, waiting)))
        joined = link.join(charge, _same_window(charge, link))
        first = (
            sa.select(sa.func.min(link.c.link))
            .select_from(joined)
            .where(link.c.scope == scope, stays)
        )
        before = sa.select(link.c.link, link.c.hash).where(link.c.scope == scope)
        stop = self._connection.scalar(first)
        if stop is not None:
            before = before.where(link.c.link < stop)
        found = self._one(before.order_by(link.c.link.desc()).limit(1))
        return None if found is None else (int(found["link"]), bytes(found["hash"]))

    def charges_ended_by_link(self, scope: str, number: int) -> list[ChargeRow]:
        """Return the charges that a link up to ``number`` ended."""
        charge = schema.charges
        ended = _ended_by(scope, number)
        rows = self._all(sa.select(charge).where(charge.c.scope == scope, ended))
        return [read_charge(row) for row in rows]

    def drop_charges_by_link(self, scope: str, number: int) -> None:
        """Delete the links up to ``number``, the charges that they ended, and their alarms."""
        charge, link, decision = schema.charges, schema.links, schema.decisions
        ended = _ended_by(scope, number)
        gone = sa.exists().where(_same_window(charge, decision), charge.c.scope == scope, ended)
        archived = {"archived": True, "alarms": b""}
        self._connection.execute(decision.update().where(gone).values(archived))
        self._connection.execute(charge.delete().where(charge.c.scope == scope, ended))
        past = (link.c.scope == scope, link.c.link <= number)
        self._connection.execute(link.delete().where(*past))

    def add_to_compacted(self, scope: str, change: Mapping[int, int]) -> None:
        """Add to what compacted charges left behind."""
        values = [
            {"scope": scope, "period_ms": period, "final_units": units}
            for period, units in sorted(change.items())
        ]
        if values:
            statement = add_up(self._insert, schema.compacted, ("final_units",))
            self._connection.execute(statement, values)

    # --- decisions of another timeline

    def add_adopted(self, seen: SeenDecision, *, adopted_at_ms: int) -> None:
        """Store a decision that was seen on the topic."""
        values = {
            **fields(seen),
            "digest": seen.digest,
            "loss_units": seen.loss_units,
            "periods": json.dumps(seen.periods),
            "adopted_at_ms": adopted_at_ms,
        }
        del values["next_start_ms"]
        self._connection.execute(schema.adopted.insert().values(values))

    def adopted_digests(self, ledger_ids: Iterable[str]) -> set[str]:
        """Return what was adopted from some ledgers, as digests."""
        table = schema.adopted
        statement = sa.select(table.c.digest).where(table.c.ledger_id.in_(sorted(set(ledger_ids))))
        return set(self._connection.scalars(statement))

    def adopted(self, key: WindowKey) -> StoredDecision | None:
        """Return a window's decision by another timeline, if one was adopted."""
        found = self._get(schema.adopted, window_columns(key))
        return None if found is None else read_adopted(found)

    def adopted_rows(self, scope: str, end_ms: int = -(2**63)) -> list[dict[str, Any]]:
        """Return the adopted decisions of a budget that end after an instant, or all."""
        rows = self._all(_adopted(), {"scope": scope, "end_ms": end_ms})
        return [{**row, "periods": _periods(row)} for row in rows]


@cache
def _overlapping(*, bounded: bool) -> Any:
    table = schema.charges
    where = [table.c.scope == sa.bindparam("scope"), table.c.end_ms > sa.bindparam("end_ms")]
    if bounded:
        where.append(table.c.start_ms < sa.bindparam("before_ms"))
    return sa.select(table).where(*where)


@cache
def _in_state(state: ChargeState) -> Any:
    table = schema.charges
    # The state stands in the text, so that the planner can use the partial index.
    where = (table.c.scope == sa.bindparam("scope"), sa.text(f"state = '{state.value}'"))
    return sa.select(table).where(*where)


def _alike(*where: Any, source: Any = None) -> Any:
    """Add up charges that count for good; those whose cells differ stay single."""
    table = schema.charges
    alone = table.c.costs.is_not(None)
    start = sa.case((alone, table.c.start_ms)).label("start_ms")
    end = sa.case((alone, table.c.end_ms)).label("end_ms")
    by = (start, end, table.c.fingerprint, table.c.cells, table.c.periods)
    # Spent: never settled.
    lost = sa.func.coalesce(table.c.settled_units, table.c.held_units, table.c.units)
    added = (
        sa.func.count().label("windows"),
        sa.func.sum(lost).label("lost"),
        sa.func.max(table.c.start_ms).label("latest_ms"),
    )
    final = table.c.state.in_([state.value for state in FINAL])
    found = sa.select(*by, *added).select_from(table if source is None else source)
    return found.where(final, *where).group_by(*by)


@cache
def _finals() -> Any:
    table = schema.charges
    of = [table.c[name] == sa.bindparam(name) for name in ("scope", "query")]
    after = table.c.end_ms > sa.bindparam("end_ms")
    return _alike(*of, after, table.c.start_ms <= sa.bindparam("by_ms"))


@cache
def _finals_since() -> Any:
    table, link = schema.charges, schema.links
    of = [link.c[name] == sa.bindparam(name) for name in ("scope", "query")]
    ended = (link.c.kind == chain.LinkKind.ENDED.value, link.c.link > sa.bindparam("link"))
    return _alike(*of, *ended, source=link.join(table, _same_window(table, link)))


@cache
def _latest_final() -> Any:
    table = schema.charges
    final = table.c.state.in_([state.value for state in FINAL])
    latest = (table.c.start_ms.desc(), table.c.end_ms.desc())
    columns = sa.select(table.c.start_ms, table.c.periods)
    return columns.where(table.c.query == sa.bindparam("query"), final).order_by(*latest).limit(1)


def _final_losses(row: Mapping[str, Any], query: str) -> FinalLosses:
    start_ms, end_ms = row["start_ms"], row["end_ms"]
    return FinalLosses(
        key=None if start_ms is None else WindowKey(end_ms, query, start_ms),
        fingerprint=row["fingerprint"],
        cells=row["cells"],
        periods=_periods(row),
        windows=row["windows"],
        units=int(row["lost"]),
        latest_ms=row["latest_ms"],
    )


def _periods(row: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(json.loads(row["periods"]))


@cache
def _totals() -> Any:
    table = schema.totals
    between = table.c.period_ms.between(sa.bindparam("first"), sa.bindparam("last"))
    columns = (table.c.period_ms, table.c.held_units, table.c.final_units)
    return sa.select(*columns).where(table.c.scope == sa.bindparam("scope"), between)


@cache
def _adopted() -> Any:
    table = schema.adopted
    where = (table.c.scope == sa.bindparam("scope"), table.c.end_ms > sa.bindparam("end_ms"))
    return sa.select(table).where(*where)


def _same_window(one: sa.Table, other: sa.Table) -> Any:
    names = ("query", "start_ms", "end_ms")
    return sa.and_(*(one.c[name] == other.c[name] for name in names))


def _ended_by(scope: str, number: int) -> Any:
    link = schema.links
    return sa.exists().where(
        _same_window(link, schema.charges),
        link.c.scope == scope,
        link.c.kind == chain.LinkKind.ENDED.value,
        link.c.link <= number,
    )
