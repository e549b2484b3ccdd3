"""What the ledger's charges hold against the wall, as the filter reads it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from accountant.budget.filter import EventFilter, UserFilter, WithRoom
from accountant.budget.standings import Standing
from accountant.charging import capped, keeping, runs
from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.loss.overlap import Held
from accountant.records import FinalCharge
from accountant.regions.groupings import cells_key, grouping_name, grouping_of
from accountant.regions.shapes import ANYWHERE, Shape
from accountant.store.tables.charged import ENDED, FINAL, OPEN, ChargeState
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from accountant.budget.filter import BudgetFilter
    from accountant.costs.charges import CellCosts, WindowKey
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.tables.decided import AdoptedRow
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = [
    "KnownShapes",
    "Standings",
    "Turns",
    "adopted_charge",
    "final_charge",
    "known_shapes",
]

_ONE_BY_ONE = 4
"""Shapes that are looked up singly before all of a budget are read."""


@dataclass(frozen=True, slots=True)
class KnownShapes:
    """What the queries of a budget cover under every configuration that they had.

    Args:
        of: by query and fingerprint.
        among: all of them, and what nobody knows better of.
        covered: what was worked out of them, by query and fingerprint: it lasts as long as they do.
    """

    of: Mapping[tuple[str, str], Shape]
    among: frozenset[Shape]
    covered: dict[tuple[str, str], tuple[Shape, str]] = field(default_factory=dict, compare=False)


def known_shapes(tx: Transaction, scope: str) -> KnownShapes:
    """Read them; cells that one query knows by name and another in full are alike.

    A ledger from before cells were written down has their names alone.
    """
    stored = tx.all_shapes(scope)
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for shape in stored.values():
        if grouping_of(shape.grouping) is not None:
            texts[grouping_name(shape.grouping)].add(shape.grouping)
    known = {name: next(iter(each)) for name, each in texts.items() if len(each) == 1}
    found = {
        of: replace(shape, grouping=known.get(shape.grouping, shape.grouping))
        for of, shape in stored.items()
    }
    return KnownShapes(found, frozenset([ANYWHERE, *found.values()]))


class Standings:
    """Reads what the charges of one budget hold, within one transaction."""

    def __init__(
        self, tx: Transaction, scope: ScopeRow, shapes: Callable[[], KnownShapes] | None = None
    ) -> None:
        """Take what remembers the shapes of all queries; without it they are read when needed."""
        self._tx = tx
        self._terms = scope.terms
        self._known = shapes or partial(known_shapes, tx, scope.terms.scope)
        self._one_by_one = 0 if shapes else _ONE_BY_ONE
        self._looked_up: dict[tuple[str, str], Shape] = {}
        self._remembered = shapes is not None and scope.terms.unit is PrivacyUnit.EVENT
        self._adopted: dict[int, list[AdoptedRow]] = {}

    def judge(
        self,
        *,
        before: Iterable[Standing],
        since_ms: int,
        periods: Collection[int],
        first: WindowKey | None = None,
        without: Sequence[ChargeRow] = (),
    ) -> BudgetFilter:
        """Return the filter as it stands before some windows are asked about.

        Args:
            before: unit ``event``: what every charge before them holds that ends after
                ``since_ms``.
            since_ms: no later than the start of the first window to ask about.
            periods: the budget periods they touch.
            first: the first of them; ``None`` where it comes behind every window that was served.
            without: charges that come after the first of them.
        """
        name, wall = self._terms.scope, self._terms.epsilon_max_units
        if self._terms.unit is PrivacyUnit.EVENT:
            return EventFilter(wall, [*self.adopted(since_ms), *before], self.shapes)
        least_units: dict[int, int] = {}
        most_units: dict[int, int] = {}
        for period, total in self._tx.totals.of(name, periods).items():
            most_units[period], least_units[period] = total
        few = capped.touching(self._tx, name, periods)
        dearest = capped.Dearest()
        for charge in few:
            dearest.take(charge)
        for period, total in dearest.of_periods().items():
            _add(most_units, (period,), -total.held)
            _add(least_units, (period,), -total.final)
        for charge in self._tx.charges.in_state(name, ChargeState.PENDING):
            if charge.cap is None:
                _add(most_units, charge.periods, charge.loss_units)
        for charge in without:
            if charge.cap is not None:
                continue
            pending = charge.state is ChargeState.PENDING
            held = charge.loss_units if pending else charge.total.held
            _add(most_units, charge.periods, -held)
            _add(least_units, charge.periods, -charge.total.final)
        kept = keeping.keepers(self._tx, name, periods=periods, before=first, without=without)
        later = {charge.window for charge in without}
        capped_before = self.all_of(one for one in few if one.window not in later)
        return UserFilter(wall, least_units, most_units, kept, capped_before)

    def judge_next(
        self, ended: Sequence[Standing], *, since_ms: int, periods: Collection[int]
    ) -> BudgetFilter:
        """Return the filter as it stands behind every window that was served.

        Args:
            ended: unit ``event``: what charges hold for good that end after ``since_ms``.
            since_ms: no later than the start of the first window to ask about.
            periods: the budget periods that the windows to ask about touch.
        """

        def judge() -> BudgetFilter:
            before = [*ended, *self.open()] if self._terms.unit is PrivacyUnit.EVENT else []
            return self.judge(before=before, since_ms=since_ms, periods=periods)

        if self._terms.unit is PrivacyUnit.USER:
            return judge()
        held = sum(one.held.loss_units for one in (*ended, *self.adopted(since_ms)))
        held += self._tx.charges.open_units(self._terms.scope, since_ms)
        return WithRoom(self._terms.epsilon_max_units - held, judge)

    def of(self, charge: ChargeRow) -> Standing | None:
        """Return what a charge holds or may come to hold; ``None`` when it was released."""
        if charge.state in OPEN:
            return self._standing(charge, charge.worst_units, is_open=True)
        if charge.state in FINAL:
            return self._standing(charge, charge.final_units, is_open=False)
        return None

    def all_of(self, charges: Iterable[ChargeRow]) -> list[Standing]:
        """Return what charges hold or may come to hold; those released are left out."""
        return [one for one in map(self.of, charges) if one is not None]

    def open(self) -> list[Standing]:
        """Return what open charges may come to hold."""
        return self.all_of(self._tx.charges.in_state(self._terms.scope, *OPEN))

    def adopted(self, since_ms: int = -(2**63)) -> list[Standing]:
        """Return what decisions of other timelines hold, of windows that end after an instant."""
        return [
            Standing(
                Held(row.start_ms, row.end_ms, row.loss_units),
                open=False,
                periods=row.periods,
                query=row.query,
            )
            for row in self._adopted_since(since_ms)
        ]

    def adopted_keys(self, since_ms: int) -> set[WindowKey]:
        """Return the windows that other timelines decided and that end after an instant."""
        return {row.key for row in self._adopted_since(since_ms)}

    def shape(self, query: str, fingerprint: str) -> Shape:
        """Return which rows a query covers under a configuration."""
        if self._terms.unit is PrivacyUnit.USER:
            return ANYWHERE  # whatever rows a query covers, one person may have some of them
        of = (query, fingerprint)
        if of not in self._looked_up and len(self._looked_up) < self._one_by_one:
            self._looked_up[of] = self._tx.shape(query, fingerprint) or ANYWHERE
        found = self._looked_up.get(of)
        if found is not None and (not found.grouping or grouping_of(found.grouping) is not None):
            return found  # its cells are written down
        return self._shapes.of.get(of, ANYWHERE)

    def shapes(self) -> frozenset[Shape]:
        """Return what the budget's queries cover under any configuration that they had."""
        return self._shapes.among

    @cached_property
    def _shapes(self) -> KnownShapes:
        return self._known()

    @cached_property
    def _covered(self) -> dict[tuple[str, str], tuple[Shape, str]]:
        return self._shapes.covered if self._remembered else {}

    def _adopted_since(self, since_ms: int) -> list[AdoptedRow]:
        if since_ms not in self._adopted:
            self._adopted[since_ms] = self._tx.adopted.after(self._terms.scope, since_ms)
        return self._adopted[since_ms]

    def _standing(self, charge: ChargeRow, units: int, *, is_open: bool) -> Standing:
        of = (charge.query, charge.fingerprint)
        if of not in self._covered:
            shape = self.shape(*of)
            self._covered[of] = shape, cells_key(shape.grouping) or f"{of[0]} {of[1]}"
        shape, cells = self._covered[of]
        held = Held(
            charge.start_ms,
            charge.end_ms,
            units,
            shape,
            cells=f"{charge.cells} {cells}",
            costs=charge.costs if self._terms.unit is PrivacyUnit.EVENT else None,
        )
        left_units = keeping.left_units(charge)
        return Standing(held, is_open, charge.periods, charge.query, left_units, charge.cap)


class Turns:
    """Whose turn it is: a window of a run is answered when its query has no earlier open one.

    Args:
        tx: holds the scope's lock, or sees one snapshot.
        scope: the budget.
        before: open charges from this window on are left to :meth:`take`.
    """

    def __init__(self, tx: Transaction, scope: str, *, before: WindowKey | None = None) -> None:
        self._tx = tx
        self._scope = scope
        self._before = before
        self._taken: set[str] = set()

    def reservation(self, charge: ChargeRow) -> int | None:
        """Return what a window of a run would hold; ``None`` before its turn."""
        query = charge.key.query
        if query in self._taken or query in self._open:
            return None
        return runs.held_units(self._tx.runs.get(query=query), charge)

    def take(self, charge: ChargeRow) -> None:
        """Note a charge that comes before all that will be asked about."""
        if charge.state not in ENDED:
            self._taken.add(charge.key.query)

    @cached_property
    def _open(self) -> set[str]:
        found = (one.key for one in self._tx.charges.in_state(self._scope, *OPEN))
        return {key.query for key in found if self._before is None or key < self._before}


def final_charge(charge: ChargeRow) -> FinalCharge:
    """Return what a settled or spent charge lost for good."""
    cost: CellCosts = UniformCost(charge.worst_cell_units, charge.cells)
    if charge.state is ChargeState.SETTLED:
        cost = UniformCost(charge.settled_units or 0, charge.cells)
    if charge.costs is not None:
        cost = LevelCosts.decode(charge.costs)
    return FinalCharge(charge.key, charge.fingerprint, cost)


def adopted_charge(row: AdoptedRow) -> FinalCharge:
    """Return what a decision of another timeline lost at worst."""
    return FinalCharge(row.key, "", UniformCost(row.loss_units, 1))


def _add(units: dict[int, int], periods: Iterable[int], change: int) -> None:
    for period in periods:
        units[period] = units.get(period, 0) + change
