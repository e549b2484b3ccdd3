"""What an SVT run does: its noise, and how sure its answers are.

For alarms of ``mechanism: svt``, whose windows share such runs. From configuration alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from operators.conditions.formula import atom_of
from operators.conditions.score import score_of
from stream.decisions.mechanisms import run_of
from stream.planning.budget import periods_of
from stream.planning.occupancy import ActiveWindows, first_ending_after

if TYPE_CHECKING:
    from fractions import Fraction

    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

__all__ = ["RunOutlook", "run_outlook"]


@dataclass(frozen=True, slots=True)
class RunOutlook:
    """The SVT runs of one alarm. Distances are in the unit of its tolerance.

    A cell fires where its statistic and a query's noise reach threshold, correction and the
    run's noise; both noises are geometric, never below 0.

    Args:
        alarms: after how many a run is spent.
        threshold_scale: of the run's noise: 1 / rate.
        query_scale: of a query's noise: 1 / rate.
        correction: added to the threshold; may be negative.
        windows: most windows in a period, or in the declared history of a lifetime; ``None``
            without end, and under unit ``event``.
        queries: about their cells, each as often as it may be; ``None`` where
            ``windows`` is, like all that follow.
        negatives: expected before an alarm, ``queries / alarms`` rounded up.
        missed_given_no_alarm: probability that a cell at its threshold is missed in the last
            window, given that every other query of the run did not fire and was about a cell
            beyond the tolerance.

    Source: SVT-Exp, Definition 3; MIDE, Algorithm 1 (tslm).
    """

    alarms: int
    threshold_scale: float
    query_scale: float
    correction: float
    windows: int | None
    queries: int | None = None
    negatives: int | None = None
    missed_given_no_alarm: float | None = None


def run_outlook(alarm: Alarm, budget: Budget) -> RunOutlook:
    """Return what the SVT runs of an alarm do.

    Args:
        alarm: the alarm, of a mechanism with runs.
        budget: unit, periods and caps.

    Raises:
        ConfigError: its aim cannot be kept.
        ValueError: it has no runs.
    """
    run, step = run_of(alarm), _step(alarm)
    if run is None:
        raise ValueError("only a mechanism with runs has an outlook on them")
    looked, windows = run.outlook, _most_windows(alarm, budget)
    found = RunOutlook(
        alarms=looked.alarms,
        threshold_scale=float(step * looked.threshold_scale),
        query_scale=float(step * looked.question_scale),
        correction=float(step * looked.correction),
        windows=windows,
    )
    if windows is None:
        return found
    cells = windows * len(alarm.domain)
    return replace(
        found,
        queries=cells * looked.questions,
        negatives=-(-cells * looked.questions // looked.alarms),
        missed_given_no_alarm=run.missed_in_silence((cells - 1) * looked.questions, beyond=True),
    )


def _step(alarm: Alarm) -> Fraction:
    """Return what one step is of the comparison that sets the price, in the tolerance's unit."""
    name = atom_of(score_of(alarm.condition, alarm.aim.tolerances).decisive)
    statistic = alarm.aggregates[alarm.condition.atoms[name].statistic]
    return alarm.condition.sensitivity_of(name) * statistic.per_unit


def _most_windows(alarm: Alarm, budget: Budget) -> int | None:
    """Return the windows of the fullest period, or of a lifetime's declared history."""
    if (table := periods_of(budget)) is not None:
        return int(table.windows(alarm.calendar).max())
    if budget.periods is None or alarm.feed.history is None:
        return None
    from_ms, until_ms = alarm.feed.history
    windows = ActiveWindows(alarm.calendar, from_ms, until_ms)
    first = alarm.calendar.first_starting_at(from_ms)
    return windows.between(first, first_ending_after(alarm.calendar, until_ms))
