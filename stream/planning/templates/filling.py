"""A filled template: a configuration with requirements, and the lock that says how they are met.

Guarantee: nothing but the answers is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from accountant.errors import BudgetError, ConfigError
from stream.config.loading import examine
from stream.decisions.schedule import windows_within
from stream.planning.detection import DetectionCurve
from stream.planning.locking import resolve
from stream.planning.solver.changes import ChangeKind
from stream.planning.templates.texts import CONFIGURATION, configuration, last_day, values_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.model.alarms import Alarms
    from stream.planning.solver.candidates import Candidate
    from stream.planning.solver.changes import Change
    from stream.planning.templates.answers import Answers

__all__ = ["FilledTemplate", "fill"]

_SPANS_DAYS: Final = (1, 7, 14, 28, 56, 112, 224)
_FEWEST_WINDOWS: Final = 2
_OPTIONS: Final = {
    ChangeKind.EPSILON_MAX: "--epsilon",
    ChangeKind.FALSE_ALARMS: "--false-alarms",
    ChangeKind.MAX_FNR: "--max-fnr",
    ChangeKind.EPISODES: "--episodes",
    ChangeKind.GROUPS: "--max-groups",
    ChangeKind.EVENTS: "--max-events",
}
"""By what somebody answers otherwise; of a window the value is no answer."""


@dataclass(frozen=True, eq=False)
class FilledTemplate:
    """A configuration whose budget carries it.

    Args:
        answers: what it was made from.
        until: the day after the last one of its history.
        text: the configuration.
        lock: what it leaves open, resolved.
        found: how its one alarm is had.
        alarms: the configuration, as it is run.
    """

    answers: Answers
    until: str
    text: str
    lock: str
    found: Candidate
    alarms: Alarms

    @cached_property
    def law(self) -> DetectionCurve:
        """The law of its alarm."""
        return DetectionCurve.of(self.alarms.by_name[self.answers.alarm])

    def fires_at(self, figure: int) -> float:
        """Return how likely the alarm fires at a figure."""
        chances = self.law.at(0, [Fraction(figure)])
        if chances is None:
            raise ValueError("a template's mechanism has an exact law")
        return chances[0]


def fill(answers: Answers) -> FilledTemplate:
    """Write a configuration, resolve it, and read it back.

    Args:
        answers: all that was asked.

    Raises:
        ConfigError: an answer is none, or contradicts another.
        BudgetError: the alarm cannot be had; the hint says what would have to change.
    """
    if answers.threshold <= answers.baseline:
        raise ConfigError(
            f"the baseline, {answers.baseline}, is not below the threshold, {answers.threshold}",
            hint="write a larger --threshold",
        )
    with TemporaryDirectory(prefix="tocsin-init-") as name:
        file = Path(name) / CONFIGURATION
        for field in answers.group_by:
            path = file.with_name(answers.values_file(field))
            path.write_text(values_text(answers, field), encoding="utf-8")
        until, text = _with_windows(answers, file)
        found = resolve(file)
    (one,) = found.solved
    if one.found is None or found.report.alarms is None:
        raise BudgetError(
            f"epsilon {answers.epsilon} cannot separate the threshold {answers.threshold} from the"
            f" baseline {answers.baseline} as it is wanted",
            hint=_hint(one.changes, answers.baseline),
        )
    alarms = one.found.beside(found.report.alarms)
    return FilledTemplate(answers, until, text, found.after.text, one.found, alarms)


def _with_windows(answers: Answers, file: Path) -> tuple[str, str]:
    """Write a configuration whose history has windows; return the end of that, and the text.

    Raises:
        ConfigError: an answer is none; no window lies in the history.
    """
    spans = [last_day(answers.since, days) for days in _SPANS_DAYS]
    for until in [answers.until] if answers.until else spans:
        text = configuration(answers, until)
        file.write_text(text, encoding="utf-8")
        report = examine(file, environ={})
        if report.alarms is None:
            wrong = report.errors[0]
            message = f"the answers make no configuration: {wrong.message}"
            raise ConfigError(message, hint=wrong.hint)
        if _has_windows(report.alarms):
            return until, text
    raise ConfigError(
        f"there is no window between {answers.since} and {until}",
        hint="write a later --until, or another schedule",
    )


def _has_windows(alarms: Alarms) -> bool:
    """Whether the history holds enough windows to distinguish them."""
    (alarm,) = (*alarms.by_name.values(), *alarms.open.values())
    windows = windows_within(alarm, *(alarm.feed.history or (0, 0)))
    return len(list(islice(windows, _FEWEST_WINDOWS))) == _FEWEST_WINDOWS


def _hint(changes: Sequence[Change], baseline: int) -> str:
    """Return single changes of the answers after which there is such an alarm."""
    if not changes:
        return "change several answers: no change of one alone is enough"
    return f"any of these would do: {'; '.join(_answered(one, baseline) for one in changes)}"


def _answered(change: Change, baseline: int) -> str:
    """Return a change as the options that make it; in words where there are none."""
    if change.kind is ChangeKind.THRESHOLD:  # its value is the first that fires
        highest = Fraction(change.value) - change.candidate.case.per_unit
        return f'--threshold "{ceil(highest)}" --baseline "{baseline}"'
    option = _OPTIONS.get(change.kind)
    return change.text if option is None else f'{option} "{change.value}"'
