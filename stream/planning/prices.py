"""Which comparison of a condition sets its price, and what a wider tolerance of it would save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from accountant.units import to_loss_units
from operators.conditions.formula import atom_of
from operators.conditions.score import score_of
from operators.registry import mechanism_of
from stream.config.alarms.tolerances import aim_with, highest_tolerance
from stream.decisions.mechanisms import as_charged, price_of
from stream.model.losses import loss_text
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from accountant.loss.gaussian import Gaussian
    from stream.model.alarm import Alarm

__all__ = ["PriceSetter", "price_setter"]

_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class PriceSetter:
    """The comparisons whose tolerances set what a condition costs.

    Args:
        comparisons: as written.
        tolerances: their own, in the aggregates' units.
        wider: tolerances with which the comparison that is next would set the price; none where
            wider ones save nothing by themselves.
        epsilon: what a group of a window would then cost; ``None`` with ``wider`` empty.
        gaussian: of the budget.
    """

    comparisons: tuple[str, ...]
    tolerances: tuple[Fraction, ...]
    wider: tuple[Fraction, ...]
    epsilon: Fraction | None
    gaussian: Gaussian | None

    @property
    def text(self) -> str:
        """The same in one sentence."""
        pairs = zip(self.comparisons, self.tolerances, strict=True)
        named = " and ".join(f"{each} with tolerance {decimal(own)}" for each, own in pairs)
        wider = f"tolerance {' and '.join(map(decimal, self.wider))}"
        if (many := len(self.comparisons)) > _MOST_NAMED:
            named, wider = f"{many} comparisons", "wider tolerances of all of them"
        text = f"{named} {'sets' if many == 1 else 'set'} the cost"
        if self.epsilon is None:
            return text
        loss = loss_text(self.gaussian, to_loss_units(self.epsilon))
        return f"{text}; with {wider} it would be {loss}"


def price_setter(alarm: Alarm, gaussian: Gaussian | None) -> PriceSetter | None:
    """Return which comparisons of an alarm set its price; ``None`` where there is one, or none.

    Mechanisms that add up a loss for every comparison have a price that all of them set.

    Args:
        alarm: the alarm.
        gaussian: of its budget.
    """
    condition, tolerances = alarm.condition, list(alarm.aim.tolerances)
    names = condition.formula.atoms
    literals = [one for one in condition.formula.literals if atom_of(one) not in condition.guards]
    mechanism = mechanism_of(alarm.mechanism)
    if len(literals) < 2 or mechanism.conditions is None or mechanism.first_phase:
        return None
    if alarm.aim.promise != "misses":
        condition = condition.negated
    steps = {
        name: condition.test(name).steps(tolerances[names.index(name)])
        for name in map(atom_of, literals)
    }
    score = score_of(condition, alarm.aim.tolerances)
    sets, least = [atom_of(score.decisive)], score.steps
    own = steps[sets[0]]
    target = min((each for each in steps.values() if each > own), default=own + 1)
    # Some are tied: all of them have to be wider for the price to fall.
    while score.steps == least:
        name = sets[-1]
        wide = -(-(target - 1) * condition.sensitivity_of(name) // 2)
        tolerances[names.index(name)] = wide
        score = score_of(condition, tuple(tolerances))
        if score.steps == least:
            if (tied := atom_of(score.decisive)) in sets:
                break
            sets.append(tied)
    wider = None
    if target in steps.values():
        wider = tuple(
            min(each, highest_tolerance(alarm, name)) if name in sets else each
            for name, each in zip(names, tolerances, strict=True)
        )
    return _text(alarm, gaussian, sets, wider)


def _text(
    alarm: Alarm, gaussian: Gaussian | None, sets: Sequence[str], wider: Sequence[int] | None
) -> PriceSetter:
    names, condition = alarm.condition.formula.atoms, alarm.condition
    places = [names.index(name) for name in sets]
    per_unit = [alarm.aggregates[condition.atoms[name].statistic].per_unit for name in sets]

    def written(tolerances: Sequence[int]) -> tuple[Fraction, ...]:
        return tuple(tolerances[at] * unit for at, unit in zip(places, per_unit, strict=True))

    epsilon = None
    if wider is not None:
        try:
            found = price_of(alarm, aim_with(alarm, wider))
        except ConfigError:  # more steps than are planned for
            found = price_of(alarm)
        if found.epsilon < price_of(alarm).epsilon:
            epsilon = as_charged(alarm, found).epsilon
    return PriceSetter(
        comparisons=tuple(alarm.texts[at] for at in places),
        tolerances=written(alarm.aim.tolerances),
        wider=() if wider is None or epsilon is None else written(wider),
        epsilon=epsilon,
        gaussian=gaussian,
    )
