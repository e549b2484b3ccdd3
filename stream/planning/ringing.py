"""At what count an alarm rings: how likely, as a function of the true bounded aggregate.

Where one count or sum does not say all, as a function of the condition's score. Exact from the
configuration alone, by the law of the alarm's own mechanism, and therefore public: no data is read.
Where no exact law is known there is no number, and :func:`why_not` says why. Proof:
``docs/proofs/ringing.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.conditions.score import score_of
from operators.conditions.weights import Weight
from operators.conditions.widths import Relative
from operators.registry import mechanism_of
from stream.decisions.mechanisms import operator_of, severity_chances
from stream.model.queries import ALONE, AggregateSpec
from stream.planning.usefulness import ADDED_UP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from operators.base import Decider, Operator
    from stream.model.alarms import Budget
    from stream.model.queries import Query

__all__ = [
    "PERCENTS",
    "SCORES",
    "Curve",
    "Edge",
    "RingLaw",
    "Ringing",
    "curve_of",
    "threshold_edge",
    "whole",
    "why_not",
]

PERCENTS: Final = (0, 25, 50, 75, 90, 100, 110)
"""Where a curve is looked at, in per cent of the threshold (of a band: of its half-width)."""

SCORES: Final = tuple(Fraction(part, 4) for part in (-8, -4, -2, -1, 0, 1, 2))
"""Where the curve of a score is looked at, in its steps: 0 just holds, -1 is beyond tolerances."""

_EVERY: Final = "every predicate"


@dataclass(frozen=True, slots=True)
class Curve:
    """How likely the cells of one threshold ring.

    Args:
        threshold: as written, in the aggregate's own unit; of a band, its half-width.
        reference: what a band lies around; 0 for other alarms, and where a feed says it.
        counts: aggregates, rising with ``PERCENTS``: the nearest whole granules; or scores, with
            ``SCORES``.
        chances: probability to ring at each.
        severity: the level that it is about, and the higher ones; empty for an alarm without.
    """

    threshold: Fraction
    reference: Fraction
    counts: tuple[Fraction, ...]
    chances: tuple[float, ...]
    severity: str = ""


@dataclass(frozen=True, slots=True)
class Ringing:
    """How likely an alarm rings.

    Args:
        basis: what is computed, in words.
        curves: at its one threshold, or at the smallest, the median and the largest.
        steps: of the condition's score, where counts are scores.
    """

    basis: str
    curves: tuple[Curve, ...]
    steps: int | None = None


@dataclass(frozen=True, eq=False)
class RingLaw:
    """The law of one alarm, planned once and asked often.

    Args:
        query: an alarm that :func:`why_not` says nothing of, and one count or sum says all of.
        steps: of the score of another one, which this one stands for.
        whole: of a severity level as an alarm of its own, the alarm whose law it has.
        number: of the level, from 0.
    """

    query: Query
    steps: int | None = None
    whole: Query | None = None
    number: int = 0
    operator: Operator = field(init=False, repr=False)
    _known: dict[tuple[int, int], float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Plan the operator.

        Raises:
            ConfigError: the alarm's aim cannot be kept.
        """
        object.__setattr__(self, "operator", operator_of(self.whole or self.query))

    def severities(self) -> Iterator[tuple[str, RingLaw]]:
        """Yield the law of every severity level by its name; itself of an alarm without."""
        levels = self.query.aim.severities
        for number, level in enumerate(levels):
            yield level.name, RingLaw(self.query.at_severity(level.name), None, self.query, number)
        if not levels:
            yield "", self

    @classmethod
    def of(cls, query: Query) -> RingLaw:
        """Return the law of any alarm that :func:`why_not` says nothing of.

        Mechanisms decide a condition by its score, so where that has several aggregates, or one
        that does not say all, the law is that of a test of the score: its aggregate is the score.

        Raises:
            ConfigError: the alarm's aim cannot be kept.
        """
        if mechanism_of(query.mechanism).conditions is None or _one_added(query):
            return cls(query)
        condition, aim = query.condition, query.aim
        turned = condition if aim.promise == "misses" else condition.negated
        steps = score_of(turned, aim.tolerances).steps
        # Two units a step: then every number of steps has a tolerance, odd or even.
        atom = ThresholdAtom(0, np.zeros(condition.answers, dtype=np.int64))
        one_way = condition.monotone or condition.one_question
        test = Condition(Formula.parse("r"), {"r": atom}, (2,), monotone=one_way)
        alone = replace(
            query,
            aggregates=(AggregateSpec(Weight.SUM, granule=Fraction(1, 2)),),
            condition=test,
            aim=aim.widened((steps - 1,)),
            texts=("score >= 0",),
            usual=None,
            members=ALONE,
        )
        return cls(alone, steps)

    @cached_property
    def thresholds(self) -> NDArray[np.int64]:
        """Every cell's threshold as written, shape (cells,), in granules of the aggregate.

        The largest, where a condition compares the aggregate several times; of a band, its
        half-width.
        """
        query, band = self.query, self.query.band
        if band is not None:
            return band.half_widths
        atoms = query.condition.atoms
        levels = [
            atoms[name].thresholds - _is_after(text)
            for name, text in zip(query.condition.formula.atoms, query.texts, strict=True)
        ]
        highest: NDArray[np.int64] = np.max(levels, axis=0)
        return highest

    @property
    def _origins(self) -> NDArray[np.int64] | None:
        """Where each cell's distances begin, shape (cells,); nothing where these don't say all."""
        band, atoms = self.query.band, self.query.condition.atoms
        if band is not None:
            return None if isinstance(band.decider.tau, Relative) else band.references
        alike = len(atoms) == 1 and not (self.whole or self.query).aim.severities
        return next(iter(atoms.values())).thresholds if alike else None

    @property
    def unit(self) -> Fraction:
        """One unit of the statistic in the aggregate's own unit."""
        return self.query.aggregates[0].per_unit

    @property
    def references(self) -> NDArray[np.int64]:
        """What every cell's band lies around, shape (cells,), in granules; 0 without one."""
        band = self.query.band
        return np.zeros(len(self.query.counted), np.int64) if band is None else band.references

    def due(self, cell: int, granules: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return at which aggregates a cell should ring.

        Args:
            cell: which one.
            granules: shape (n,), int64.
        """
        condition, band = self.query.condition, self.query.band
        if band is not None:
            distance = np.abs(granules - band.references[cell])
            return np.asarray(distance >= self.thresholds[cell], dtype=np.bool_)
        holds = {name: granules >= atom.thresholds[cell] for name, atom in condition.atoms.items()}
        return np.asarray(condition.formula.evaluate(holds), dtype=np.bool_)

    def at(self, cell: int, counts: Sequence[Fraction]) -> tuple[float, ...] | None:
        """Return how likely a cell rings at these aggregates.

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

        Cells of one comparison, or of bands of one width, ring alike at the same distance.
        """
        origins = self._origins
        like = cell if origins is None else 0
        shift = np.int64(0) if origins is None else origins[cell] - origins[0]
        asked, back = np.unique(granules - shift, return_inverse=True)
        new = np.array([at for at in asked.tolist() if (like, at) not in self._known], np.int64)
        if new.size:
            found = severity_chances(self.operator, self.number, like, new[np.newaxis])
            if found is None:
                return None
            self._known.update(
                zip([(like, at) for at in new.tolist()], found.tolist(), strict=True)
            )
        return np.array([self._known[like, at] for at in asked.tolist()])[back]

    def cells(self) -> tuple[int, ...]:
        """Return a cell of the smallest, the median and the largest threshold, each once.

        Of a quantifier, among those that decide its answers where all groups count the same.
        """
        condition, cells = self.query.condition, np.arange(self.thresholds.size)
        if condition.members > 1:
            test = condition.test(condition.formula.literals[0])
            steps = test.quantise(np.zeros_like(cells)).reshape(-1, condition.members)
            ranked = np.argsort(-steps, axis=1, kind="stable")[:, condition.least - 1]
            cells = cells[:: condition.members] + ranked
        order = cells[np.argsort(self.thresholds[cells], kind="stable")]
        shown = (order[0], order[(order.size - 1) // 2], order[-1])
        return tuple({int(self.thresholds[cell]): int(cell) for cell in shown}.values())

    @property
    def median_cell(self) -> int:
        """A cell of the median threshold."""
        order = np.argsort(self.thresholds, kind="stable")
        return int(order[(order.size - 1) // 2])


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a cell's condition changes, in the aggregate's own unit.

    Args:
        marks: thresholds as written, or the two ends of a band.
        either: from and to where the tolerance leaves it open whether it rings.
        around: whether these are the ends of a band.
    """

    marks: tuple[Fraction, ...]
    either: tuple[tuple[Fraction, Fraction], ...] = ()
    around: bool = False


def threshold_edge(law: RingLaw, cell: int) -> Edge:
    """Return where a cell's condition changes, and what its tolerance leaves open.

    Args:
        law: of the alarm.
        cell: which one.
    """
    query, band, unit = law.query, law.query.band, law.unit
    if band is not None:
        around, tau = int(band.references[cell]), int(law.thresholds[cell])
        return Edge(((around - tau) * unit, (around + tau) * unit), around=True)
    formula, marks, either = query.condition.formula, [], []
    pairs = zip(formula.atoms, query.texts, query.aim.tolerances, strict=True)
    for name, text, tolerance in pairs:
        mark = (int(query.condition.atoms[name].thresholds[cell]) - _is_after(text)) * unit
        open_to = 2 * tolerance * unit
        marks.append(mark)
        below, above = (mark - open_to, mark), (mark, mark + open_to)
        if query.aim.promise != "misses":
            below, above = above, below
        if name in formula.literals:
            either.append(below)
        if name not in formula.literals or len(formula.literals) > len(formula.atoms):
            either.append(above)
    return Edge(tuple(dict.fromkeys(marks)), tuple(either))


def why_not(query: Query) -> str | None:
    """Return why it is not known how likely an alarm rings; ``None`` where it is.

    Args:
        query: the alarm.
    """
    band = query.band
    if band is not None:
        return _why_not_of(band.decider, query)
    if mechanism_of(query.mechanism).first_phase:
        if len(query.condition.channels) > 1:
            return f"{query.mechanism} chooses between several noisy values"
        if not _one_added(query):
            return "it depends on how many values there are"
    return None


def _one_added(query: Query) -> bool:
    """Tell whether an alarm is about one count or sum."""
    used = {atom.statistic for atom in query.condition.atoms.values()}
    return len(used) == 1 and query.aggregates[used.pop()].kind in ADDED_UP


def _why_not_of(decider: Decider, query: Query) -> str | None:
    """Return the same of a band."""
    if query.reference is not None and isinstance(decider.tau, Relative):
        return "how wide its band is follows from a reference that is counted"
    if len(decider.statistics) > 1 or query.aggregates[0].kind not in ADDED_UP:
        return f"{decider.name} looks at more than one number"
    return None


def curve_of(law: RingLaw, budget: Budget) -> Ringing | None:
    """Return how likely an alarm rings at ``PERCENTS`` of its thresholds, or by its ``SCORES``.

    Args:
        law: of the alarm.
        budget: the wall it lives under.
    """
    query, curves = law.query, []
    laws = ((name, each, cell) for name, each in law.severities() for cell in each.cells())
    for severity, each, cell in laws:
        threshold, reference = (
            int(each.thresholds[cell]) * law.unit,
            int(law.references[cell]) * law.unit,
        )
        counts = [
            reference + whole(threshold * percent / 100 / law.unit) * law.unit
            for percent in PERCENTS
        ]
        if law.steps is not None:
            counts = [Fraction(whole(law.steps * part)) for part in SCORES]
        chances = each.at(cell, counts)
        if chances is None:
            return None
        curves.append(Curve(threshold, reference, tuple(counts), chances, severity))
    basis, members = _basis(query, budget), query.members
    if members.fields and law.steps is None:
        at, of = query.condition.least, f"{len(members)} by {', '.join(members.fields)}"
        group = f"the count is of group number {at} of {of}, the one furthest beyond first"
        basis = group if basis == _EVERY else f"{group}; {basis}"
    return Ringing(basis, tuple(curves), law.steps)


def _basis(query: Query, budget: Budget) -> str:
    """Return what :meth:`RingLaw.at` is the probability of."""
    mechanism = mechanism_of(query.mechanism)
    if query.aim.looks > 1:
        return "by the window's end, if the count stands there from the first step on"
    if mechanism.run is not None:
        run = "a fresh run" if budget.periods is not None else "a window, each a run of its own"
        return f"the first ring of {run}, all other predicates far from their thresholds"
    return "a predicate alone in its window" if mechanism.collective else _EVERY


def _is_after(text: str) -> bool:
    """Tell whether a comparison's cut lies after its threshold, as for ``>`` and ``<=``."""
    return text.rpartition(" ")[0].rpartition(" ")[2] in {">", "<="}


def whole(number: Fraction | float) -> int:
    """Return the nearest integer, halves rounded up."""
    return int((Fraction(number) + Fraction(1, 2)) // 1)
