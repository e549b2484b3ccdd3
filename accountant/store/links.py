"""The links of chains as they are stored; :mod:`accountant.store.chain` makes them."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from accountant.store import chain, rows
from accountant.store.among import among
from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables.charged import LINKS, LinkKind, LinkRow
from accountant.store.tables.pinned import SCOPES
from accountant.store.tables.windows import WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.store.among import Listed
    from accountant.store.chain import Happening
    from accountant.store.tables.pinned import ScopeRow

__all__ = ["Links", "Told"]

_LINKS = table_of(LINKS)
_OF_CHARGES = {LinkKind.SERVED.value, LinkKind.ENDED.value}


class Told(NamedTuple):
    """What a link tells of, without its hash: cheaper than the row where there are many.

    Args:
        number: of the link.
        kind: of what it tells.
        window: by its columns.
    """

    number: int
    kind: str
    window: tuple[str, int, int]

    @property
    def ended(self) -> bool:
        """Whether it tells what became of a charge."""
        return self.kind == LinkKind.ENDED


class Links(Rows[LinkRow]):
    """Links of the chains of all budgets."""

    def append(
        self,
        scope: str,
        happened: Sequence[Happening],
        head: ScopeRow | None = None,
        **changed: Any,
    ) -> None:
        """Add to a budget's chain.

        Args:
            scope: the budget; it is locked.
            happened: what to add.
            head: the budget's row, where nothing was added since it was read.
            changed: further columns of that row, to be set with the chain's end.
        """
        scopes = Rows(self._connection, SCOPES)
        if happened:
            head = head or scopes.get(scope=scope)
            if head is None:
                raise LookupError(scope)
            links = chain.extend(scope, head.chain_link, head.chain_hash, happened)
            self.add(*links)
            changed |= {"chain_link": links[-1].link, "chain_hash": links[-1].hash}
        if changed:
            scopes.change({"scope": scope}, **changed)

    def hash_of(self, scope: str, number: int) -> bytes | None:
        """Return the hash of a link; ``None`` where a budget's chain has it no more, or not yet."""
        found = self.get(scope=scope, link=number)
        return None if found is None else found.hash

    def last_state(self, scope: str) -> str | None:
        """Return what the newest state link of a budget's chain says."""
        bound = {"scope": scope, "kind": LinkKind.STATE.value}
        return next(iter(self._connection.scalars(_last_told(), bound)), None)

    def adoptions_told(self, scope: str) -> set[str]:
        """Return the digests of adopted decisions that the chain still tells of."""
        bound = {"scope": scope, "kind": LinkKind.ADOPTED.value}
        return set(self._connection.scalars(_told(), bound))

    def following(self, scope: str, number: int, limit: int) -> list[Told]:
        """Return what the next links of a budget's chain behind one tell of, in order."""
        bound = {"scope": scope, "after": number, "last": number + limit}
        found = self._connection.execute(_following(), bound).all()
        return [Told(link, kind, (*window,)) for link, kind, *window in found]

    def since(self, scope: str, number: int) -> Iterator[list[LinkRow]]:
        """Yield the links of a budget's chain behind one, in order, some at a time."""
        full = True
        while full:
            found = self._read(_since(), scope=scope, after=number, limit=rows.PAGE)
            full = len(found) == rows.PAGE
            if found:
                yield found
                number = found[-1].link

    def among(
        self, scope: str, windows: Listed
    ) -> dict[tuple[str, int, int], list[tuple[int, str]]]:
        """Return what a budget's links tell of some windows' charges: number and kind, in order."""
        found: defaultdict[tuple[str, int, int], list[tuple[int, str]]] = defaultdict(list)
        statement = _among(self._dialect)
        rows = self._connection.execute(statement, {"windows": windows}).all()
        for one, number, kind, query, start_ms, end_ms in rows:
            if one == scope and kind in _OF_CHARGES:
                found[query, start_ms, end_ms].append((number, kind))
        for told in found.values():
            told.sort()
        return found

    def drop_between(self, scope: str, after: int, last: int) -> None:
        """Delete a budget's links behind one, up to another."""
        self._connection.execute(_drop(), {"scope": scope, "after": after, "last": last})


@cache
def _following() -> Any:
    columns = (_LINKS.c[name] for name in ("link", "kind", *WINDOW))
    return sa.select(*columns).where(*_between()).order_by(_LINKS.c.link)


@cache
def _since() -> Any:
    behind = (_LINKS.c.scope == sa.bindparam("scope"), _LINKS.c.link > sa.bindparam("after"))
    ordered = sa.select(_LINKS).where(*behind).order_by(_LINKS.c.link)
    return ordered.limit(sa.bindparam("limit"))


@cache
def _among(dialect: str) -> Any:
    # By window alone: asked for the budget too, SQLite would read the whole of its chain.
    columns = (_LINKS.c[name] for name in ("scope", "link", "kind", *WINDOW))
    return sa.select(*columns).where(among(_LINKS, dialect))


@cache
def _drop() -> Any:
    return _LINKS.delete().where(*_between())


def _between() -> tuple[Any, ...]:
    # Bounded on both sides: half a chain looks to a planner as if reading all of it were less work.
    behind = _LINKS.c.link > sa.bindparam("after")
    return _LINKS.c.scope == sa.bindparam("scope"), behind, _LINKS.c.link <= sa.bindparam("last")


@cache
def _last_told() -> Any:
    return _told().order_by(_LINKS.c.link.desc()).limit(1)


@cache
def _told() -> Any:
    mine = (_LINKS.c.scope == sa.bindparam("scope"), _LINKS.c.kind == sa.bindparam("kind"))
    # The condition stands in the text, so that the planner can use the partial index.
    return sa.select(_LINKS.c.told).where(*mine, sa.text("told IS NOT NULL"))
