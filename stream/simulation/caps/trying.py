"""What alarms miss, and how often they ring for nothing, under one cap after another.

Windows are decided from what a cap lets in, and judged by what is there without it: who is left out
is in the room all the same. So misses are beyond what ``max_fnr`` speaks of.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from stream.model.alarms import cells_per_unit
from stream.simulation.crew import try_out
from stream.simulation.results import rates_of
from stream.simulation.settings import Setting
from stream.simulation.trials import Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from operators.conditions.condition import Aim
    from stream.model.alarms import Alarms
    from stream.planning.tradeoffs.caps import CapChoice, CapChoices
    from stream.simulation.caps.counting import CappedCounts, LeftOut
    from stream.simulation.draws.tally import Tally
    from stream.simulation.history import CountedAlarm
    from stream.simulation.results import Rate

__all__ = ["CapTrial", "CapTrials", "Judged", "tried_under_caps"]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What one tolerance did.

    Args:
        aim: with the tolerance.
        tally: of all draws, by what is true without a cap.
    """

    aim: Aim
    tally: Tally

    @property
    def rates(self) -> tuple[Rate, Rate]:
        """Misses of cells that are true without the cap, and false rings of those that are not."""
        return rates_of(self.tally)


@dataclass(frozen=True, slots=True, eq=False)
class CapTrial:
    """One cap.

    Args:
        choice: what it costs.
        left_out: the events that it drops; ``None`` without a cap.
        present: at the present tolerance.
        bought: at the least tolerance that costs no more than the alarm does now; ``None`` where
            none is wide enough.
    """

    choice: CapChoice
    left_out: LeftOut | None
    present: Judged
    bought: Judged | None


@dataclass(frozen=True, slots=True, eq=False)
class CapTrials:
    """All caps of one alarm.

    Args:
        choices: what they cost.
        counted: its windows, without a cap.
        trials: smallest cap first, then none.
    """

    choices: CapChoices
    counted: CountedAlarm
    trials: tuple[CapTrial, ...]


def tried_under_caps(
    alarms: Alarms,
    counted: Sequence[CappedCounts],
    runs: int,
    *,
    workers: Callable[[Bench], int] = lambda _bench: 1,
    on_draws: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[CapTrials]:
    """Decide every alarm under every cap, many times, at both its tolerances.

    Args:
        alarms: the configuration.
        counted: the alarms.
        runs: draws per window.
        workers: how many processes a bench is worth.
        on_draws: told how many windows were decided, of how many.
    """
    settings: list[Setting] = []
    decided: dict[int, CountedAlarm] = {}
    for one in counted:
        query = one.choices.query
        for choice in one.choices.choices:
            windows = one.uncapped if choice.cap is None else one.capped[choice.cap]
            for aim in _aims(one.choices, choice):
                decided[len(settings)] = windows
                settings.append(Setting(query.id, query.mechanism, Fraction(1), aim, False))
    queries = {one.choices.query.id: one.choices.query for one in counted}
    bench = Bench(
        counted={one.choices.query.id: one.uncapped for one in counted},
        conditions={name: query.condition for name, query in queries.items()},
        reached={name: cells_per_unit(query, alarms.budget) for name, query in queries.items()},
        settings=tuple(settings),
        decided=decided,
    )
    tried = iter(try_out(bench, runs, workers=workers(bench), on_draws=on_draws))
    found = []
    for one in counted:
        trials = []
        for choice in one.choices.choices:
            judged = [Judged(aim, next(tried).tally) for aim in _aims(one.choices, choice)]
            present, bought = judged[0], (judged[1] if len(judged) > 1 else None)
            left_out = None if choice.cap is None else one.left_out[choice.cap]
            trials.append(CapTrial(choice, left_out, present, bought))
        found.append(CapTrials(one.choices, one.uncapped, tuple(trials)))
    return found


def _aims(choices: CapChoices, choice: CapChoice) -> list[Aim]:
    """Return what is asked under a cap: the present tolerance, and the one that is bought."""
    return [choices.query.aim, *([] if choice.bought is None else [choice.bought])]
