"""What ``check`` says of an alarm that can run: what its author may not have meant.

Only configuration is looked at. Caps, prices and delays are the custodian's to choose, so nothing
here is an error.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.units import PrivacyUnit, to_loss_units
from operators.conditions.score import score_of
from operators.registry import DEFAULT, OFFERED, mechanism_of, price
from stream.config.alarms.tolerances import mapping_text
from stream.config.schema.document import duration
from stream.model.contributions import contribution_rule
from stream.model.feeds import Clock
from stream.model.losses import loss_name, rounded_loss

if TYPE_CHECKING:
    from stream.config.findings import Findings
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

__all__ = ["tell"]

_IDLE_SLACK_MS: Final = 2_000  # finding a partition idle, storing, deciding


def tell(alarm: Alarm, budget: Budget, findings: Findings) -> None:
    """Note an alarm's contribution rule, and warn of what is odd about it.

    Args:
        alarm: the alarm.
        budget: its unit, caps and promise.
        findings: receives notes and warnings.

    Raises:
        ConfigError: its aim cannot be kept.
    """
    findings.note("sql", f"{alarm.id}: {contribution_rule(alarm, budget)}")
    _tell_cheaper(alarm, budget, findings)
    waited_ms = alarm.feed.idle_partition_timeout_ms + _IDLE_SLACK_MS
    if alarm.feed.clock is Clock.APPEND_TIME and alarm.publish_delay_ms < waited_ms:
        findings.warn(
            ("timing", "publish_delay"),
            "the time of an alarm would reveal whether one more event followed: publish_delay is"
            " shorter than idle_partition_timeout + 2 s",
            f"write publish_delay: {duration(waited_ms)}, or a shorter idle_partition_timeout",
        )
    if alarm.fires_too_early:
        findings.warn(
            "sql",
            "CUMULATE fires as soon as a part of a window meets the condition, even if the whole"
            " one does not",
            "write TUMBLE, or one comparison that events can only make true, as COUNT(*) > 20",
        )
    if alarm.hold_ms and alarm.lifecycle.needed > 1:
        findings.warn(
            "hold",
            "`for` and `of` count no window in which a hold keeps a group from being evaluated",
            "remove hold, or for and of",
        )
    if _may_fire_when_empty(alarm):
        own = alarm.by_comparison(alarm.aim.tolerances)
        granted = {text: each for text, each in own.items() if each}
        tolerances = mapping_text(granted | {"COUNT(*) >= 20": Fraction(9)})
        instead = "" if alarm.baseline is None else " and no baseline"
        findings.warn(
            "tolerance",
            "an empty group is within the tolerance, so the alarm may fire for it",
            f"write AND COUNT(*) >= 20, with tolerance: {tolerances}{instead}",
        )
    each = budget.unit is PrivacyUnit.USER and budget.contribution.events_per_cell == 1
    of_panes = mechanism_of(alarm.mechanism).panes is not None  # each adds what it counted
    if each and not of_panes and any(spec.adds_up for spec in alarm.aggregates):
        unit = alarm.feed.unit
        findings.warn(
            "sql",
            f"max_events_per_group is 1: COUNT and SUM take only the first event of each {unit}",
            f"write COUNT(DISTINCT {unit}), or max_events_per_group: 2, at twice the cost",
        )


def _tell_cheaper(alarm: Alarm, budget: Budget, findings: Findings) -> None:
    """Say what another mechanism takes less for.

    Of runs that are charged in every window, of losses that add up over comparisons, and of worst
    cases under a Gaussian promise.
    """
    name, default = alarm.mechanism, DEFAULT.name
    mechanism = OFFERED[name]
    per_event = mechanism.run is not None and budget.unit is PrivacyUnit.EVENT
    at_worst = alarm.aim.gaussian and mechanism.gaussian is None and mechanism.by_window
    summed = mechanism.first_phase and len(alarm.condition.formula.literals) > 1
    if alarm.aim.looks > 1 or not (per_event or at_worst or summed):
        return
    own, once = (price(one, alarm.condition, alarm.aim) for one in (name, default))
    if once.epsilon >= own.epsilon:
        return
    often = alarm.calendar.charged if per_event else 1
    here, there = (
        rounded_loss(budget.gaussian, to_loss_units(often * one.epsilon)) for one in (own, once)
    )
    message = f"mechanism {name} costs {loss_name(budget.gaussian)} {here}; {default} costs {there}"
    if per_event or at_worst:
        findings.warn("mechanism", message, f"write mechanism: {default}")
    else:
        findings.note("mechanism", message)


def _may_fire_when_empty(alarm: Alarm) -> bool:
    """Tell whether an empty cell lies within the tolerance of an average.

    The sum of nothing is false of it by one step alone, and a tolerance grants that. What is never
    negative was told of comparison by comparison; the tolerances of a band are 0.
    """
    condition, tolerances = alarm.condition, alarm.aim.tolerances
    if all(spec.never_negative for spec in alarm.aggregates):
        return False
    score = score_of(condition, tolerances)
    empty = score.read(np.zeros((condition.statistics, condition.cells), dtype=np.int64))
    return bool(((empty < 0) & (empty > -score.steps)).any())
