"""Keys of an alarm that do not go together: what is refused, where, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accountant.units import PrivacyUnit
from operators.descriptors import EARLY_HINT, SEVERITY_HINT
from operators.registry import mechanism_of
from stream.config.alarms.reduction import COUNTS, Function
from stream.config.alarms.silence import ends_of
from stream.config.moved import misplaced_keys
from stream.config.schema.document import duration
from stream.model.holds import least_hold_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.config.alarms.mechanism_keys import MechanismModel
    from stream.config.findings import Problem
    from stream.config.keys import AlarmModel
    from stream.config.sql.select import ParsedQuery
    from stream.model.alarms import Budget
    from stream.windows.calendars import Calendar

__all__ = ["LEVELS_HINT", "excluded"]

LEVELS_HINT: Final = "write HAVING COUNT(*) > SEVERITY and severity: {warning: 80, critical: 100}"
"""How severity levels are written."""

_WRITTEN: Final = "write mechanism and tolerance, without false_alarms and max_delay"
_ADDED_UP: Final = COUNTS | {Function.SUM}
_GIVEN: Final = "max_fnr_given_no_alarm"
_OF_RUNS: Final = ("max_alarms", "repeat", "repeat_in", _GIVEN)


def excluded(
    model: AlarmModel,
    parsed: ParsedQuery,
    left_open: tuple[str, ...],
    *,
    calendar: Calendar | None,
    budget: Budget,
) -> Iterator[Problem]:
    """Yield what does not go together: where, what is wrong, and what to write instead.

    Args:
        model: the alarm's keys, defaults in the place of open ones.
        parsed: its SQL.
        left_open: keys that are left to ``tocsin plan``.
        calendar: its windows; ``None`` where these are wrong themselves.
        budget: the one it lives under.
    """
    searched = bool(left_open) or model.false_alarms is not None or model.max_delay is not None
    yield from misplaced_keys(model)
    yield from _of_search(model, left_open if searched else None, budget)
    yield from _of_rates(model, parsed, searched=searched)
    yield from _of_early_alarms(model.mechanism, parsed, budget)
    yield from _of_silence(model, ends_of(parsed.feed, budget), searched=searched)
    least_ms = 0 if calendar is None else least_hold_ms(calendar)
    if model.hold is not None and model.hold < least_ms:
        message = "hold is over before another window of the alarm ends, or while windows still"
        message += " count the events that fired: size less step of HOP, a whole one of CUMULATE"
        yield "hold", message, f"write hold: {duration(least_ms)}, or more"
    yield from _of_levels(model, parsed, searched=searched)


def _of_search(
    model: AlarmModel, left_open: tuple[str, ...] | None, budget: Budget
) -> Iterator[Problem]:
    """Yield what ``tocsin plan`` cannot look for; nothing where it looks for nothing."""
    lacks = [key for key in ("baseline", "false_alarms") if getattr(model, key) is None]
    if left_open is not None and lacks:
        message = (
            "false alarms are counted where aggregates are at their baseline, and what is left"
        )
        message += f" to `tocsin plan` is found by them: {' and '.join(lacks)} is missing"
        hint = "write baseline: 60 and false_alarms: 1 per week, or a mechanism and a tolerance"
        yield (), message, hint
    if left_open and budget.gaussian is not None:
        what = f"{' and '.join(left_open)} cannot be left to `tocsin plan` under it"
        yield (), f"privacy: gdp: {what}", "write them, or privacy: pure"


def _of_rates(model: AlarmModel, parsed: ParsedQuery, *, searched: bool) -> Iterator[Problem]:
    """Yield rates that no mechanism keeps, and what a bound on false alarms excludes."""
    how, first = model.mechanism, model.mechanism.at("bounded_error")
    if model.max_fnr + (how.max_fpr or model.max_fnr) >= 1:
        message = "max_fnr and max_fpr together reach 1: a coin keeps that promise"
        at = "max_fnr" if how.max_fpr is None else how.at("max_fpr")
        yield at, message, "write smaller probabilities, as 0.05"
    if how.bounded_error == "fnr":
        return
    if how.max_fpr is None:
        message = "bounded_error: fpr needs max_fpr: it is the bound"
        yield first, message, "write max_fpr: 0.05"
    if searched:
        message = "bounded_error: fpr leaves nothing to be found: tocsin plan searches for alarms"
        yield first, f"{message} that bound misses", _WRITTEN
    if parsed.cumulative:
        message = "an early alarm bounds misses: it rings at the first look that says so"
        yield first, message, "leave bounded_error out, or write TUMBLE"
    if model.severity is not None:
        yield first, "severity levels bound misses", "leave bounded_error out"


def _of_early_alarms(how: MechanismModel, parsed: ParsedQuery, budget: Budget) -> Iterator[Problem]:
    """Yield what alarms cannot be that fire before their window is over."""
    mechanism = mechanism_of(how.name)
    if not parsed.cumulative:
        return
    if budget.unit is PrivacyUnit.USER and mechanism.panes is None:
        message = "early alarms are for privacy_unit: event; a person would be charged for every"
        hint = "write TUMBLE instead of CUMULATE, privacy_unit: event, or mechanism: panes"
        yield "sql", f"{message} step", hint, parsed.window_offset
    if mechanism.early is None:
        message = f"{how.name} decides a window when it is over, and not step by step"
        yield "mechanism", message, EARLY_HINT
    for key in _OF_RUNS:
        if getattr(how, key) is not None:
            message = f"{key} is for runs over many windows; an early alarm has one run per window"
            yield how.at(key), f"{message} and group, which rings once", f"remove {key}"


def _of_silence(model: AlarmModel, ends: object, *, searched: bool) -> Iterator[Problem]:
    """Yield why a miss given no alarm cannot be bounded, where that is asked for."""
    limit, at = model.mechanism.max_fnr_given_no_alarm, model.mechanism.at(_GIVEN)
    if limit is None:
        return
    if searched:
        message = f"{_GIVEN} leaves nothing to be found: a run keeps it whose keys are written"
        yield at, message, _WRITTEN
    if ends is None:
        message = f"{_GIVEN} is about the longest silence of a run, and these runs have no end"
        yield at, message, "write privacy_unit: user with a period, or the feed's history"
    if limit <= model.max_fnr:
        message = f"{_GIVEN} is above max_fnr: silence never makes a miss rarer"
        more = float(min(2 * model.max_fnr, (1 + model.max_fnr) / 2))
        yield at, message, f"write {_GIVEN}: {more:g}"


def _of_levels(model: AlarmModel, parsed: ParsedQuery, *, searched: bool) -> Iterator[Problem]:
    """Yield what severity levels do not go together with."""
    leaves, name = list(parsed.having.leaves()), model.mechanism.name
    words = [each.threshold.offset for each in leaves if each.threshold.of_severity]
    levels = model.severity
    if levels is None:
        yield from [("sql", "SEVERITY has no levels", LEVELS_HINT, at) for at in words[:1]]
        return
    if not words:
        message = "severity is for a threshold SEVERITY, and HAVING has none"
        yield "severity", message, LEVELS_HINT
        return
    if len(levels) < 2:
        hint = "write its threshold into HAVING instead of SEVERITY, and remove severity"
        yield "severity", "one severity level is an alarm without levels", hint
    if mechanism_of(name).severities is None:
        yield "mechanism", f"{name} has no severity levels", SEVERITY_HINT
    function = leaves[0].measure.function
    another = f"{function.value} has another statistic for every threshold: levels of it share"
    for holds, message, hint in (
        (
            len(leaves) > 1,
            f"severity levels are of one comparison; this HAVING comes to {len(leaves)}",
            LEVELS_HINT,
        ),
        (
            function not in _ADDED_UP,
            f"{another} no noise",
            "write COUNT or SUM, or one alarm for each level",
        ),
        (
            parsed.cumulative,
            "early alarms have no severity levels",
            "write TUMBLE instead of CUMULATE",
        ),
        (
            parsed.members,
            "a quantifier over groups has no severity levels",
            "write an alarm for each level",
        ),
    ):
        if holds:
            yield "sql", message, hint, words[0]
    if model.hold is not None:
        message = "a held warning would not be asked whether it is critical"
        yield "hold", message, "leave out hold, or write an alarm for each level"
    if searched:
        yield "severity", "severity levels leave nothing to be found by plan", _WRITTEN
