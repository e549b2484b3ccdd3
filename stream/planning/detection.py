"""Detection curves: how likely an alarm fires at a true bounded aggregate.

Where one count or sum is not enough, as a function of the condition's score. Exact from the
configuration alone, by the law of the alarm's own mechanism, and therefore public: no data is read.
Where no exact law is known there is no number, and :func:`why_not` says why. Proof:
``docs/research/proofs/detection.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.conditions.score import score_of
from operators.conditions.weights import Weight
from operators.conditions.widths import Relative
from operators.registry import mechanism_of
from stream.decisions.mechanisms import operator_of, severity_chances
from stream.model.alarm import ALONE, AggregateSpec
from stream.planning.tolerances import ADDED_UP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from operators.base import Operator
    from stream.model.alarm import Alarm

__all__ = ["DetectionCurve", "cells_alike", "whole", "why_not"]


@dataclass(frozen=True, eq=False)
class DetectionCurve:
    """The law of one alarm, planned once and asked often.

    Args:
        alarm: an alarm without a :func:`why_not`, decided by one count or sum.
        steps: of the score of another alarm, which this one replaces.
        whole: of a severity level as an alarm of its own, the alarm whose law it has.
        number: of the level, from 0.
    """

    alarm: Alarm
    steps: int | None = None
    whole: Alarm | None = None
    number: int = 0

    @cached_property
    def operator(self) -> Operator:
        """What decides the alarm.

        Raises:
            ConfigError: the alarm's aim cannot be kept.
        """
        return operator_of(self.whole or self.alarm)

    @cached_property
    def _known(self) -> dict[tuple[int, int], float]:
        return {}

    def severities(self) -> Iterator[tuple[str, DetectionCurve]]:
        """Yield the law of every severity level by its name; itself of an alarm without."""
        levels = self.alarm.aim.severities
        for number, level in enumerate(levels):
            alone = self.alarm.at_severity(level.name)
            yield level.name, DetectionCurve(alone, None, self.alarm, number)
        if not levels:
            yield "", self

    @classmethod
    def of(cls, alarm: Alarm) -> DetectionCurve:
        """Return the curve of any alarm that :func:`why_not` returns ``None`` for.

        Mechanisms decide a condition by its score, so where that has several aggregates, or one
        that does not say all, the law is that of a test of the score: its aggregate is the score.

        """
        if mechanism_of(alarm.mechanism).conditions is None or _one_added(alarm):
            return cls(alarm)
        condition, aim = alarm.condition, alarm.aim
        turned = condition if aim.promise == "misses" else condition.negated
        steps = score_of(turned, aim.tolerances).steps
        # Two units a step: then every number of steps has a tolerance, odd or even.
        atom = ThresholdAtom(0, np.zeros(condition.answers, dtype=np.int64))
        one_way = condition.monotone or condition.one_question
        test = Condition(Formula.parse("r"), {"r": atom}, (2,), monotone=one_way)
        alone = replace(
            alarm,
            aggregates=(AggregateSpec(Weight.SUM, resolution=Fraction(1, 2)),),
            condition=test,
            aim=aim.widened((steps - 1,)),
            texts=("score >= 0",),
            baseline=None,
            members=ALONE,
        )
        return cls(alone, steps)

    @cached_property
    def thresholds(self) -> NDArray[np.int64]:
        """Every cell's threshold as written, shape (cells,), in granules of the aggregate.

        The largest, where a condition compares the aggregate several times; of a band, its
        half-width.
        """
        alarm, band = self.alarm, self.alarm.band
        if band is not None:
            return band.half_widths
        atoms = alarm.condition.atoms
        levels = [
            atoms[name].thresholds - _is_after(text)
            for name, text in zip(alarm.condition.formula.atoms, alarm.texts, strict=True)
        ]
        highest: NDArray[np.int64] = np.max(levels, axis=0)
        return highest

    @property
    def _origins(self) -> NDArray[np.int64] | None:
        """Where each cell's distances begin, shape (cells,); nothing where these don't say all."""
        band, atoms = self.alarm.band, self.alarm.condition.atoms
        if band is not None:
            return None if isinstance(band.decider.tau, Relative) else band.references
        alike = len(atoms) == 1 and not (self.whole or self.alarm).aim.severities
        return next(iter(atoms.values())).thresholds if alike else None

    @property
    def unit(self) -> Fraction:
        """One unit of the statistic in the aggregate's own unit."""
        return self.alarm.aggregates[0].per_unit

    @property
    def kinds(self) -> list[tuple[int, int]]:
        """A cell of each kind that fires alike at its baseline, with how many there are of it."""
        alarm, band = self.alarm, self.alarm.band
        if alarm.baseline is None:
            return []
        centres = [] if band is None else [band.references]
        rows = [atom.thresholds for atom in alarm.condition.atoms.values()]
        rows += [level.distances for level in alarm.aim.severities]
        return cells_alike(self.thresholds, *centres, alarm.baseline, *rows)

    def due(self, cell: int, granules: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return at which aggregates a cell should fire.

        Args:
            cell: which one.
            granules: shape (n,), int64.
        """
        condition, band = self.alarm.condition, self.alarm.band
        if band is not None:
            distance = np.abs(granules - band.references[cell])
            return np.asarray(distance >= self.thresholds[cell], dtype=np.bool_)
        holds = {name: granules >= atom.thresholds[cell] for name, atom in condition.atoms.items()}
        return np.asarray(condition.formula.evaluate(holds), dtype=np.bool_)

    def at(self, cell: int, counts: Sequence[Fraction]) -> tuple[float, ...] | None:
        """Return how likely a cell fires at these aggregates.

        Args:
            cell: which one.
            counts: in the aggregate's own unit; the nearest whole granules are meant. Relative to
                the reference where a feed says it.

        Returns:
            ``None`` where no exact law is known.
        """
        granules = np.array([whole(count / self.unit) for count in counts], dtype=np.int64)
        chances = self.chances(cell, granules)
        return None if chances is None else tuple(chances.tolist())

    def chances(self, cell: int, granules: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the same for aggregates in granules, shape (n,), int64: each is asked for once.

        Cells of one comparison, or of bands of one width, fire alike at the same distance.
        """
        origins = self._origins
        like = cell if origins is None else 0
        shift = np.int64(0) if origins is None else origins[cell] - origins[0]
        asked = [(like, at) for at in (granules - shift).tolist()]
        if new := sorted(set(asked).difference(self._known)):
            statistics = np.array([[at for _, at in new]], np.int64)
            found = severity_chances(self.operator, self.number, like, statistics)
            if found is None:
                return None
            self._known.update(zip(new, found.tolist(), strict=True))
        return np.array([self._known[at] for at in asked])

    def cells(self) -> tuple[int, ...]:
        """Return a cell of the smallest, the median and the largest threshold, each once.

        Of a quantifier, among those that decide its answers where all groups count the same.
        """
        condition, cells = self.alarm.condition, np.arange(self.thresholds.size)
        if condition.members > 1:
            test = condition.test(condition.formula.literals[0])
            steps = test.quantise(np.zeros_like(cells)).reshape(-1, condition.members)
            ranked = np.argsort(-steps, axis=1, kind="stable")[:, condition.least - 1]
            cells = cells[:: condition.members] + ranked
        order = cells[np.argsort(self.thresholds[cells], kind="stable")]
        shown = (order[0], order[(order.size - 1) // 2], order[-1])
        return tuple({int(self.thresholds[cell]): int(cell) for cell in shown}.values())

    def marks(self, cell: int) -> tuple[Fraction, ...]:
        """Return where a cell's condition changes, in the aggregate's own unit: as written."""
        alarm, band = self.alarm, self.alarm.band
        if band is not None:
            around, tau = int(band.references[cell]), int(self.thresholds[cell])
            return (around - tau) * self.unit, (around + tau) * self.unit
        cuts = (
            int(alarm.condition.atoms[name].thresholds[cell]) - _is_after(text)
            for name, text in zip(alarm.condition.formula.atoms, alarm.texts, strict=True)
        )
        return tuple(dict.fromkeys(cut * self.unit for cut in cuts))

    @property
    def median_cell(self) -> int:
        """A cell of the median threshold."""
        order = np.argsort(self.thresholds, kind="stable")
        return int(order[(order.size - 1) // 2])


def why_not(alarm: Alarm) -> str | None:
    """Return why it is not known how likely an alarm fires; ``None`` where it is.

    Args:
        alarm: the alarm.
    """
    if alarm.band is not None:
        decider = alarm.band.decider
        if alarm.reference is not None and isinstance(decider.tau, Relative):
            return "how wide its band is follows from a reference that is counted"
        if len(decider.statistics) > 1 or alarm.aggregates[0].kind not in ADDED_UP:
            return f"{decider.name} evaluates more than one number"
    elif mechanism_of(alarm.mechanism).first_phase:
        if len(alarm.condition.channels) > 1:
            return f"{alarm.mechanism} chooses between several noisy values"
        if not _one_added(alarm):
            return "it depends on how many values there are"
    return None


def _one_added(alarm: Alarm) -> bool:
    """Return whether an alarm is about one count or sum."""
    used = {atom.statistic for atom in alarm.condition.atoms.values()}
    return len(used) == 1 and alarm.aggregates[used.pop()].kind in ADDED_UP


def _is_after(text: str) -> bool:
    """Return whether a comparison's cut lies after its threshold, as for ``>`` and ``<=``."""
    return text.rpartition(" ")[0].rpartition(" ")[2] in {">", "<="}


def whole(number: Fraction | float) -> int:
    """Return the nearest integer, halves rounded up."""
    return int((Fraction(number) + Fraction(1, 2)) // 1)


def cells_alike(*rows: NDArray[np.float64] | NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return a cell of each kind that has the same figures, with how many there are of it.

    Args:
        rows: of figures, shape (cells,) each.
    """
    _, cells, sizes = np.unique(np.stack(rows), axis=1, return_index=True, return_counts=True)
    return list(zip(cells.tolist(), sizes.tolist(), strict=True))
