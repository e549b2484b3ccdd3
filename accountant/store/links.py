"""The links of chains as they are stored; :mod:`accountant.store.chain` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.store import chain
from accountant.store.rows import Rows, same_window
from accountant.store.schema import table_of
from accountant.store.tables.charged import CHARGES, LINKS, OPEN, LinkKind, LinkRow
from accountant.store.tables.decided import DECISIONS
from accountant.store.tables.pinned import SCOPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.store.chain import Happening

__all__ = ["Links"]

_LINKS = table_of(LINKS)


class Links(Rows[LinkRow]):
    """Links of the chains of all budgets."""

    def append(self, scope: str, happened: Sequence[Happening]) -> None:
        """Add to a budget's chain; the budget is locked."""
        if not happened:
            return
        scopes = Rows(self._connection, SCOPES)
        head = scopes.get(scope=scope)
        if head is None:
            raise LookupError(scope)
        links = chain.extend(scope, head.chain_link, head.chain_hash, happened)
        self.add(*links)
        last = {"chain_link": links[-1].link, "chain_hash": links[-1].hash}
        scopes.change({"scope": scope}, **last)

    def last_state(self, scope: str) -> str | None:
        """Return what the newest state link of a budget's chain says."""
        told = _told(scope, LinkKind.STATE).order_by(_LINKS.c.link.desc()).limit(1)
        return next(iter(self._connection.scalars(told)), None)

    def adoptions_told(self, scope: str) -> set[str]:
        """Return the digests of adopted decisions that the chain still tells of."""
        return set(self._connection.scalars(_told(scope, LinkKind.ADOPTED)))

    def last_compactable(self, scope: str, horizon_ms: int) -> tuple[int, bytes] | None:
        """Return the link before the first that must stay, with its hash; ``None`` without one.

        A link may go when its charge has ended, its window ends by the horizon and its decision,
        if any, has left. Links of adopted decisions go with those around them.
        """
        charge, decision = table_of(CHARGES), table_of(DECISIONS)
        waiting = sa.exists().where(same_window(decision, _LINKS), ~decision.c.published)
        is_open = charge.c.state.in_([state.value for state in OPEN])
        ended = _LINKS.c.kind == LinkKind.ENDED.value
        stays = sa.or_(is_open, sa.and_(ended, sa.or_(charge.c.end_ms > horizon_ms, waiting)))
        joined = _LINKS.join(charge, same_window(charge, _LINKS))
        first = sa.select(sa.func.min(_LINKS.c.link)).select_from(joined)
        stop = self._connection.scalar(first.where(_LINKS.c.scope == scope, stays))
        before = sa.select(_LINKS.c.link, _LINKS.c.hash).where(_LINKS.c.scope == scope)
        if stop is not None:
            before = before.where(_LINKS.c.link < stop)
        found = self._connection.execute(before.order_by(_LINKS.c.link.desc()).limit(1)).first()
        return None if found is None else (int(found.link), bytes(found.hash))

    def drop_up_to(self, scope: str, number: int) -> None:
        """Delete a budget's links up to one."""
        past = (_LINKS.c.scope == scope, _LINKS.c.link <= number)
        self._connection.execute(_LINKS.delete().where(*past))


def _told(scope: str, kind: LinkKind) -> Any:
    told = sa.select(_LINKS.c.told).where(_LINKS.c.scope == scope, _LINKS.c.kind == kind.value)
    return told.where(sa.text("told IS NOT NULL"))
