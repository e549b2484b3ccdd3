"""The condition of a cell: a formula over integer tests on the cell's statistics.

An atom is the test ``s >= threshold`` of one statistic; every comparison of every aggregate reduces
to such atoms and their negations. Atoms that can be read off one noisy value form a channel: one
statistic, thresholds that differ by whole steps. A channel is charged once, however many literals
read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

import numpy as np

from accountant.arguments import (
    EXACT,
    INTEGERS,
    TEXT,
    WHOLE,
    WHOLES,
    Kind,
    expect,
    instance_of,
    one_of,
    or_none,
    several,
)
from accountant.errors import ArgumentError
from operators.conditions.atoms import IntegerTest, freeze
from operators.conditions.comparison import Comparison
from operators.conditions.formula import Formula, atom_of
from operators.conditions.levels import LevelGrid

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

__all__ = ["Aim", "Channel", "Condition", "Promised", "Severity", "ThresholdAtom"]

Promised = Literal["misses", "false_alarms"]
"""Which errors are bounded up to the threshold itself, the others only beyond the tolerance."""

_Value = TypeVar("_Value", bound=np.generic)

_FARTHEST: Final = np.int64(1 << 62)  # sums of two of them still fit
_WIDEST: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdAtom:
    """``s >= threshold``, per cell.

    Args:
        statistic: which of the cell's statistics, from 0.
        thresholds: shape (cells,), int64, in units of the statistic; made read-only.
    """

    statistic: int
    thresholds: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Freeze the thresholds."""
        expect(WHOLE, statistic=self.statistic)
        expect(INTEGERS, thresholds=self.thresholds)
        if self.statistic < 0 or self.thresholds.ndim != 1 or not self.thresholds.size:
            raise ArgumentError(
                "an atom has a statistic and one threshold per cell, at least one",
                hint="write ThresholdAtom(statistic=0, thresholds=np.full(cells, 120))",
            )
        if self.thresholds.dtype != np.int64:
            raise ArgumentError("thresholds are int64")
        freeze(self, "thresholds")


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """One noisy value and what is read off it.

    Args:
        name: unique in its condition; the key of its charge.
        statistic: which statistic it adds noise to.
        test: the test whose step counts carry the noise, ``s >= thresholds of the first atom``.
        offsets: per atom, how many steps its own step count lies above that of ``test``: shape
            (cells,), int64.
    """

    name: str
    statistic: int
    test: IntegerTest
    offsets: Mapping[str, NDArray[np.int64]]

    def steps(self, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the step count of ``test`` in every cell, within +-2^62.

        Args:
            statistics: shape (statistics, cells), int64.
        """
        steps = self.test.quantise(statistics[self.statistic])
        return np.clip(steps, -_FARTHEST, _FARTHEST, out=steps)


_ATOMS: Final = Kind(
    "a mapping of names to ThresholdAtom",
    'write {"a": ThresholdAtom(statistic=0, thresholds=np.array([120]))}',
    lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(each, ThresholdAtom) for each in value.values())
    ),
)


@dataclass(frozen=True, eq=False)
class Condition:
    """When a cell should ring.

    Args:
        formula: over the names of ``atoms``.
        atoms: one entry per atom of the formula.
        sensitivities: per statistic, how far one neighbour moves it (D >= 1), caps included.
        monotone: whether adding a privacy unit moves no literal's step count down, or none up, in
            all cells of all windows.
        one_question: whether a neighbour moves one cell of one window, which is asked once.
        steady: whether a neighbour's event, once a window has counted it, moves the step count of
            its cell alike at every later look at that window.
        guards: atoms that only say that anything was counted, as an aggregate of nothing is NULL.
        extremes: atoms that hold as soon as one event lies beyond the threshold of a MAX or MIN.
        members: how many cells, one after the other, share one answer: public, whatever is counted.
        least: of how many of these the condition holds, at least, where that answer is yes.

    Raises:
        ValueError: atoms missing or unknown, of different numbers of cells, or on a statistic
            without a sensitivity; a sensitivity that is no whole number from 1 to 2^63 - 1; cells
            that are not whole answers, or an answer that asks for none of its members or too many.
    """

    formula: Formula
    atoms: Mapping[str, ThresholdAtom]
    sensitivities: tuple[int, ...]
    monotone: bool = False
    one_question: bool = False
    steady: bool = False
    guards: frozenset[str] = frozenset()
    extremes: frozenset[str] = frozenset()
    members: int = 1
    least: int = 1

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        expect(instance_of(Formula), formula=self.formula)
        expect(_ATOMS, atoms=self.atoms)
        expect(WHOLES, sensitivities=self.sensitivities)
        if set(self.atoms) != set(self.formula.atoms):
            raise ArgumentError("a condition has one entry for each of its formula's atoms")
        if len({atom.thresholds.size for atom in self.atoms.values()}) != 1:
            raise ArgumentError("all atoms of a condition have one threshold per cell")
        if any(atom.statistic >= len(self.sensitivities) for atom in self.atoms.values()):
            raise ArgumentError("every statistic has a sensitivity")
        if not all(1 <= each <= _WIDEST for each in self.sensitivities):
            raise ArgumentError("a sensitivity is a whole number of at least 1 that fits int64")
        expect(WHOLE, members=self.members, least=self.least)
        if not 1 <= self.least <= self.members or self.cells % self.members:
            raise ArgumentError("an answer is about 1 to all of its members, as many for each")

    @classmethod
    def single(cls, test: IntegerTest) -> Condition:
        """Return the condition that one integer test is.

        Raises:
            ValueError: a threshold at the end of int64.
        """
        expect(instance_of(IntegerTest), test=test)
        thresholds = test.thresholds + test.comparison.after
        if test.comparison.after and (thresholds < test.thresholds).any():
            raise ArgumentError("a threshold lies at the end of int64")
        formula = Formula.parse("a" if test.comparison.upward else "NOT a")
        return cls(formula, {"a": ThresholdAtom(0, thresholds)}, (test.sensitivity,))

    @property
    def negated(self) -> Condition:
        """The condition that is true where this one is false."""
        formula = Formula.parse(f"NOT ({self.formula})")
        return replace(self, formula=formula, least=self.members - self.least + 1)

    @property
    def cells(self) -> int:
        """Number of cells that are counted."""
        return next(iter(self.atoms.values())).thresholds.size

    @property
    def answers(self) -> int:
        """Number of cells (predicates) that are decided: one for so many ``members``."""
        return self.cells // self.members

    def collected(self, values: NDArray[_Value]) -> NDArray[_Value]:
        """Return the ``least``-th largest value of every answer's members.

        Of truths, whether so many of them hold. It moves by no more than the values do, however
        many of them move.

        Args:
            values: shape (..., cells).

        Returns:
            Shape (..., answers).
        """
        if self.members == 1:
            return values
        at, shape = self.members - self.least, (*values.shape[:-1], -1, self.members)
        ranked: NDArray[_Value] = np.partition(values.reshape(shape), at, axis=-1)
        return ranked[..., at]

    @property
    def statistics(self) -> int:
        """Number of statistics of every cell."""
        return len(self.sensitivities)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """What noise is drawn for, in the order of the formula's atoms.

        Atoms share a channel where their thresholds are whole multiples of the sensitivity apart in
        every cell: others cannot share (``docs/research/proofs/probe.md``).
        """
        groups: list[list[str]] = []
        for name in self.formula.atoms:
            for group in groups:
                if self._together(group[0], name):
                    group.append(name)
                    break
            else:
                groups.append([name])
        return tuple(self._channel(group) for group in groups)

    def sensitivity_of(self, atom: str) -> int:
        """Return the sensitivity of an atom's statistic."""
        return self.sensitivities[self.atoms[atom].statistic]

    def test(self, literal: str) -> IntegerTest:
        """Return a literal as a test of its own."""
        name = atom_of(literal)
        comparison = Comparison.GE if literal == name else Comparison.LT
        return IntegerTest(comparison, self.atoms[name].thresholds, self.sensitivity_of(name))

    def truth(self, statistics: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Evaluate the condition directly (for tests and simulation; never released).

        Args:
            statistics: shape (statistics, cells), int64.

        Returns:
            Shape (answers,), bool.
        """
        expect(INTEGERS, statistics=statistics)
        if statistics.shape != (self.statistics, self.cells):
            raise ArgumentError(
                "statistics have one row per statistic and one column per cell",
                hint=f"the shape wanted here is ({self.statistics}, {self.cells})",
            )
        holds = {
            name: statistics[atom.statistic] >= atom.thresholds for name, atom in self.atoms.items()
        }
        return self.collected(self.formula.evaluate(holds))

    def _together(self, first: str, second: str) -> bool:
        one, other = self.atoms[first], self.atoms[second]
        sensitivity = self.sensitivity_of(first)
        if one.statistic != other.statistic:
            return False
        return bool((one.thresholds % sensitivity == other.thresholds % sensitivity).all())

    def _channel(self, group: list[str]) -> Channel:
        step = self.sensitivity_of(group[0])
        base = self.atoms[group[0]].thresholds // step
        return Channel(
            name=group[0],
            statistic=self.atoms[group[0]].statistic,
            test=self.test(group[0]),
            offsets={name: base - self.atoms[name].thresholds // step for name in group},
        )


@dataclass(frozen=True, slots=True, eq=False)
class Severity:
    """One severity level of an alarm: a threshold and rates of its own.

    Args:
        name: what its alarms are labelled with.
        distances: shape (cells,), int64: how far its threshold lies beyond the condition's, in
            units of the statistic; made read-only.
        max_fnr: of this level; ``None`` as of the aim, like the two that follow.
        max_fpr: of this level.
        tolerance: of this level, in units of the statistic.
    """

    name: str
    distances: NDArray[np.int64]
    max_fnr: Fraction | None = None
    max_fpr: Fraction | None = None
    tolerance: int | None = None

    def __post_init__(self) -> None:
        """Check the parts and freeze the distances."""
        expect(TEXT, name=self.name)
        expect(INTEGERS, distances=self.distances)
        expect(or_none(EXACT), max_fnr=self.max_fnr, max_fpr=self.max_fpr)
        expect(or_none(WHOLE), tolerance=self.tolerance)
        frozen = self.distances.astype(np.int64)
        frozen.setflags(write=False)
        object.__setattr__(self, "distances", frozen)

    def condition(self, first: Condition) -> Condition:
        """Return the condition at this level's thresholds.

        Args:
            first: at the first level's, of one comparison.
        """
        (name,), sign = first.atoms, 1 if first.formula.literals == first.formula.atoms else -1
        bounds = first.atoms[name].thresholds + sign * self.distances
        return replace(first, atoms={name: replace(first.atoms[name], thresholds=bounds)})

    def aim(self, whole: Aim) -> Aim:
        """Return what is promised of this level alone, by an alarm that promises ``whole``."""
        tolerance = whole.tolerances[0] if self.tolerance is None else self.tolerance
        fnr, fpr = self.max_fnr or whole.max_fnr, self.max_fpr or whole.max_fpr
        return replace(whole, severities=(), max_fnr=fnr, max_fpr=fpr, tolerances=(tolerance,))


@dataclass(frozen=True, slots=True)
class Aim:
    """What the analyst asked for, per cell, about the bounded statistics of decided windows.

    Args:
        max_fnr: most probable miss of a true alarm, in (0, 1).
        tolerances: MIDE's ``u`` per atom, in the order of ``Formula.atoms``, in units of its
            statistic (>= 0): a literal true by its threshold must hold, one false by more than 2u
            must not.
        max_fpr: most probable false alarm where the formula is false with every literal granted its
            tolerance; ``None`` means as ``max_fnr``. Of ProBE it then bounds none, and gives each
            literal its miss rate for both errors.
        first_tolerances: ``u`` of ProBE's first phase per atom; empty for mechanisms without one.
        alarms: alarms of one run of a sparse vector, after which it is spent.
        questions: how often a sparse vector asks a cell of one window while it doesn't ring.
        put_back: whether it asks again with the next window's cells, instead of at once.
        panes: of how many panes a window is made, where these share noise with other windows.
        pane_units: loss units of one pane that others have planned for; never less than needed.
        looks: how often a cell of a window is looked at, at the latest until it rings; 1 where a
            window is decided when it is over.
        levels: which noise levels a progressive mechanism reads; ``None`` leaves them to it.
        promise: which of both rates holds up to the threshold. With ``false_alarms`` they change
            places: ``max_fpr``, which is needed then, bounds false alarms wherever the formula is
            false, and ``max_fnr`` misses where it holds with every literal moved against it by 2u.
        gaussian: whether a Gaussian budget pays: losses are then ``mu^2 / 2``, of mechanisms that
            are mu-GDP.
        max_fnr_in_silence: most probable miss for who knows that a sparse vector's run was silent
            so far, all of it about cells beyond the tolerance; ``None`` promises nothing of that.
        asked_in_silence: questions of its longest run, but for those about one cell of the last
            window.
        severities: levels of the alarm, ascending, the first at the condition's own thresholds;
            empty where it fires or does not.
    """

    max_fnr: Fraction
    tolerances: tuple[int, ...]
    max_fpr: Fraction | None = None
    first_tolerances: tuple[int, ...] = ()
    alarms: int = 10
    questions: int = 1
    put_back: bool = False
    panes: int = 1
    pane_units: int = 0
    looks: int = 1
    levels: LevelGrid | None = None
    promise: Promised = "misses"
    gaussian: bool = False
    max_fnr_in_silence: Fraction | None = None
    asked_in_silence: int = 0
    severities: tuple[Severity, ...] = ()

    def __post_init__(self) -> None:
        """Check what the parts are; mechanisms say what they can keep."""
        expect(EXACT, max_fnr=self.max_fnr)
        expect(or_none(EXACT), max_fpr=self.max_fpr, max_fnr_in_silence=self.max_fnr_in_silence)
        expect(WHOLE, asked_in_silence=self.asked_in_silence)
        expect(WHOLES, tolerances=self.tolerances, first_tolerances=self.first_tolerances)
        expect(WHOLE, alarms=self.alarms, questions=self.questions, looks=self.looks)
        expect(WHOLE, panes=self.panes, pane_units=self.pane_units)
        expect(or_none(instance_of(LevelGrid)), levels=self.levels)
        expect(one_of(*get_args(Promised)), promise=self.promise)
        expect(several(instance_of(Severity)), severities=self.severities)

    def widened(self, tolerances: tuple[int, ...]) -> Aim:
        """Return the aim with other tolerances."""
        return replace(self, tolerances=tolerances)
