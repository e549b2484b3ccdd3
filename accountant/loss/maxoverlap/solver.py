"""Maximum overlap: the largest composed loss that one row can have from a list of regions.

Mechanisms that look at different rows compose in parallel. Over arbitrary regions the loss is that
of the worst row: the composition of the regions that hold it, maximised over rows (Parallel
Composition, Theorem 6 and section 3.2). Finding it is NP-hard (Theorem 8), so the answer comes with
an upper bound that NEVER understates the loss, whatever the limit: the least of what two searches
prove, of rows and of sets of regions, of a weighted DSatur colouring (all beside this module) and
of the plain composition of everything. An approximate clique is no such bound.

Limits count work and no clock is read: the answer is a function of the input alone, on every
machine and under every load.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import expect, instance_of, several
from accountant.errors import ArgumentError
from accountant.loss.maxoverlap.classes import attributes_of
from accountant.loss.maxoverlap.cliques import RegionSearch
from accountant.loss.maxoverlap.colouring import coloured_within, graph_within
from accountant.loss.maxoverlap.composing import Track, composition_named
from accountant.loss.maxoverlap.search import Found, RowSearch
from accountant.loss.maxoverlap.work import Work
from accountant.regions.patterns import members_of
from accountant.regions.regions import Region

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accountant.loss.maxoverlap.composing import Composition, Loss
    from accountant.regions.regions import Value

__all__ = ["WORK_LIMIT", "Overlap", "maximum_overlap", "utility_gain"]

WORK_LIMIT: Final = 4_000_000_000
"""Steps that one answer may take, unless told otherwise: about a minute's worth in 2026."""

_FEW_ATTRIBUTES: Final = 16
"""With no more, and sets of values, rows are the better search: measured in benchmarks.overlap."""
_LIKELY_PART, _UNLIKELY_PART = 2, 128  # of the work that is left, for sets of regions


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
    power: int = 1
    nodes: int = 0

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
    more than 200 attributes linked to one another, or more classes of values than memory holds.
    With "sum" everything is exact, and floats count as the rationals they are. Roots and Renyi
    epsilons are floats rounded up; Renyi curves are as accurate as ``dp-accounting`` has them.

    Args:
        regions: where each mechanism looks; an empty one counts nothing.
        weights: what each costs a row in its region: epsilons for "sum", mu for "gdp", noise
            multipliers or ``DpEvent`` for ``Rdp``. Losses are >= 0, and one of 0 counts nothing;
            all are 1 if left out.
        composition: "sum" (pure losses add up), "gdp" (root of the sum of squares), or
            ``Rdp(delta=...)``.
        work_limit: steps for everything, as ``accountant.loss.maxoverlap.work`` counts them;
            ``None`` for no limit. What is begun is finished, so they are overrun by a little.
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
    work = Work(work_limit)
    counted = [at for at, region in enumerate(regions) if not region.empty]
    tracks = [
        Track(tuple(track.costs[at] for at in counted), track.report)
        for track in composed.tracks(weights)
    ]
    problem = _Problem([regions[at] for at in counted])
    costing = [any(track.costs[at] for track in tracks) for at in range(len(counted))]
    plain, number = _composed(tracks, costing)
    value, upper = tracks[0].report(Fraction(0)), plain
    best: Sequence[bool] = [False] * len(counted)
    witness: Mapping[str, Value] = {}
    nodes = 0
    searched: set[int] = set()
    # With one track this is one search. With more, the next one is that which reports the least
    # for the row just found: no other one could bring the bound down to that row's loss.
    while number not in searched and (any(costing) or not searched):
        searched.add(number)
        found = problem.search(tracks[number].costs, work=work, node_limit=node_limit)
        nodes += found.nodes
        upper = min(upper, tracks[number].report(found.upper))
        held = [each and inside for each, inside in zip(costing, found.held, strict=True)]
        loss, number = _composed(tracks, held)
        if loss > value:
            value, best, witness = loss, held, found.witness
    members = tuple(at for at, inside in zip(counted, best, strict=True) if inside)
    return Overlap(value, upper, witness, members, plain, composed.power, nodes)


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


@dataclass(frozen=True, slots=True)
class _Row:
    """A row, which regions hold it, and a bound on all rows."""

    witness: Mapping[str, Value]
    held: Sequence[bool]
    upper: Fraction
    nodes: int


class _Problem:
    """Regions, those that are the same taken together, and their classes of values."""

    def __init__(self, regions: Sequence[Region]) -> None:
        self._regions = regions
        self._numbers: dict[Region, int] = {}
        for region in regions:
            self._numbers.setdefault(region, len(self._numbers))
        self._attributes = attributes_of(list(self._numbers))

    def search(self, costs: Sequence[Fraction], *, work: Work, node_limit: int | None) -> _Row:
        """Look for the row whose regions' costs have the largest sum."""
        together = [Fraction(0)] * len(self._numbers)
        for region, cost in zip(self._regions, costs, strict=True):
            together[self._numbers[region]] += cost
        weights, unit = _whole(together)
        # One look at the root settles the easy cases, and nothing needs a graph.
        look = RowSearch(self._attributes, weights, Work(0))
        found, nodes = look.run(), look.nodes
        if found.value < found.upper and node_limit != 0:
            found, nodes = self._searched(found, weights, work, node_limit)
        witness = self._completed(found.choice, weights)
        held = {region: region.contains(witness) for region in self._numbers}
        return _Row(witness, [held[region] for region in self._regions], found.upper * unit, nodes)

    def _searched(
        self, found: Found, weights: Sequence[int], work: Work, node_limit: int | None
    ) -> tuple[Found, int]:
        """Look for a heavier row than was found, and for a lower bound; return both, and nodes.

        Each of the two searches is good where the other one is not, and starts from what is known.
        """
        drawn = work.part(2)  # a colouring that is broken off is safe, but worth little
        graph = graph_within(self._attributes, len(weights), drawn)
        if graph is not None:
            ceiling = min(found.upper, coloured_within(graph, weights, drawn))
            found = Found(found.value, ceiling, found.choice)
        work.spend(drawn.done)
        nodes = 0
        if graph is not None and found.value < found.upper:
            of_regions = RegionSearch(self._attributes, graph, weights)
            likely = of_regions.lined or len(self._attributes) > _FEW_ATTRIBUTES
            share = work.part(_LIKELY_PART if likely else _UNLIKELY_PART)
            limit = None if node_limit is None else node_limit // 2
            found = found.and_also(of_regions.run(share, limit, found.value, found.upper))
            work.spend(share.done)
            nodes = of_regions.nodes
        if found.value < found.upper:
            limit = None if node_limit is None else node_limit - nodes
            rows = RowSearch(self._attributes, weights, work, limit, found.upper)
            found = found.and_also(rows.run(found.value))
            nodes += rows.nodes
        return found, nodes

    def _completed(self, choice: Mapping[int, int], weights: Sequence[int]) -> dict[str, Value]:
        """Return a row of these classes, with the best class at every attribute left open."""
        witness: dict[str, Value] = {}
        inside = np.ones(len(weights), dtype=np.bool_)
        for at, attribute in sorted(
            enumerate(self._attributes), key=lambda each: each[0] not in choice
        ):
            free = ~members_of(attribute.constrained, len(weights))
            if at in choice:
                row = choice[at]
            else:
                scores = [
                    sum(weights[each] for each in np.flatnonzero(inside & holds).tolist())
                    for holds in attribute.holds
                ]
                row = scores.index(max(scores))
            inside &= attribute.holds[row] | free
            witness[attribute.name] = attribute.witnesses[row]
        return witness


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
