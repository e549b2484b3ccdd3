"""What ``check`` says of an alarm that can run: what its author may not have meant.

Only configuration is looked at. Caps, prices and delays are the custodian's to choose, so nothing
here is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.units import PrivacyUnit, to_loss_units
from operators.conditions.score import score_of
from operators.conditions.weights import Weight
from operators.registry import DEFAULT, OFFERED, mechanism_of, price
from stream.config.alarms.reduction import Function
from stream.config.schema.document import duration
from stream.model.alarms import has_runs
from stream.model.contributions import article, contribution_rule, plural, window_noun
from stream.model.feeds import Clock
from stream.model.losses import loss_name, rounded_loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream.config.findings import Findings, Problem
    from stream.config.sql.comparisons import Measure
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

__all__ = ["tell"]

_IDLE_SLACK_MS: Final = 2_000  # finding a partition idle, storing, deciding


def tell(alarm: Alarm, measures: Iterable[Measure], budget: Budget, findings: Findings) -> None:
    """Note an alarm's contribution rule, and warn of what is odd about it.

    Args:
        alarm: the alarm.
        measures: its aggregates, as they are written.
        budget: its unit, caps and promise.
        findings: receives notes and warnings.

    Raises:
        ConfigError: its aim cannot be kept.
    """
    findings.note("sql", f"{alarm.id}: {contribution_rule(alarm, budget)}")
    for odd in (*_odd(alarm), *_of_units(alarm, measures, budget), *_of_caps(alarm, budget)):
        findings.warn(*odd)


def _odd(alarm: Alarm) -> Iterator[Problem]:
    """Yield what is odd, whatever the budget."""
    condition, tolerances = alarm.condition, alarm.aim.tolerances
    if alarm.hold_ms and alarm.lifecycle.among > 1:
        message = "the windows of a hold do not count for `for` and `of`"
        yield "hold", f"{message}: the alarm fires after the hold", "remove for and of"
    waited_ms = alarm.feed.idle_partition_timeout_ms + _IDLE_SLACK_MS
    if alarm.feed.clock is Clock.APPEND_TIME and alarm.publish_delay_ms < waited_ms:
        message = (
            "the time of an alarm would reveal whether one more event followed: publish_delay is"
        )
        message += " shorter than idle_partition_timeout + 2 s"
        hint = f"write publish_delay: {duration(waited_ms)}, or a shorter idle_partition_timeout"
        yield ("timing", "publish_delay"), message, hint
    # The sum of nothing is false of an average by one step alone, and a tolerance grants that.
    # What is never negative was told of comparison by comparison; a band has no tolerances.
    if len(tolerances) == len(condition.formula.atoms) and not all(
        spec.never_negative for spec in alarm.aggregates
    ):
        score = score_of(condition, tolerances)
        empty = score.read(np.zeros((condition.statistics, condition.cells), dtype=np.int64))
        if ((empty < 0) & (empty > -score.steps)).any():
            message = "an empty group is within the tolerance, so the alarm may fire for it"
            hint = "write AND COUNT(*) >= 20 with its own tolerance: "
            yield "tolerance", message, hint + '{"COUNT(*) >= 20": 9}'


def _of_units(alarm: Alarm, measures: Iterable[Measure], budget: Budget) -> Iterator[Problem]:
    """Yield aggregates of the privacy unit's id that count something else than units."""
    unit, most = alarm.feed.unit, budget.contribution.events_per_cell
    units, distinct = plural(unit), f"write COUNT(DISTINCT {unit})"
    of_user = budget.unit is PrivacyUnit.USER
    often = f"up to {most} times" if of_user else "with every event"
    for measure in measures:
        if not measure.of_units:
            continue
        if measure.function is not Function.COUNT:
            message = f"{measure.text} uses ids as amounts"
            hint = f"{distinct} to count {units}, or use a field with amounts"
            yield "sql", message, hint, measure.offset
        elif not of_user or most > 1:  # of one event each, see below
            message = f"{measure.text} counts events, not {units}: {article(unit)} counts {often}"
            hint = f"{distinct} to count {units}, or COUNT(*) to count events"
            yield "sql", message, hint, measure.offset


def _of_caps(alarm: Alarm, budget: Budget) -> Iterator[Problem]:
    """Yield who and what does not count because of caps."""
    caps, fields, unit = budget.contribution, alarm.feed.fields, alarm.feed.unit
    moving = [name for name in alarm.domain.fields if not fields[name].fixed]
    several = any(len(fields[name].domain or ()) > 1 for name in moving)
    of_panes = mechanism_of(alarm.mechanism).panes is not None  # each adds what it counted
    if budget.unit is not PrivacyUnit.USER:
        return
    if caps.predicates_per_window == 1 and several:
        window, whoever = "pane" if of_panes else window_noun(alarm.calendar), " and ".join(moving)
        message = f"max_groups_per_window is 1: {article(unit)} counts only in the first {whoever}"
        cost = "no further" if has_runs(alarm, budget) else "twice the"
        hint = f"write max_groups_per_window: 2, at {cost} cost; or add fixed: true"
        hint += f" to {whoever} in the feed's fields if {article(unit)} never changes {whoever}"
        yield "sql", f"{message} of the {window}", hint
    if caps.events_per_cell > 1 or of_panes:
        return
    larger = "max_events_per_group: 2, at twice the cost"
    for kind in dict.fromkeys(spec.kind for spec in alarm.aggregates):
        if kind is Weight.COUNT:
            message = f"max_events_per_group is 1: COUNT counts only the first event of each {unit}"
            hint = f"write COUNT(DISTINCT {unit}) to count {plural(unit)}, or {larger}"
            yield "sql", message, hint
        elif kind in {Weight.SUM, Weight.LINEAR}:
            what = "SUM" if kind is Weight.SUM else "a sum of aggregates"
            message = f"max_events_per_group is 1: {what} adds only the first event of each {unit}"
            yield "sql", message, f"write {larger}"
