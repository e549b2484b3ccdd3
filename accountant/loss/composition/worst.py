"""The row that loses the most, by branch and bound over classes of values.

A node fixes the class of some attributes. What each charge can still cost is then known: nothing
once a fixed class lies outside its region, its cell's loss once its group-by attributes are fixed,
and its dearest reachable cell before. The node's bound adds these up, but attribute by attribute:
charges with the same home (the first attribute they still wait for) share one class of it, so the
largest *sum* over its classes counts, not the sum of the largest. Each node branches on the
attribute whose children have the smallest largest bound, and looks at them from the dearest down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import WHOLE, expect, instance_of, several
from accountant.errors import ArgumentError
from accountant.loss.composition.charges import RowCharge
from accountant.loss.composition.classes import row_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from accountant.loss.composition.classes import RowProblem
    from accountant.regions.regions import Value

__all__ = ["NODE_LIMIT", "WorstRow", "costly", "worst_row"]

NODE_LIMIT: Final = 5_000
"""Nodes that one search expands before it settles for a bound."""

_CHUNK: Final = 256  # charges widened from booleans to integers at a time


@dataclass(frozen=True, slots=True)
class WorstRow:
    """The row that loses the most.

    Args:
        value: the loss of ``row``, in loss units.
        upper_bound: no row loses more.
        row: values of the attributes that matter; it loses the same whatever others it has.
    """

    value: int
    upper_bound: int
    row: Mapping[str, Value]

    @property
    def exact(self) -> bool:
        """Whether no row loses more than ``row`` does."""
        return self.value == self.upper_bound


def worst_row(charges: Iterable[RowCharge], *, node_limit: int = NODE_LIMIT) -> WorstRow:
    """Return the row that loses the most over all charges: the loss under unit ``event``.

    Rows have any values that a ``ValueSet`` knows; a region that should hold values of declared
    domains only is narrowed first (``Region.within``).

    Source: MIDE, Theorems 5 and 6; ``docs/proofs/composition.md``.

    Args:
        charges: any charges, in any order.
        node_limit: nodes of the search to expand before settling for a bound, at least 1; a first
            row is found in any case. The answer depends on nothing else, such as a clock.

    Raises:
        ValueError: ``node_limit`` is below 1, or the losses add up to 2^63 and more.
    """
    if not hasattr(charges, "__iter__"):
        raise ArgumentError("charges are a list of RowCharge", hint="write [RowCharge(...), ...]")
    charges = list(charges)
    expect(several(instance_of(RowCharge)), charges=charges)
    expect(WHOLE, node_limit=node_limit)
    if node_limit < 1:
        raise ArgumentError(
            "a search expands at least one node", hint="write node_limit=1 or more, or leave it out"
        )
    problem = row_problem(costly(charges))
    value, upper_bound, choices = _search(problem, node_limit)
    return WorstRow(
        value=value,
        upper_bound=upper_bound,
        row={
            problem.attributes[at].name: problem.attributes[at].witnesses[choice]
            for at, choice in sorted(choices.items())
        },
    )


def costly(charges: Iterable[RowCharge]) -> list[RowCharge]:
    """Return the charges that may cost some row something.

    Raises:
        ValueError: the losses add up to 2^63 and more.
    """
    kept = [each for each in charges if each.cost.worst_units and not each.region.empty]
    if sum(each.cost.worst_units for each in kept) >= 2**63:
        raise ArgumentError("losses add up to 2^63 loss units or more")
    return kept


@dataclass(slots=True)
class _Frame:
    """A node that has been expanded: its children by falling bound, and the next one to visit."""

    attribute: int
    children: NDArray[np.intp]
    bounds: NDArray[np.int64]
    current: NDArray[np.int64]
    fixed: Mapping[int, int]
    next: int = 0


def _search(problem: RowProblem, node_limit: int) -> tuple[int, int, Mapping[int, int]]:
    """Return the largest loss met, a bound that none exceeds, and the classes of that row."""
    best = -1
    row: dict[int, int] = {}
    stack: list[_Frame] = []
    current: NDArray[np.int64] | None = problem.largest
    fixed: dict[int, int] = {}
    cap = int(problem.largest.sum())
    nodes = 0
    while True:
        if current is not None:
            frame = _expanded(problem, current, fixed, best)
            nodes += 1
            if frame is None and (total := int(current.sum())) > best:
                best, row = total, fixed
            elif frame is not None and len(frame.children):
                # What bounds a node bounds its children, also where they add up to more.
                np.minimum(frame.bounds, cap, out=frame.bounds)
                stack.append(frame)
        while stack and stack[-1].next == len(stack[-1].children):
            stack.pop()
        if not stack or (nodes >= node_limit and best >= 0):
            break
        frame = stack[-1]
        current = None
        cap = int(frame.bounds[frame.next])
        if cap <= best:
            stack.pop()
            continue
        child = int(frame.children[frame.next])
        frame.next += 1
        fixed = {**frame.fixed, frame.attribute: child}
        current = _narrowed(problem, frame, child)
    waiting = [frame for frame in stack if frame.next < len(frame.children)]
    upper = max([best, *(int(frame.bounds[frame.next]) for frame in waiting)])
    return best, upper, row


def _expanded(
    problem: RowProblem, current: NDArray[np.int64], fixed: Mapping[int, int], best: int
) -> _Frame | None:
    """Return the node with its children that may lose more than ``best``; ``None`` for a leaf."""
    alive = current > 0
    open_attributes = [
        at
        for at in range(len(problem.attributes))
        if at not in fixed and (problem.touched[at] & alive).any()
    ]
    if not open_attributes:
        return None
    sums = _Sums(problem, current, fixed, open_attributes)
    bounds = {at: sums.children(at) for at in open_attributes}
    chosen = min(open_attributes, key=lambda at: (int(bounds[at].max()), len(bounds[at]), at))
    worth = np.flatnonzero(bounds[chosen] > best)
    order = worth[np.argsort(-bounds[chosen][worth], kind="stable")]
    return _Frame(chosen, order, bounds[chosen][order], current, fixed)


def _narrowed(problem: RowProblem, frame: _Frame, child: int) -> NDArray[np.int64]:
    """Return what each charge can still cost in a child."""
    classes = problem.attributes[frame.attribute]
    current = frame.current.copy()
    current[classes.gated] *= classes.gates[:, child]
    current[classes.grouped] = np.where(current[classes.grouped] > 0, classes.losses[:, child], 0)
    for charge in classes.tables:
        if current[charge] > 0:
            reach = _reach(problem, charge, frame.attribute, frame.fixed)
            current[charge] = reach[child]
    return current


def _reach(
    problem: RowProblem, charge: int, attribute: int, fixed: Mapping[int, int]
) -> NDArray[np.int64]:
    """Return, per class of an open group-by attribute, the dearest cell of a table."""
    table = problem.tables[charge]
    matched = np.ones(len(table.losses), dtype=np.bool_)
    for at, classes in table.classes.items():
        if at in fixed:
            matched &= classes == fixed[at]
    reach = np.zeros(len(problem.attributes[attribute].witnesses), dtype=np.int64)
    np.maximum.at(reach, table.classes[attribute][matched], table.losses[matched])
    return reach


class _Sums:
    """Sums over charges per class of an attribute, at one node."""

    def __init__(
        self,
        problem: RowProblem,
        current: NDArray[np.int64],
        fixed: Mapping[int, int],
        open_attributes: list[int],
    ) -> None:
        self._problem = problem
        self._current = current
        self._alive = current > 0
        self._fixed = fixed
        self._reach: dict[tuple[int, int], NDArray[np.int64]] = {}
        self._peaks: dict[tuple[int, bytes], int] = {}
        usable = set(open_attributes)
        home = np.full(len(current), -1)
        for charge in np.flatnonzero(self._alive):
            home[charge] = next((at for at in problem.homes[charge] if at in usable), -1)
        self._at_home = {at: home == at for at in open_attributes}
        self._settled = int(current[home < 0].sum())

    def children(self, attribute: int) -> NDArray[np.int64]:
        """Return a bound for every class of an attribute: no row in it loses more."""
        touching = self._problem.touched[attribute]
        rest = self._settled
        for home, guests in self._at_home.items():
            away = guests & ~touching
            if away.any():
                rest += self._peak(home, away)
        return self._per_class(attribute, touching & self._alive) + rest

    def _peak(self, attribute: int, charges: NDArray[np.bool_]) -> int:
        key = attribute, charges.tobytes()
        if key not in self._peaks:
            self._peaks[key] = int(self._per_class(attribute, charges).max())
        return self._peaks[key]

    def _per_class(self, attribute: int, charges: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return what living charges that look at the attribute can cost in each class."""
        classes = self._problem.attributes[attribute]
        sums: NDArray[np.int64] = classes.losses[charges[classes.grouped]].sum(
            axis=0, dtype=np.int64
        )
        taken = np.flatnonzero(charges[classes.gated])
        for start in range(0, len(taken), _CHUNK):
            chunk = taken[start : start + _CHUNK]
            sums += self._current[classes.gated[chunk]] @ classes.gates[chunk]
        for charge in classes.tables:
            if charges[charge]:
                sums += self._reachable(charge, attribute)
        return sums

    def _reachable(self, charge: int, attribute: int) -> NDArray[np.int64]:
        key = charge, attribute
        if key not in self._reach:
            self._reach[key] = _reach(self._problem, charge, attribute, self._fixed)
        return self._reach[key]
