"""The heaviest row, by branch and bound over one class of values per attribute.

A node bounds what is left by sharing weights out over attributes (the module ``bounds``) and
branches on the classes of one attribute. Attributes that no region links are searched one group
after the other, as their weights add up. Weights are compared exactly; nothing is random and no
clock is read, so the same input takes the same steps on every machine, up to its limit.

Source: Parallel Composition, section 6.2, finds the maximum overlap by branch and bound on cliques
of regions; here the classes that make up a row are branched on, and no set of regions needs to be
tested for a common row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.loss.maxoverlap.bounds import (
    LARGEST_TOTAL,
    SHARE,
    Part,
    best_classes,
    branches,
    even,
    stepped,
)
from accountant.loss.maxoverlap.work import Work
from accountant.regions.patterns import members_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.loss.maxoverlap.bounds import Floats, Indexes
    from accountant.loss.maxoverlap.classes import Attribute

__all__ = ["Found", "RowSearch"]

_ROOT_STEPS = 300
_NODE_STEPS = 12
_PATIENCE = 8  # steps without a better bound before they get shorter
_ASCEND_EVERY = 10
_CANDIDATES = 4  # attributes to compare before branching on one
_DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Found:
    """What is known about the heaviest row of a part of the problem.

    Args:
        value: weight of the best row found.
        upper: no row weighs more.
        choice: attributes by class; any row with these classes weighs ``value`` or more.
    """

    value: int
    upper: int
    choice: Mapping[int, int]

    def and_also(self, other: Found) -> Found:
        """Return the heavier row of both, the first where they are alike, and the lower bound."""
        heavier = max(self, other, key=lambda each: each.value)
        return Found(heavier.value, min(self.upper, other.upper), heavier.choice)


class RowSearch:
    """One search for the heaviest row.

    Args:
        attributes: their classes of values.
        weights: per region, >= 0.
        work: counts the steps; once its limit is reached, the search ends with what it has.
        node_limit: largest number of nodes; beyond it the search likewise ends.
        ceiling: a bound known beforehand; a row that reaches it ends the search.
    """

    def __init__(
        self,
        attributes: Sequence[Attribute],
        weights: Sequence[int],
        work: Work | None = None,
        node_limit: int | None = None,
        ceiling: int | None = None,
    ) -> None:
        self.nodes = 0
        self._attributes = attributes
        self._weights = weights
        self._work = Work() if work is None else work
        self._node_limit = node_limit
        self._ceiling = sum(weights) if ceiling is None else ceiling
        self._asks: NDArray[np.bool_] = np.zeros((len(attributes), len(weights)), dtype=np.bool_)
        for at, attribute in enumerate(attributes):
            self._asks[at] = members_of(attribute.constrained, len(weights))
        # Rounded up to whole multiples of a unit; mostly the unit is 1 and nothing is rounded.
        self._unit = max(1, -(-sum(weights) // (LARGEST_TOTAL - len(weights))))
        self._rough = np.array([-(-each // self._unit) for each in weights], dtype=np.float64)

    def run(self, known: int = -1) -> Found:
        """Search; unless stopped, the value, or what is known, meets the bound or the ceiling.

        Args:
            known: weight of a row that was found before; only heavier ones are looked for.
        """
        regions = np.flatnonzero(self._rough > 0)
        attributes = list(range(len(self._attributes)))
        shares = even(self._asks[:, regions].astype(np.float64))
        found = self._solve(
            regions, attributes, shares, cutoff=known, ceiling=self._ceiling, depth=0
        )
        return Found(found.value, max(found.upper, found.value, known), found.choice)

    def _solve(
        self,
        regions: Indexes,
        attributes: list[int],
        shares: Floats,
        *,
        cutoff: int,
        ceiling: int,
        depth: int,
    ) -> Found:
        """Add up the groups of attributes that no region links.

        Rows of ``cutoff`` or less are of no interest: once the bound says there are no others, the
        search ends; so it does at a row of ``ceiling``, as there is no heavier one.
        """
        asks = self._asks[attributes][:, regions]
        settled = self._weigh(regions[~asks.any(axis=0)])
        groups = [(group, asks[group].any(axis=0)) for group in _groups(asks)]
        uppers = [self._weigh(regions[held]) for _, held in groups]
        value, choice = settled, dict[int, int]()
        for number in sorted(range(len(groups)), key=uppers.__getitem__):
            group, held = groups[number]
            rest = settled + sum(uppers) - uppers[number]
            if rest + uppers[number] <= cutoff:
                break
            found = self._solve_group(
                self._part(regions[held], [attributes[at] for at in group], shares[group][:, held]),
                cutoff=cutoff - rest,
                # The ceiling is one for all groups together.
                ceiling=ceiling - settled if len(groups) == 1 else uppers[number],
                depth=depth,
            )
            uppers[number] = min(uppers[number], found.upper)
            value += found.value
            choice |= found.choice
        return Found(value, settled + sum(uppers), choice)

    def _solve_group(self, part: Part, *, cutoff: int, ceiling: int, depth: int) -> Found:
        """Search linked attributes: bound, then branch on the classes of one of them."""
        self.nodes += 1
        self._work.spend(part.size)
        if len(part.attributes) == 1:
            return self._heaviest_class(part)
        steps = _NODE_STEPS if depth else _ROOT_STEPS
        if len(part.attributes) == 2:  # one decided, the other one's best class is exact
            steps = 1
        best, bound = self._bounded(part, cutoff, ceiling, steps)
        if bound <= max(cutoff, best.value) or best.value >= ceiling:
            return Found(best.value, bound, best.choice)
        if self._halted() or depth >= _DEEPEST:
            return Found(best.value, bound, best.choice)
        self._work.spend(_CANDIDATES * part.size)
        at, bounds, shares = self._branching(part)
        others = [each for each in range(len(part.attributes)) if each != at]
        upper = 0
        for row in sorted(range(len(bounds)), key=lambda row: (-bounds[row], row)):
            floor = max(cutoff, best.value)
            if bounds[row] <= floor or best.value >= ceiling or self._halted():
                upper = max(upper, bounds[row])
                break
            held = part.holds[at][row] > 0
            found = self._solve(
                part.regions[held],
                [part.attributes[each] for each in others],
                shares[others][:, held],
                cutoff=floor,
                ceiling=ceiling,
                depth=depth + 1,
            )
            upper = max(upper, min(bounds[row], found.upper))
            if found.value > best.value:
                chosen = {part.attributes[at]: int(part.classes[at][row])}
                best = Found(found.value, found.upper, {**found.choice, **chosen})
        return Found(best.value, max(best.value, min(bound, upper)), best.choice)

    def _bounded(self, part: Part, cutoff: int, ceiling: int, steps: int) -> tuple[Found, int]:
        """Share the weights out well: return the best row met on the way, and the best bound."""
        best, bound = Found(0, 0, {}), self._weigh(part.regions)
        shares = part.shares
        length, failed = 1.0, 0
        for step in range(steps):
            rows, total = best_classes(part, shares)
            if step % _ASCEND_EVERY == 0:
                best = max(best, self._ascended(part, rows), key=lambda found: found.value)
            floor = max(cutoff, best.value)
            upper = self._upper(part, shares, total, floor)
            failed += 1
            if upper < bound or step == 0:
                bound, part.shares, failed = min(bound, upper), shares, 0
            if bound <= floor or best.value >= ceiling or self._halted(part.size):
                break
            if failed >= _PATIENCE:
                length, failed, shares = length * 0.7, 0, part.shares
                rows, total = best_classes(part, shares)
            shares = stepped(part, shares, rows, length * (total / SHARE - floor / self._unit))
        return best, bound

    def _branching(self, part: Part) -> tuple[int, list[int], Floats]:
        """Choose the attribute whose classes have the lowest bounds; return it with them."""
        sizes = [len(holds) for holds in part.holds]
        candidates = sorted(range(len(sizes)), key=sizes.__getitem__)[:_CANDIDATES]
        choices: list[tuple[list[int], int, list[int], Floats]] = []
        for at in candidates:
            totals, shares = branches(part, at)
            bounds = [total // SHARE * self._unit for total in totals]
            choices.append((sorted(bounds, reverse=True), at, bounds, shares))
        _, at, bounds, shares = min(choices, key=lambda each: each[:2])
        return at, bounds, shares

    def _ascended(self, part: Part, rows: Sequence[int]) -> Found:
        """Improve a row one attribute at a time until no class of one attribute is better."""
        rows = list(rows)
        inside = [holds[row] for holds, row in zip(part.holds, rows, strict=True)]
        agreeing = sum(inside, np.zeros(len(part.rough)))  # attributes whose class is in the region
        weight = -1.0
        improved = True
        while improved:
            improved = False
            for at, holds in enumerate(part.holds):
                others = agreeing - inside[at]
                totals = holds @ (part.rough * (others == len(rows) - 1))
                row = int(totals.argmax())
                if totals[row] > weight:
                    weight, rows[at], inside[at] = float(totals[row]), row, holds[row]
                    agreeing = others + holds[row]
                    improved = True
        value = self._weigh(part.regions[agreeing == len(rows)])
        choice = {
            attribute: int(classes[row])
            for attribute, classes, row in zip(part.attributes, part.classes, rows, strict=True)
        }
        return Found(value, value, choice)

    def _heaviest_class(self, part: Part) -> Found:
        """Return the best class of the only attribute left."""
        totals = part.holds[0] @ part.rough
        # Rounding added less than one unit a region: no class further behind can be the best.
        near = np.flatnonzero(totals >= totals.max() - self._slack(part))
        exact = [self._weigh(part.regions[part.holds[0][row] > 0]) for row in near.tolist()]
        value = max(exact)
        row = near[exact.index(value)]
        return Found(value, value, {part.attributes[0]: int(part.classes[0][row])})

    def _upper(self, part: Part, shares: Floats, total: int, floor: int) -> int:
        """Return the bound of shares; without the rounding of weights where it may decide."""
        rough = total // SHARE * self._unit
        if not floor < rough <= floor + self._slack(part) * self._unit:
            return rough
        weights = [self._weights[at] for at in part.regions.tolist()]
        exact = 0
        for holds, own in zip(part.holds, shares, strict=True):
            totals = holds @ (own * part.rough)
            near = np.flatnonzero(totals >= totals.max() - self._slack(part) * SHARE)
            parts = [int(share) * weight for share, weight in zip(own, weights, strict=True)]
            exact += max(
                sum(parts[at] for at in np.flatnonzero(holds[row]).tolist()) for row in near
            )
        return exact // SHARE

    def _slack(self, part: Part) -> int:
        """Return what rounding can have added to the regions together, in units."""
        return len(part.regions) if self._unit > 1 else 0

    def _weigh(self, regions: Indexes) -> int:
        return sum(self._weights[at] for at in regions.tolist())

    def _halted(self, steps: int = 0) -> bool:
        beyond = self._node_limit is not None and self.nodes > self._node_limit
        return self._work.spend(steps) or beyond

    def _part(self, regions: Indexes, attributes: list[int], shares: Floats) -> Part:
        asks = self._asks[attributes][:, regions]
        holds: list[Floats] = []
        classes: list[Indexes] = []
        for at, attribute in enumerate(attributes):
            held = self._attributes[attribute].holds[:, regions]
            first: dict[bytes, int] = {}  # classes that the regions left cannot tell apart are one
            for row, packed in enumerate(np.packbits(held, axis=1)):
                first.setdefault(packed.tobytes(), row)
            rows = np.array(list(first.values()), dtype=np.int64)
            holds.append((held[rows] | ~asks[at]).astype(np.float64))
            classes.append(rows)
        return Part(
            regions,
            attributes,
            # In this order sums over attributes have one result on every machine.
            np.ascontiguousarray(asks, dtype=np.float64),
            holds,
            classes,
            self._rough[regions],
            np.ascontiguousarray(shares),
        )


def _groups(asks: NDArray[np.bool_]) -> list[list[int]]:
    """Return the attributes that a chain of regions links, group by group; none unasked."""
    groups: list[tuple[list[int], NDArray[np.bool_]]] = []
    for at, asked in enumerate(asks):
        if not asked.any():
            continue
        group, held = [at], asked
        separate = []
        for other, others in groups:
            if (others & held).any():
                group, held = [*other, *group], others | held
            else:
                separate.append((other, others))
        groups = [*separate, (group, held)]
    return [sorted(group) for group, _ in groups]
