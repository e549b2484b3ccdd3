"""Forty made-up intents: the four templates, each asked for in ten ways, ten of them impossible."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from accountant.errors import ConfigError
from accountant.units import PrivacyUnit
from operators.registry import OFFERED, mechanism_of
from stream.config.alarms.panes import pane_count
from stream.config.alarms.tolerances import aim_with
from stream.config.loading import load
from stream.planning.budget import budget_plan
from stream.planning.solver.case import case_of
from stream.planning.solver.search import MOST_ALARMS, as_written
from stream.planning.solver.ways import ways
from stream.planning.templates.answers import TEMPLATES, Answers
from stream.planning.templates.texts import configuration, values_text
from stream.planning.tolerances import useful_tolerance
from stream.planning.utility import utilities

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stream.model.alarms import Alarms
    from stream.planning.solver.candidates import Candidate

__all__ = ["INTENTS", "Intent", "all_ways", "unkept"]

_UNTIL = "2025-03-17"
_MINUTES = {"15m": 15, "1h": 60, "24h": 1440, "1d": 1440}
_RATES = (1e-9, 1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 0.03, 0.1)
_PARTS = (Fraction(95, 100), Fraction(80, 100), Fraction(60, 100))
_WIDTHS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1))


@dataclass(frozen=True)
class Intent:
    """What somebody asks for.

    Args:
        answers: as ``tocsin init`` is told.
        steps: of the windows of ``CUMULATE``; 0 for others.
        possible: whether there is a way; ``None`` where that is for the solver to say.
    """

    answers: Answers
    steps: int = 0
    possible: bool | None = None

    def write(self, folder: Path) -> Path:
        """Write the configuration and its lists of values."""
        answers = self.answers
        for field in answers.group_by:
            text = values_text(answers, field)
            (folder / answers.values_file(field)).write_text(text)
        text = configuration(answers, _UNTIL)
        if self.steps:
            step = f"INTERVAL '{_MINUTES[answers.window] // self.steps}' MINUTE"
            text = text.replace(f"TUMBLE({answers.time}, ", f"CUMULATE({answers.time}, {step}, ")
        path = folder / "alarms.yaml"
        path.write_text(text)
        return path


def _many(groups):
    """Return so many groups."""
    return (tuple(f"g{number:04d}" for number in range(groups)),)


def all_ways(alarms: Alarms, *, every: int) -> Iterator[Candidate]:
    """Yield every way of a coarse grid over what the solver may choose for the one open alarm.

    Windows, mechanisms, tolerances up to the widest useful one, rates of false alarms from 1e-9 to
    a tenth, and of SVT runs every number of alarms and part of ``max_fnr``: each is judged by
    itself, whatever the search would leave out.

    Args:
        alarms: the configuration.
        every: how many rates of false alarms, alarms of runs and widths apart those are that are
            tried.
    """
    (query,) = alarms.open.values()
    case = case_of(query, alarms)
    for way, name in product(ways(case), OFFERED):
        tolerances = {math.floor(each * _widest(way)) for each in _WIDTHS[::-every]}
        for tolerance, rate in product(sorted(tolerances), _RATES[::every]):
            asked = list(_asked(way, name, tolerance, Fraction(rate)))[::every]
            found = (as_written(replace(way, alarm=each)) for each in asked)
            yield from (each for each in found if each is not None)


def unkept(found: Candidate, path: Path) -> Iterator[str]:
    """Yield what of all that was stated is not kept by what was found, once it is locked.

    Args:
        found: what the solver found for the one alarm of a file.
        path: of the file, with its lock.
    """
    alarms = load(path, environ={})
    (query,) = alarms.by_name.values()
    asked = found.case.alarm
    if not budget_plan(alarms).fits:
        yield "the plan does not fit"
    if query.max_delay_ms is not None and query.delay_ms > query.max_delay_ms:
        yield f"published {query.delay_ms} ms late"
    (utility,) = utilities(alarms)
    law, most = utility.law, float(asked.aim.max_fnr)
    due = (int(law.thresholds[law.median_cell]) + 1) * law.unit
    (chance,) = law.at(law.median_cell, [due])
    if chance < 1 - most - 1e-9:
        yield f"one more than the threshold fires with {chance} alone"
    if found.missed > most + 1e-9:
        yield f"misses {found.missed}"
    days = {"day": 1, "week": 7, "month": 28}[asked.false_alarms.span]
    # A week of the plan may be the fullest of its year: an hour more where a clock is set back.
    if utility.false.week / 7 * days > float(asked.false_alarms.number) * 1.05:
        yield f"{utility.false.week} false alarms a week"
    if asked.episodes is not None and (found.episodes or asked.episodes) < asked.episodes:
        yield f"carries {found.episodes} episodes"


def _widest(case):
    return min(max(case.distance - 1, 0), useful_tolerance(case.alarm, case.name))


def _asked(case, name, tolerance, rate):
    """Yield the alarm with one mechanism and its numbers, as somebody would write it."""
    wanted, mechanism = case.alarm.aim.max_fnr, mechanism_of(name)
    if mechanism.bands is not None or (case.alarm.hold_ms and "hold" not in mechanism.keys):
        return
    in_runs = mechanism.run is not None and case.alarm.aim.looks == 1
    query = case.held().alarm if in_runs else case.alarm
    try:
        aim = replace(aim_with(replace(query, mechanism=name), (tolerance,)), max_fpr=rate)
    except ConfigError:
        return
    if mechanism.panes is not None:
        aim = replace(aim, panes=pane_count(query.calendar), pane_units=0)
    query = replace(query, mechanism=name, open=(), required_fnr=wanted)
    if not in_runs:
        yield replace(query, aim=aim)
        return
    for alarms, part in product(range(query.episodes or 1, MOST_ALARMS + 1), _PARTS):
        yield replace(query, aim=replace(aim, alarms=alarms, max_fnr=wanted * part))


def _ways_of(name):
    """Yield ten intents of one template."""
    base = replace(TEMPLATES[name], values=_many(6))
    minutes = _MINUTES[base.window]
    short = replace(base, window="24h" if minutes == 1440 else base.window)
    event = replace(short, protects=PrivacyUnit.EVENT, epsilon="1", period="")
    person = replace(
        short, protects=PrivacyUnit.USER, epsilon="12", period="1d" if minutes < 1440 else "1w"
    )
    sliding = f"{minutes // 3}m"
    held = replace(person, slide=sliding, episodes=2)
    yield "base", Intent(base, possible=True)
    yield "events, three groups", Intent(replace(event, values=_many(3)))
    yield "people, false alarms a month", Intent(replace(person, false_alarms="1 per month"))
    yield "events, sliding", Intent(replace(event, slide=sliding))
    if name in {"office", "sensors"}:
        yield "nine episodes", Intent(replace(held, epsilon="0.3", episodes=9), possible=False)
    else:
        yield "people, sliding, held", Intent(held)
    yield "events, while windows fill", Intent(event, steps=5)
    yield "five thousand groups", Intent(replace(event, values=_many(5_000)))
    yield "people, three hundred groups", Intent(replace(person, values=_many(300), epsilon="40"))
    least = replace(person, epsilon="0.01")
    yield "next to no budget", Intent(least, possible=False)
    near = replace(base, baseline=base.threshold - 1)
    yield "the threshold is the baseline", Intent(near, possible=False)


INTENTS = {
    f"{template}: {name}": intent for template in TEMPLATES for name, intent in _ways_of(template)
}
