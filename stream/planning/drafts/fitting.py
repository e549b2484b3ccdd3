"""Which tolerance a draft takes: the least that its budget carries, or why there is none of use.

Guarantee: nothing but the answers is looked at. A tolerance of use is one at which the usual figure
lies where the alarm should be silent (``usual <= threshold - 2 tolerance``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from accountant.budget.plan import epsilon_needed
from accountant.errors import BudgetError, ConfigError
from stream.config.alarms.tolerances import aim_with
from stream.config.loading import examine
from stream.decisions.mechanisms import price_of
from stream.model.wanted import FalseRings
from stream.planning.advice.advice import best_instead
from stream.planning.advice.words import to_write
from stream.planning.budget import budget_plan
from stream.planning.drafts.texts import CONFIGURATION, configuration, last_day, values_text
from stream.planning.search import smallest

if TYPE_CHECKING:
    from accountant.budget.plan import ScopePlan
    from stream.model.alarms import Alarms
    from stream.planning.drafts.answers import Answers

__all__ = ["Draft", "drafted"]

_BORNE: Final = FalseRings(Fraction(1), "week")
_SPANS_DAYS: Final = (1, 7, 14, 28, 56, 112, 224)
_FEWEST_WINDOWS: Final = 2
_LONGER: Final = ("30m", "1h", "2h", "4h", "8h", "1d", "2d", "1w")
_ROUND_FROM: Final = 200
_LEAST_RATE: Final = 1e-18  # laws are tables in units of 2^-64
_LEAST_ROOM: Final = 2  # a tolerance of one, twice

_MOST_STEPS: Final = 5_000  # beyond, an alarm costs next to nothing, and planning it takes long


@dataclass(frozen=True, slots=True)
class Draft:
    """A configuration whose budget carries it.

    Args:
        answers: what it was made from.
        tolerance: of the alarm.
        until: the day after the last one of its history.
        alarms: the configuration, as read back.
        plan: of its one budget.
    """

    answers: Answers
    tolerance: int
    until: str
    alarms: Alarms
    plan: ScopePlan

    @property
    def epsilon(self) -> float:
        """What one window and value costs; a unit of privacy moves the odds by exp of it."""
        (alarm,) = self.plan.alarms
        return float(alarm.epsilon)

    def rings_at(self, figure: int) -> float:
        """Return how likely the alarm rings at most, at a figure where it should be silent.

        From ``max_fnr`` at ``threshold - 2 tolerance`` it falls by exp(epsilon) for every unit of
        privacy that is there less.
        """
        below = (self.answers.threshold - 2 * self.tolerance - figure) // self.answers.by_one
        rate = float(Fraction(self.answers.max_fnr)) * math.exp(-self.epsilon * max(below, 0))
        return max(rate, _LEAST_RATE)


def drafted(answers: Answers) -> Draft:
    """Find tolerance and history, and read the configuration back.

    Args:
        answers: all that was asked.

    Raises:
        ConfigError: an answer is none, or contradicts another.
        BudgetError: no tolerance of use fits the budget; the hint says what would.
    """
    most = _most(answers)
    if answers.threshold - answers.usual < _LEAST_ROOM:
        raise ConfigError(
            f"what is usual, {answers.usual}, is too near the threshold, {answers.threshold}",
            hint="an alarm for what is usual says nothing: raise the threshold",
        )
    until, first = _with_windows(answers)
    least = smallest(lambda tolerance: _planned(first, tolerance).fits, -1, most, near=True)
    if least is None:
        raise BudgetError(
            f"epsilon {answers.epsilon} is not enough to tell {answers.threshold} from the usual"
            f" {answers.usual}: any alarm that it carries would often ring for nothing",
            hint=_remedies(answers, _planned(first, most), _advised(first)),
        )
    tolerance = min(_rounded(least), most)
    alarms = _examined(answers, tolerance, until)
    return Draft(answers, tolerance, until, alarms, budget_plan(alarms).scopes[0])


def _most(answers: Answers) -> int:
    """Return the largest tolerance of use, or the largest that is looked at.

    Beyond a third of the threshold an alarm is a poor one (:mod:`stream.planning.usefulness`).
    """
    return min(
        (answers.threshold - answers.usual) // 2,
        answers.threshold // 3,
        _MOST_STEPS * answers.by_one,
    )


def _with_windows(answers: Answers) -> tuple[str, Alarms]:
    """Return the end of the history, and the draft without tolerance.

    Raises:
        ConfigError: an answer is none; no window lies in the history.
    """
    if answers.until:
        alarms = _examined(answers, 0, answers.until)
        if not _windows_within(alarms):
            raise ConfigError(
                f"no window lies between {answers.since} and {answers.until}",
                hint="name a later day with --until, or another schedule",
            )
        return answers.until, alarms
    for days in _SPANS_DAYS:
        until = last_day(answers.since, days)
        alarms = _examined(answers, 0, until)
        if _windows_within(alarms):
            break
    return until, alarms


def _windows_within(alarms: Alarms) -> bool:
    """Whether the history holds windows enough to tell one from another."""
    (query,) = alarms.queries.values()
    from_ms, until_ms = query.feed.history or (0, 0)
    index = query.calendar.first_starting_at(from_ms)
    for _ in range(_FEWEST_WINDOWS):
        index = query.calendar.next_active(index) + 1
    return query.calendar.bounds(index - 1)[1] <= until_ms


def _examined(answers: Answers, tolerance: int, until: str) -> Alarms:
    """Write the draft somewhere, read it, and take it away again."""
    with TemporaryDirectory(prefix="tocsin-init-") as name:
        folder = Path(name)
        file = folder / CONFIGURATION
        text = configuration(answers, tolerance=tolerance, until=until)
        file.write_text(text, encoding="utf-8")
        (folder / answers.values_file).write_text(values_text(answers), encoding="utf-8")
        report = examine(file, environ={})
    if report.alarms is None:
        wrong = report.errors[0]
        raise ConfigError(f"the answers make no configuration: {wrong.message}", hint=wrong.hint)
    return report.alarms


def _planned(alarms: Alarms, tolerance: int) -> ScopePlan:
    (query,) = alarms.queries.values()
    (aggregate,) = query.aggregates
    plan = price_of(query, aim_with(query, (int(tolerance / aggregate.per_unit),)))
    return budget_plan(alarms, {query.id: plan}).scopes[0]


def _rounded(tolerance: int) -> int:
    """Return a tolerance of two digits where it is large: nobody reads more from it."""
    if tolerance < _ROUND_FROM:
        return tolerance
    step: int = 10 ** (len(str(tolerance)) - 2)
    return -(-tolerance // step) * step


def _advised(alarms: Alarms) -> str:
    """Return what the adviser's search finds for the same budget, in words; "" where nothing."""
    (query,) = alarms.queries.values()
    best = best_instead(replace(query, false_rings=_BORNE), alarms)
    if best is None:
        return ""
    found = ", ".join(f"{key}: {value}" for key, value in to_write(best).items())
    found += f" and the budget windows_per_period: {best.cap}" if best.cap else ""
    return f"with these answers an alarm may have {found}, for false_rings: {_BORNE.text}"


def _remedies(answers: Answers, plan: ScopePlan, advised: str) -> str:
    """Return single changes of the answers after which there is a tolerance of use.

    Args:
        answers: for which there is none.
        plan: with the largest tolerance of use.
        advised: what else an alarm may be, in words; "" where nothing.
    """
    found = []
    if plan.worst_units is not None:
        found.append(f"--epsilon {epsilon_needed(plan.worst_units)}")
    if answers.places > 1 and _would_do(replace(answers, places=1)):
        found.append("--places 1")
    if answers.times > 1 and _would_do(replace(answers, times=1)):
        found.append("--times 1")
    later = _LONGER[_LONGER.index(answers.window) + 1 :] if answers.window in _LONGER else ()
    for window in later if answers.people else ():
        if _would_do(replace(answers, window=window)):
            found.append(f"--window {window} (a threshold for that long may be another)")
            break
    for times in (2, 4, 8, 16):
        higher = answers.threshold * times
        if _would_do(replace(answers, threshold=higher)):
            found.append(f"--threshold {higher}")
            break
    changes = f"any of these would do: {', '.join(found)}" if found else "raise --epsilon"
    return f"{advised}; {changes}" if advised else changes


def _would_do(answers: Answers) -> bool:
    try:
        _, alarms = _with_windows(answers)
    except ConfigError:
        return False
    return _planned(alarms, _most(answers)).fits
