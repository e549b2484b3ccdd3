"""Maximum overlap: the largest composed loss that one row can have from a list of regions.

Mechanisms that look at different rows compose in parallel. Over arbitrary regions the loss is that
of the worst row: the composition of the regions that hold it, maximised over rows (Parallel
Composition, Theorem 6 and section 3.2). Finding it is NP-hard (Theorem 8). Where there are few
classes of values it is looked up (:mod:`accountant.loss.tables`). Else it is searched for, and the
answer comes with an upper bound that NEVER understates the loss, whatever the limit.

Limits count work and no clock is read: the answer is a function of the input alone, on every
machine and under every load.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Final

from accountant.arguments import expect, instance_of, several
from accountant.costs.charges import UniformCost
from accountant.errors import ArgumentError
from accountant.loss.maxoverlap.classes import Classes
from accountant.loss.maxoverlap.composing import Track, composition_named
from accountant.loss.maxoverlap.search import RowSearch
from accountant.loss.tables import tables_of
from accountant.regions.regions import Region

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accountant.loss.maxoverlap.composing import Composition, Loss
    from accountant.regions.regions import Value

__all__ = ["WORK_LIMIT", "Overlap", "maximum_overlap", "utility_gain"]

WORK_LIMIT: Final = 4_000_000_000
"""Steps that one answer may take, unless told otherwise: about a minute's worth in 2026."""

_LARGEST_SUM: Final = 2**62  # of weights that tables can add up


@dataclass(frozen=True, slots=True)
class Overlap:
    """The loss of the worst row, or what is known about it.

    Args:
        value: composed loss of ``witness``, so the worst row loses at least this.
        upper_bound: no row loses more.
        witness: a row, by attribute; it may have any value at attributes that are left out.
        members: positions of the regions that hold ``witness`` and cost something, ascending.
        plain: the composed loss of all regions, had they all shared a row.
        power: 2 if losses compose by squares, else 1.
        nodes: of the search tree, visited.
    """

    value: Loss
    upper_bound: Loss
    witness: Mapping[str, Value]
    members: tuple[int, ...]
    plain: Loss
    power: int
    nodes: int

    @property
    def exact(self) -> bool:
        """Whether the bound is attained: then both are the maximum overlap."""
        return self.value == self.upper_bound


def maximum_overlap(
    regions: Sequence[Region],
    weights: Sequence[object] | None = None,
    *,
    composition: str | Composition = "sum",
    work_limit: int | None = WORK_LIMIT,
    node_limit: int | None = None,
) -> Overlap:
    """Return the largest composed loss of the regions that one row is in.

    Guarantee: ``value <= maximum overlap <= upper_bound`` always. Without limits the two are equal,
    but for Renyi curves of different shapes (the worst rows of different orders need not be one),
    more than 200 branches one after the other, or more classes of values than memory holds.
    With "sum" everything is exact, and floats count as the rationals they are. Roots and Renyi
    epsilons are floats rounded up; Renyi curves are as accurate as ``dp-accounting`` has them.

    Args:
        regions: where each mechanism looks; an empty one counts nothing.
        weights: what each costs a row in its region: epsilons for "sum", mu for "gdp", noise
            multipliers or ``DpEvent`` for ``Rdp``. Losses are >= 0, and one of 0 counts nothing;
            all are 1 if left out.
        composition: "sum" (pure losses add up), "gdp" (root of the sum of squares), or
            ``Rdp(delta=...)``.
        work_limit: steps for everything, looks at one class for one region; ``None`` for no limit.
            What is begun is finished, so they are overrun by a little.
        node_limit: largest number of nodes of the search, per order where Renyi orders are
            searched; ``None`` for no limit.

    Returns:
        The overlap; 0 with an empty witness if nothing costs anything.

    Raises:
        ValueError: as many weights as regions are needed; a weight, a limit or the composition is
            not one of the above.
        ImportError: Renyi composition without ``dp-accounting``.
    """
    expect(several(instance_of(Region)), regions=regions)
    if not isinstance(composition, str) and not hasattr(composition, "tracks"):
        raise ArgumentError(
            "a composition is a name or a rule", hint="write 'sum', 'gdp' or Rdp(...)"
        )
    composed = composition_named(composition)
    if weights is None:
        weights = [1] * len(regions)
    if not hasattr(weights, "__len__"):
        raise ArgumentError("weights are a list, one per region", hint="write [4, 4]")
    if len(weights) != len(regions):
        raise ArgumentError(
            f"{len(regions)} regions, but {len(weights)} weights",
            hint="give one weight for every region, in their order",
        )
    if work_limit is not None and work_limit < 0:
        raise ArgumentError("the work limit is not negative")
    if node_limit is not None and node_limit < 0:
        raise ArgumentError("the node limit is not negative")
    counted = [at for at, region in enumerate(regions) if not region.empty]
    tracks = [
        Track(tuple(track.costs[at] for at in counted), track.report)
        for track in composed.tracks(weights)
    ]
    problem = _Problem([regions[at] for at in counted], work_limit, node_limit)
    costing = [any(track.costs[at] for track in tracks) for at in range(len(counted))]
    plain, number = _composed(tracks, costing)
    value, upper = tracks[0].report(Fraction(0)), plain
    best: Sequence[bool] = [False] * len(counted)
    witness: Mapping[str, Value] = {}
    searched: set[int] = set()
    # With one track this is one search. With more, the next one is that which reports the least
    # for the row just found: no other one could bring the bound down to that row's loss.
    while number not in searched and (any(costing) or not searched):
        searched.add(number)
        row, bound = problem.search(tracks[number].costs)
        upper = min(upper, tracks[number].report(bound))
        held = [
            each and regions[at].contains(row) for each, at in zip(costing, counted, strict=True)
        ]
        loss, number = _composed(tracks, held)
        if loss > value:
            value, best, witness = loss, held, row
    members = tuple(at for at, inside in zip(counted, best, strict=True) if inside)
    return Overlap(value, upper, witness, members, plain, composed.power, problem.nodes)


def utility_gain(overlap: Overlap, total: Loss | None = None) -> Loss:
    """Return the share of the noise that parallel composition saves at the same loss.

    ``U = 1 - gamma / t`` (Parallel Composition, section 3.3, equation 6), with the overlap's upper
    bound for ``gamma``: the gain that is certain. With unequal weights a region counts as much as
    it costs; losses that compose by squares are compared by squares, so that equal mechanisms have
    the gain of equation 6 in every composition.

    Args:
        overlap: of the regions.
        total: what everything costs in plain composition; the overlap's own if left out.

    Returns:
        Between 0 and 1; 0 where nothing costs anything.

    Raises:
        ValueError: the total is below the overlap.
    """
    plain = overlap.plain if total is None else total
    if plain < overlap.upper_bound:
        raise ArgumentError("the total is below the overlap")
    if not plain or overlap.upper_bound == plain:
        return 0
    if isinstance(plain, float) or isinstance(overlap.upper_bound, float):
        return 1 - (float(overlap.upper_bound) / float(plain)) ** overlap.power
    return 1 - Fraction(overlap.upper_bound, plain) ** overlap.power


class _Problem:
    """Regions, those that are the same taken together."""

    def __init__(
        self, regions: Sequence[Region], work_limit: int | None, node_limit: int | None
    ) -> None:
        self.nodes = 0
        self._regions = regions
        self._numbers = {region: at for at, region in enumerate(dict.fromkeys(regions))}
        self._classes = Classes(list(self._numbers))
        self._work_left = work_limit
        self._node_limit = node_limit

    def search(self, costs: Sequence[Fraction]) -> tuple[Mapping[str, Value], Fraction]:
        """Return a row that costs as much as can be, and a bound that no row goes beyond."""
        together = [Fraction(0)] * len(self._numbers)
        for region, cost in zip(self._regions, costs, strict=True):
            together[self._numbers[region]] += cost
        weights, unit = _whole(together)
        tables = None
        if sum(weights) < _LARGEST_SUM:
            charges = [
                replace(charge, cost=UniformCost(weight, 1))
                for charge, weight in zip(self._classes.charges, weights, strict=True)
            ]
            tables = tables_of(charges, self._classes.axes, most=self._work_left)
        if tables is not None:
            value, row = tables.dearest()
            return row, value * unit
        search = RowSearch(self._classes, weights, self._work_left, self._node_limit)
        bound = search.run()
        self.nodes += search.nodes
        if self._work_left is not None:
            self._work_left = max(0, self._work_left - search.work)
        return self._classes.row_of(search.members), bound * unit


def _composed(tracks: Sequence[Track], held: Sequence[bool]) -> tuple[Loss, int]:
    """Return the loss of the regions that are held, and the number of the track that says so."""
    reports = [
        track.report(
            sum((cost for cost, each in zip(track.costs, held, strict=True) if each), Fraction(0))
        )
        for track in tracks
    ]
    least = min(reports)
    return least, reports.index(least)


def _whole(costs: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    """Return costs as multiples of the largest unit that measures them all, and that unit."""
    denominator = lcm(*(cost.denominator for cost in costs))
    whole = [cost.numerator * (denominator // cost.denominator) for cost in costs]
    divisor = gcd(*whole) or 1
    return [each // divisor for each in whole], Fraction(divisor, denominator)
