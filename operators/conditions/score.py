"""A whole condition as one integer test: AND read as the least, OR as the largest step count.

One record moves every literal's step count by at most one step, in whatever direction, and so it
moves their minima and maxima by at most one, and the j-th largest score of many cells, all of which
it may move at once. The condition is then a single threshold test, however many comparisons it has
and of however many groups it is asked: one noise decides it. The proof is in
``docs/research/proofs/score.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import WHOLES, expect, instance_of
from accountant.errors import ArgumentError
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Condition
from operators.conditions.formula import atom_of
from operators.conditions.syntax import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from operators.conditions.condition import Aim

__all__ = ["Score", "quorate", "score_of"]

_MOST_PAIRS: Final = 1 << 14  # of implicants and implicates, cell by cell that differs
_MOST_QUORUM: Final = 1 << 62
_NEVER: Final = np.int64(np.iinfo(np.int64).min)


@dataclass(frozen=True, eq=False)
class Score:
    """The step count of a condition, of sensitivity one.

    Guarantee: it is at least 0 exactly where the condition is true, at most ``-steps`` where it is
    false with every literal granted its tolerance, and neighbours (every statistic at most its
    sensitivity apart, all of them at once, in any directions) have scores at most 1 apart.

    Args:
        condition: when a cell should ring.
        steps: k, from "must fire" (0) down to "must not fire" (-k).
        decisive: the literal whose tolerance sets k; a guard only where nothing else is asked.
        implicants: the sets of literals whose least step counts are compared; none of them where
            AND and OR are read as they are written.
        consistent: shape (implicants, cells), bool: which sets any data can meet.
    """

    condition: Condition
    steps: int
    decisive: str
    implicants: tuple[frozenset[str], ...]
    consistent: NDArray[np.bool_]

    @cached_property
    def test(self) -> IntegerTest:
        """The condition as a test of the score: ``score >= 0`` for every answer."""
        nothing = np.zeros(self.condition.answers, dtype=np.int64)
        return IntegerTest(Comparison.GE, nothing, 1)

    def read(self, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the score of every answer.

        Args:
            statistics: shape (statistics, cells), int64, or (windows, statistics, cells).

        Returns:
            Shape (answers,), int64, or (windows, answers).
        """
        collected = self.condition.collected
        if statistics.ndim == 2:
            return collected(self._scores(self._tests, statistics, self.consistent))
        windows, rows, cells = statistics.shape
        flat = statistics.transpose(1, 0, 2).reshape(rows, -1)
        scores = self._at(np.tile(np.arange(cells), windows), flat)
        return collected(scores.reshape(windows, cells))

    def of(self, cell: int, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the scores that one cell, or the answer of its members, may have.

        Args:
            cell: which one.
            statistics: shape (statistics, n), int64: what its statistics may be; of an answer, of
                all members: (statistics, n, members).

        Returns:
            Shape (n,), int64.
        """
        if statistics.ndim == 3:
            rows, n, members = statistics.shape
            cells = np.tile(cell * members + np.arange(members), n)
            scores = self._at(cells, statistics.reshape(rows, -1))
            return self.condition.collected(scores.reshape(n, members))[:, 0]
        return self._at(np.full(statistics.shape[1], cell), statistics)

    @cached_property
    def _tests(self) -> dict[str, IntegerTest]:
        return {one: self.condition.test(one) for one in self.condition.formula.literals}

    def _at(self, cells: NDArray[np.intp], statistics: NDArray[np.int64]) -> NDArray[np.int64]:
        tests = {one: test.at(cells) for one, test in self._tests.items()}
        return self._scores(tests, statistics, self.consistent[:, cells])

    def _scores(
        self,
        tests: Mapping[str, IntegerTest],
        statistics: NDArray[np.int64],
        consistent: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        atoms = self.condition.atoms
        steps = {
            one: test.quantise(statistics[atoms[atom_of(one)].statistic])
            for one, test in tests.items()
        }
        if not self.implicants:
            return fold(self.condition.formula.monotone, steps.__getitem__, _least, _largest)
        found = np.full(statistics.shape[1], _NEVER)
        for implicant, possible in zip(self.implicants, consistent, strict=True):
            own = _least([steps[one] for one in implicant])
            np.maximum(found, own, out=found, where=possible)
        return found


def score_of(condition: Condition, tolerances: tuple[int, ...]) -> Score:
    """Return the score of a condition, with the most steps that it can have.

    Where literals share a statistic, the steps are the fewest that lead from data where the
    condition is true to data where it is false with every literal granted its tolerance: no
    mechanism has more room than that. Else, or where there are too many ways to be true or false,
    they are those of the literal with the fewest.

    Args:
        condition: when a cell should ring.
        tolerances: MIDE's ``u`` per atom, in the order of ``Formula.atoms``, >= 0.

    Raises:
        ValueError: not one tolerance per atom.
    """
    expect(instance_of(Condition), condition=condition)
    expect(WHOLES, tolerances=tolerances)
    return _score_of(condition, tuple(tolerances))


@lru_cache(maxsize=256)  # an alarm is priced, planned and made with one aim
def _score_of(condition: Condition, tolerances: tuple[int, ...]) -> Score:
    condition, steps = _quorate(condition, tolerances)
    formula = condition.formula
    if sum(formula.occurrences) > len({atom.statistic for atom in condition.atoms.values()}):
        shared = _shared(condition, steps)
        if shared is not None:
            return shared
    decisive = min(formula.literals, key=lambda one: (steps[one], atom_of(one) in condition.guards))
    return Score(condition, steps[decisive], decisive, (), np.empty((0, condition.cells), np.bool_))


def quorate(condition: Condition, aim: Aim) -> Condition:
    """Return what is decided of a condition: by a score, guards and extremes ask for a quorum.

    A test that anything was counted has no room for a tolerance: with one, an empty cell would be
    free to fire, and without one it would set the price of the whole condition. So it asks for k
    times its sensitivity, k being the steps of the others, and an empty cell is k steps from that.
    An extreme asks for so many events that its own tolerance ends at an empty cell. Cells that hold
    fewer lie outside ``max_fnr``. ProBE by name has no score: its guards stay.

    Args:
        condition: when a cell should ring.
        aim: what the analyst asked for.
    """
    if aim.promise != "misses":  # then an extreme has its tolerance beyond the first event
        condition = replace(condition, extremes=frozenset())
    return condition if aim.first_tolerances else _quorate(condition, aim.tolerances)[0]


def _quorate(condition: Condition, tolerances: tuple[int, ...]) -> tuple[Condition, dict[str, int]]:
    """Return a condition with a quorum for every guard, and the steps of every literal."""
    formula = condition.formula
    if len(tolerances) != len(formula.atoms):
        raise ArgumentError("a score has one tolerance for each atom of the formula")
    granted = dict(zip(formula.atoms, tolerances, strict=True))
    steps = {one: condition.test(one).steps(granted[atom_of(one)]) for one in formula.literals}
    names = [atom_of(one) for one in formula.literals]
    guards = {name for name in condition.guards if names.count(name) == 1}
    asked = [steps[one] for one in formula.literals if atom_of(one) not in guards]
    atoms = dict(condition.atoms)
    for one in formula.literals if asked else ():
        name = atom_of(one)
        if name in guards:
            steps[one] = min(asked)
        elif one not in condition.extremes:
            continue
        if one == name:  # its negation asks for emptiness itself
            step = condition.sensitivity_of(name)
            quorum = steps[one] * step if name in guards else (steps[one] - 1) * step + 1
            bounds = np.full(condition.cells, min(quorum, _MOST_QUORUM))
            atoms[name] = replace(atoms[name], thresholds=bounds)
    return replace(condition, atoms=atoms), steps


@dataclass(frozen=True, slots=True)
class _Box:
    """Values of every statistic between bounds, both included, with the literals that set them."""

    lowest: Mapping[int, tuple[int, str]]
    highest: Mapping[int, tuple[int, str]]

    @property
    def empty(self) -> bool:
        """Whether no data are in it."""
        return any(
            low > self.highest[at][0] for at, (low, _) in self.lowest.items() if at in self.highest
        )

    def steps_to(self, other: _Box, sensitivities: tuple[int, ...]) -> tuple[int, str]:
        """Return how many steps lead to another box, and which of its literals says so."""
        gaps = [(0, "")]
        for low, high in ((self.lowest, other.highest), (other.lowest, self.highest)):
            for at in low.keys() & high.keys():
                literal = (high if low is self.lowest else low)[at][1]
                gaps.append((-((high[at][0] - low[at][0]) // sensitivities[at]), literal))
        return max(gaps)


def _shared(condition: Condition, steps: Mapping[str, int]) -> Score | None:
    """Return the score over the implicants that data can meet; nothing where that is too much."""
    try:
        implicants = condition.formula.prime_implicants()
        implicates = condition.formula.prime_implicates()
    except ValueError:
        return None
    # All that matters of a cell is how far its thresholds on one statistic lie apart.
    bases = {atom.statistic: name for name, atom in condition.atoms.items()}
    columns = {name: atom.thresholds.tolist() for name, atom in condition.atoms.items()}
    origins = {name: columns[bases[atom.statistic]] for name, atom in condition.atoms.items()}
    kinds: dict[tuple[int, ...], list[int]] = {}
    for cell in range(condition.cells):
        apart = tuple(columns[name][cell] - origins[name][cell] for name in columns)
        kinds.setdefault(apart, []).append(cell)
    if len(implicants) * len(implicates) * len(kinds) > _MOST_PAIRS:
        return None
    consistent = np.zeros((len(implicants), condition.cells), dtype=np.bool_)
    distances = []
    for apart, cells in kinds.items():
        at = dict(zip(columns, apart, strict=True))
        true = [_true_box(condition, each, at) for each in implicants]
        false = [_false_box(condition, each, at, steps) for each in implicates]
        for row, box in enumerate(true):
            consistent[row, cells] = not box.empty
            distances += [
                box.steps_to(other, condition.sensitivities)
                for other in false
                if not box.empty and not other.empty
            ]
    if not distances:  # never true, or never false: nothing is promised
        return None
    least, _, decisive = min((far, atom_of(one) in condition.guards, one) for far, one in distances)
    return Score(condition, least, decisive, implicants, consistent)


def _true_box(condition: Condition, literals: Iterable[str], at: Mapping[str, int]) -> _Box:
    """Return where every literal is true."""
    return _box(
        (one == atom_of(one), condition.atoms[atom_of(one)].statistic, at[atom_of(one)], one)
        for one in literals
    )


def _false_box(
    condition: Condition, literals: Iterable[str], at: Mapping[str, int], steps: Mapping[str, int]
) -> _Box:
    """Return where every literal is false that is granted its tolerance."""
    bounds = []
    for one in literals:
        name, rises = atom_of(one), one == atom_of(one)
        moved = (steps[one] - 1) * condition.sensitivity_of(name)
        threshold = at[name] - moved if rises else at[name] + moved
        bounds.append((not rises, condition.atoms[name].statistic, threshold, one))
    return _box(bounds)


def _box(bounds: Iterable[tuple[bool, int, int, str]]) -> _Box:
    """Return where every statistic is at its threshold or beyond (else: below it)."""
    lowest: dict[int, tuple[int, str]] = {}
    highest: dict[int, tuple[int, str]] = {}
    for rises, statistic, threshold, literal in bounds:
        if rises:
            lowest[statistic] = max(
                lowest.get(statistic, (threshold, literal)), (threshold, literal)
            )
        else:
            end = (threshold - 1, literal)
            highest[statistic] = min(highest.get(statistic, end), end)
    return _Box(lowest, highest)


def _least(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return reduce(np.minimum, parts)


def _largest(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return reduce(np.maximum, parts)
