"""Error rates for the literals of a formula, so that the formula keeps its own for the least loss.

A formula that is true is missed only if some literal of a prime implicant that holds is missed, so
the miss rates of each prime implicant must add up to ``max_fnr`` at most; false alarms and prime
implicates likewise. Under these constraints the summed loss is minimised. The proof is in
``docs/proofs/prime-implicants.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import TYPE_CHECKING, Final, get_args

from accountant.arguments import EXACT, WHOLE, Kind, expect, instance_of, one_of, or_none
from accountant.errors import ArgumentError
from accountant.units import from_loss_units
from operators.base import Promise
from operators.conditions.condition import Rule
from operators.conditions.formula import Formula, atom_of
from operators.formulas.leastunits import least_loss
from operators.formulas.programme import Side, least_losses
from operators.single.tslm import MOST_STEPS, error_rates

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


__all__ = ["PAPERS_RULE", "Apportionment", "Atom", "apportion"]

PAPERS_RULE: Final[Rule] = "probe"
"""What ProBE by name shares its rates out by."""

_GRID: Final = 10**24  # rates are decimals of 24 places


@dataclass(frozen=True, slots=True)
class Atom:
    """What the apportionment knows of an atom: public numbers only.

    Args:
        steps: k, from "must fire" (s' >= 0) down to "must not fire" (s' <= -k); the same for the
            atom's negation, on its own side of the threshold.
        statistic: atoms with one key share one noisy value and one charge; by default the atom has
            a statistic of its own. Only atoms whose step counts differ by a public constant may
            share: thresholds a multiple of the sensitivity apart (any, at sensitivity one).
        weight: sensitivity over tolerance, D/u, for ProBE's rule only; by default 1/k, which
            is proportional to it but for rounding.

    Raises:
        ValueError: steps outside 1..``MOST_STEPS``, an empty key or a weight that is not
            positive.
    """

    steps: int
    statistic: str | None = None
    weight: Fraction | None = None

    def __post_init__(self) -> None:
        """Check the parts."""
        expect(WHOLE, steps=self.steps)
        expect(or_none(EXACT), weight=self.weight)
        if self.steps not in range(1, MOST_STEPS + 1):
            raise ArgumentError(
                f"steps are a whole number from 1 to {MOST_STEPS}",
                hint="write IntegerTest.steps(tolerance)",
            )
        if self.statistic == "":
            raise ArgumentError("the key of a shared statistic is not empty")
        if self.weight is not None and not self.weight > 0:
            raise ArgumentError("the weight of an atom is positive")


_ATOMS: Final = Kind(
    "a mapping of names to Atom",
    'write {"a": Atom(steps=19)}',
    lambda value: (
        isinstance(value, Mapping) and all(isinstance(each, Atom) for each in value.values())
    ),
)


@dataclass(frozen=True, slots=True)
class Apportionment:
    """Rates per literal and the loss per statistic that keeps them.

    Guarantee: let a mechanism fire literal l with probability at least ``1 - beta[l]`` where l is
    true, and at most ``alpha[l]`` where l is false beyond its tolerance, whatever the dependence
    between literals. Then the formula over the fired literals misses a true formula with
    probability at most ``fnr`` <= max_fnr, and (with ``max_fpr``) is true with probability at most
    ``fpr`` <= max_fpr where it is false with every literal granted its tolerance.

    One discrete Laplace of rate ``epsilons[key]`` on the statistic, compared per literal with its
    own threshold shift, is such a mechanism; its loss is ``epsilons[key]``, once, however many
    literals read it.

    Args:
        rule: the rule asked for.
        beta: miss rate per literal (``a``, ``NOT a``).
        alpha: false-alarm rate per literal; that of ``beta`` where no ``max_fpr`` was given.
        epsilons: loss per statistic, whole loss units, keyed by ``Atom.statistic`` or the name of
            an atom with a statistic of its own.
        fnr: the largest sum of ``beta`` over a prime implicant.
        fpr: the largest sum of ``alpha`` over a prime implicate; ``None`` without ``max_fpr``.
    """

    rule: Rule
    beta: Mapping[str, Fraction]
    alpha: Mapping[str, Fraction]
    epsilons: Mapping[str, Fraction]
    fnr: Fraction
    fpr: Fraction | None

    @property
    def epsilon(self) -> Fraction:
        """Loss of one cell: the sum over the statistics."""
        return sum(self.epsilons.values(), Fraction(0))


def apportion(
    formula: Formula,
    atoms: Mapping[str, Atom],
    *,
    max_fnr: Fraction,
    max_fpr: Fraction | None = None,
    rule: Rule = "optimal",
    part: Fraction = Fraction(1),
) -> Apportionment:
    """Share the rates of a formula out to its literals.

    - ``optimal``: least summed loss. Without ``max_fpr`` the programme is convex and this is the
      minimum up to the solver's tolerance; with it, a local one. Never dearer than the other
      rules.
    - ``probe``: beta_i = max_fnr w_i / sum of o_y w_y, with w = D/u and o_y the times a literal is
      written.
    - ``equal``: max_fnr over the number of literals (ProBE's naive baseline).

    Args:
        formula: the condition.
        atoms: one entry per atom of the formula.
        max_fnr: most probable miss of a true formula.
        max_fpr: most probable false alarm beyond the tolerances; ``None`` bounds none for the
            formula and gives each literal its miss rate for both errors (MIDE's shift).
        rule: how to share.
        part: of both rates, how much there is to share, in (0, 1]; the rest is for other looks.

    Raises:
        ValueError: atoms missing or unknown, an unknown rule, inexact rates, a part of nothing or
            of more than all, a key of a shared statistic that is also the name of an atom with its
            own, or too many prime implicants.
        ConfigError: rates outside (0, 1), finer than 1e-12 or met by tossing a coin.

    Source: ProBE, Theorem 4.3 (conjunctions) and Theorem 4.5 (trees), with the sum over occurrences
    replaced by the sum over each prime implicant.
    """
    expect(instance_of(Formula), formula=formula)
    expect(_ATOMS, atoms=atoms)
    expect(EXACT, max_fnr=max_fnr, part=part)
    expect(or_none(EXACT), max_fpr=max_fpr)
    expect(one_of(*get_args(Rule)), rule=rule)
    if rule not in get_args(Rule):
        raise ArgumentError(f"unknown rule; write one of: {', '.join(get_args(Rule))}")
    if not all(isinstance(rate, Rational | None) for rate in (max_fnr, max_fpr, part)):
        raise ArgumentError("rates are exact: write Fraction(1, 20), not 0.05")
    if not 0 < part <= 1:
        raise ArgumentError("the part of the rates that is shared out lies in (0, 1]")
    error_rates(Promise(max_fnr, 0, max_fpr))
    task = _Task.of(formula, atoms, max_fnr * part, None if max_fpr is None else max_fpr * part)
    probe = task.shared_out(rule, task.weights, task.occurrences)
    if rule == "probe":
        return probe
    equal = task.shared_out(rule, [Fraction(1)] * len(task.literals), [1] * len(task.literals))
    if rule == "equal":
        return equal
    return min((_optimised(task), probe, equal), key=lambda each: each.epsilon)


@dataclass(frozen=True, slots=True)
class _Task:
    """A formula and its atoms as indices: literal i reads statistic ``reads[i]``.

    Args:
        literals: their names.
        occurrences: how often each is written.
        weights: D/u per literal.
        steps: k per literal.
        reads: index of the statistic per literal.
        statistics: their keys.
        implicants: sets of literals whose miss rates add up to ``max_fnr`` at most.
        implicates: sets whose false-alarm rates add up to ``max_fpr`` at most; none without it.
        max_fnr: as asked for.
        max_fpr: as asked for.
    """

    literals: tuple[str, ...]
    occurrences: tuple[int, ...]
    weights: tuple[Fraction, ...]
    steps: tuple[int, ...]
    reads: tuple[int, ...]
    statistics: tuple[str, ...]
    implicants: tuple[tuple[int, ...], ...]
    implicates: tuple[tuple[int, ...], ...]
    max_fnr: Fraction
    max_fpr: Fraction | None

    @classmethod
    def of(
        cls,
        formula: Formula,
        atoms: Mapping[str, Atom],
        max_fnr: Fraction,
        max_fpr: Fraction | None,
    ) -> _Task:
        """Check the names and number everything."""
        _check_names(formula, atoms)
        literals = formula.literals
        keys = [atoms[atom_of(each)].statistic or atom_of(each) for each in literals]
        statistics = tuple(dict.fromkeys(keys))
        owners = [atoms[atom_of(each)] for each in literals]
        return cls(
            literals=literals,
            occurrences=formula.occurrences,
            weights=tuple(
                Fraction(1, each.steps) if each.weight is None else Fraction(each.weight)
                for each in owners
            ),
            steps=tuple(each.steps for each in owners),
            reads=tuple(map(statistics.index, keys)),
            statistics=statistics,
            implicants=_binding(formula.prime_implicants(), literals),
            implicates=() if max_fpr is None else _binding(formula.prime_implicates(), literals),
            max_fnr=Fraction(max_fnr),
            max_fpr=None if max_fpr is None else Fraction(max_fpr),
        )

    def shared_out(
        self, rule: Rule, weights: Sequence[Fraction], times: Sequence[int]
    ) -> Apportionment:
        """Share both rates in proportion to weights, each counted so many times."""
        total = sum((n * each for n, each in zip(times, weights, strict=True)), Fraction(0))
        beta = [self.max_fnr * each / total for each in weights]
        if self.max_fpr is None:
            return self.settled(rule, beta, beta)
        return self.settled(rule, beta, [self.max_fpr * each / total for each in weights])

    def settled(
        self, rule: Rule, beta: Sequence[Fraction], alpha: Sequence[Fraction]
    ) -> Apportionment:
        """Charge every statistic for its most demanding literal."""
        units = [0] * len(self.statistics)
        for at, steps, a, b in zip(self.reads, self.steps, alpha, beta, strict=True):
            units[at] = max(units[at], least_loss(steps, a, b))
        return Apportionment(
            rule=rule,
            beta=dict(zip(self.literals, beta, strict=True)),
            alpha=dict(zip(self.literals, alpha, strict=True)),
            epsilons=dict(zip(self.statistics, map(from_loss_units, units), strict=True)),
            fnr=_largest_sum(beta, self.implicants),
            fpr=None if self.max_fpr is None else _largest_sum(alpha, self.implicates),
        )


@lru_cache(maxsize=256)  # an alarm is priced, planned and made, and its phases ask alike
def _optimised(task: _Task) -> Apportionment:
    """Improve on shares by weight, which are feasible."""
    start = task.shared_out("optimal", task.weights, task.occurrences)
    sides = [Side(task.implicants, float(task.max_fnr), [*map(float, start.beta.values())])]
    if task.max_fpr is not None:
        sides.append(
            Side(task.implicates, float(task.max_fpr), [*map(float, start.alpha.values())])
        )
    losses = [*map(float, start.epsilons.values())]
    rates = least_losses(task.steps, task.reads, losses, sides)
    beta = _rounded(rates[0], task.implicants, task.max_fnr)
    if task.max_fpr is None:
        return task.settled("optimal", beta, beta)
    return task.settled("optimal", beta, _rounded(rates[1], task.implicates, task.max_fpr))


def _rounded(
    rates: NDArray[np.float64], sets: Sequence[tuple[int, ...]], bound: Fraction
) -> list[Fraction]:
    """Scale rates onto the bound, round them down, then give each what slack is left for it."""
    tiny = float(bound) * 1e-10
    raw = [int(Fraction(max(float(each), tiny)) * _GRID) for each in rates]
    largest = max(sum(raw[i] for i in members) for members in sets)
    ceiling = bound.numerator * _GRID // bound.denominator
    scaled = [each * ceiling // largest for each in raw]
    sums = [sum(scaled[i] for i in members) for members in sets]
    for i in range(len(scaled)):
        holders = [row for row, members in enumerate(sets) if i in members]
        slack = ceiling - max(sums[row] for row in holders)
        scaled[i] += slack
        for row in holders:
            sums[row] += slack
    return [Fraction(each, _GRID) for each in scaled]


@lru_cache(maxsize=32)
def _binding(
    primes: tuple[frozenset[str], ...], literals: tuple[str, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return the sets that data can meet, as indices, and singletons so that none is left out.

    A set with an atom and its negation is met by no data (and, dually, false for none).
    """
    index = {literal: i for i, literal in enumerate(literals)}
    sets = [
        tuple(sorted(index[literal] for literal in each))
        for each in primes
        if len({atom_of(literal) for literal in each}) == len(each)
    ]
    covered = {i for members in sets for i in members}
    return (*sets, *((i,) for i in range(len(literals)) if i not in covered))


def _largest_sum(rates: Sequence[Fraction], sets: Sequence[tuple[int, ...]]) -> Fraction:
    return max(sum((rates[i] for i in members), Fraction(0)) for members in sets)


def _check_names(formula: Formula, atoms: Mapping[str, Atom]) -> None:
    missing = [name for name in formula.atoms if name not in atoms]
    unknown = sorted(set(atoms).difference(formula.atoms))
    if missing or unknown:
        raise ArgumentError(
            "one entry for each of the formula's atoms;"
            f" missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}"
        )
    own = {name for name, atom in atoms.items() if atom.statistic is None}
    taken = sorted(own & {atom.statistic for atom in atoms.values() if atom.statistic})
    if taken:
        raise ArgumentError(
            f"{', '.join(taken)}: the key of a shared statistic, and an atom with its own; two"
            " statistics of one key would be charged once"
        )
