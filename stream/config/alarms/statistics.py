"""From the comparisons of HAVING to statistics, atoms and the formula over them.

Statistics that weigh every event alike are counted once, and atoms that test the same statistic
against the same thresholds are one atom, however often they are written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from operators.conditions.comparison import Comparison
from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import MOST_ATOMS, Formula
from operators.conditions.weights import Weight
from stream.config.alarms.reduction import (
    LARGEST_STATISTIC,
    Bound,
    Tree,
    reduce,
)
from stream.config.sql.comparisons import Asked, Threshold
from stream.config.sql.nodes import SqlProblem
from stream.model.fingerprints import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.config.alarms.thresholds import Levels
    from stream.model.alarm import AggregateSpec

__all__ = ["CountedAtom", "Counting", "assemble"]

MOST_TESTS: Final = 64
"""Most tests that HAVING may come to, repeated ones included: listing the ways to be true of a
longer condition could take minutes."""


@dataclass(frozen=True, slots=True)
class CountedAtom:
    """An atom, and where it comes from.

    Args:
        name: in the formula.
        test: what it tests.
        first: what made it.
        asked: the comparisons that read it, or their negations; none reads a guard, which only
            keeps an aggregate of nothing from firing.
    """

    name: str
    test: ThresholdAtom
    first: Asked
    asked: list[Asked] = field(default_factory=list)

    @property
    def guard(self) -> bool:
        """Whether it is one."""
        return not self.asked

    @property
    def meant(self) -> list[Asked]:
        """What it is known by."""
        return self.asked or [self.first]

    @property
    def text(self) -> str:
        """The atom as SQL."""
        return self.meant[0].text


@dataclass(frozen=True, slots=True)
class Counting:
    """What an alarm counts and tests.

    Args:
        aggregates: its statistics.
        condition: the formula, its atoms and the statistics' sensitivities.
        atoms: where the atoms come from, in the order of the formula's.
    """

    aggregates: tuple[AggregateSpec, ...]
    condition: Condition
    atoms: tuple[CountedAtom, ...]

    def spec_of(self, atom: CountedAtom) -> AggregateSpec:
        """Return the statistic that an atom tests."""
        return self.aggregates[atom.test.statistic]


def assemble(
    tree: Tree[Asked],
    levels: Mapping[Asked, Levels],
    *,
    cap: int,
    offset: int = 0,
) -> Counting:
    """Return the statistics, atoms and formula of a condition.

    Args:
        tree: the condition.
        levels: thresholds of every comparison in it.
        cap: how many events of one neighbour may count in a cell.
        offset: where the condition stands.

    Raises:
        SqlProblem: an average's thresholds are too fine, weights pass 62 bits, or the formula is
            constant, too long, or has too many atoms.
    """
    assembler = _Assembler(levels)
    needed = _without_needless_guards(tree.mapped(assembler.placed), ())
    written = assembler.written(needed)
    specs, atoms = assembler.specs, tuple(assembler.atoms.values())
    sensitivities = tuple(
        spec.largest * (1 if spec.kind is Weight.DISTINCT_UNITS else cap) for spec in specs
    )
    if max(sensitivities) >= LARGEST_STATISTIC:
        raise SqlProblem(
            "one event can change a statistic by more than 2^62", "narrow the clips", offset
        )
    tests = len(list(needed.leaves()))
    for number, most, what in (
        (len(atoms), MOST_ATOMS, "distinct comparisons"),
        (tests, MOST_TESTS, "comparisons"),
    ):
        if number > most:
            message = f"HAVING becomes {number} {what}; the limit is {most}"
            raise SqlProblem(message, "shorten it, or split it into several alarms", offset)
    try:
        formula = Formula.parse(written)
    except ValueError:  # few atoms, well formed: it can only be constant
        message = "this condition is always true or always false"
        raise SqlProblem(message, "check comparisons and thresholds", offset) from None
    guards = frozenset(atom.name for atom in atoms if atom.guard)
    extremes = frozenset(
        atom.name
        for atom in atoms
        if specs[atom.test.statistic].of_extreme and f"NOT {atom.name}" not in formula.literals
    )
    tested = {atom.name: atom.test for atom in atoms}
    condition = Condition(formula, tested, sensitivities, guards=guards, extremes=extremes)
    return Counting(tuple(specs), condition, atoms)


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """A bound of a comparison, arrays per cell."""

    asked: Asked
    bound: Bound

    @property
    def fails_when_empty(self) -> bool:
        """Whether it is false in every cell where nothing was counted for it."""
        bound = self.bound
        return not ((bound.thresholds <= 0) != bound.negated).any()

    def implies(self, guard: _Placed) -> bool:
        """Tell whether it needs an event that the guard counts."""
        mine, other = self.asked.measure, guard.asked.measure
        return (
            self.fails_when_empty
            and other.where in (None, mine.where)
            and other.present in {None, mine.present}
        )


@dataclass(slots=True)
class _Assembler:
    """Numbers statistics and atoms in order of appearance, sharing equal ones."""

    levels: Mapping[Asked, Levels]
    specs: list[AggregateSpec] = field(default_factory=list)
    atoms: dict[tuple[int, bytes], CountedAtom] = field(default_factory=dict)
    _known: dict[str, int] = field(default_factory=dict)

    def placed(self, asked: Asked) -> Tree[_Placed]:
        """Return the bounds of a comparison, per cell."""
        levels = self.levels[asked]
        try:
            tree = reduce(asked.measure, asked.comparison, levels.values)
        except ValueError as error:
            hint = "write thresholds with fewer decimals, or use a coarser resolution"
            raise SqlProblem(str(error), hint, asked.threshold.offset) from None
        guard = Asked(asked.measure.counted, Comparison.GT, Threshold(0, Fraction(0)))

        def spread(bound: Bound) -> Tree[_Placed]:
            weights = bound.weights
            if weights.pivots is not None:
                weights = replace(weights, pivots=levels.over_cells(weights.pivots))
            thresholds = levels.over_cells(bound.thresholds)
            bound = replace(bound, weights=weights, thresholds=thresholds)
            return Tree(_Placed(guard if bound.guard else asked, bound))

        return tree.mapped(spread)

    def written(self, tree: Tree[_Placed]) -> str:
        """Return the tree as a formula over the atoms' names."""
        if tree.leaf is not None:
            name = self._atom(tree.leaf)
            return f"NOT {name}" if tree.leaf.bound.negated else name
        word = " AND " if tree.conjunction else " OR "
        return f"({word.join(self.written(part) for part in tree.parts)})"

    def _atom(self, placed: _Placed) -> str:
        bound, asked = placed.bound, placed.asked
        test = ThresholdAtom(self._statistic(placed), bound.thresholds)
        new = CountedAtom(f"a{len(self.atoms) + 1}", test, asked)
        made = self.atoms.setdefault((test.statistic, bound.thresholds.tobytes()), new)
        if not bound.guard and asked not in made.asked:
            made.asked.append(asked)
        return made.name

    def _statistic(self, placed: _Placed) -> int:
        measure = placed.asked.measure
        counts = placed.bound.weights.kind in {Weight.COUNT, Weight.DISTINCT_UNITS}
        spec = replace(
            placed.bound.weights,
            field=measure.field,
            where=measure.where,
            resolution=None if counts else measure.unit,
            terms=measure.terms,
        )
        number = self._known.setdefault(json.dumps(counted(spec)), len(self.specs))
        if number == len(self.specs):
            self.specs.append(spec)
        return number


def _without_needless_guards(tree: Tree[_Placed], known: Sequence[_Placed]) -> Tree[_Placed]:
    """Leave out guards that other conjuncts imply: each one is charged.

    Args:
        tree: the condition, or a part of it.
        known: literals that hold wherever this part matters.
    """
    if tree.leaf is not None:
        return tree
    parts = list(tree.parts)
    if tree.conjunction:
        leaves = [part.leaf for part in parts if part.leaf is not None]
        known = [*known, *(leaf for leaf in leaves if not leaf.bound.guard)]
        parts = []
        for part in tree.parts:
            leaf = part.leaf
            if leaf is not None and leaf.bound.guard:
                if any(each.implies(leaf) for each in known):
                    continue
                known = [*known, leaf]
            parts.append(part)
    kept = [_without_needless_guards(part, known) for part in parts]
    return Tree.joined(kept, conjunction=tree.conjunction)
