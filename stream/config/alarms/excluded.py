"""Keys of an alarm that do not go together: what is refused, where, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accountant.units import PrivacyUnit
from operators.registry import mechanism_of
from stream.config.alarms.reduction import COUNTS, ZERO_WHEN_EMPTY, Function
from stream.config.alarms.silence import longest_run
from stream.config.moved import misplaced_keys
from stream.config.schema.document import duration
from stream.model.holds import least_hold_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.config.alarms.mechanism_keys import MechanismModel
    from stream.config.findings import Problem
    from stream.config.keys import AlarmModel
    from stream.config.sql.select import ParsedQuery
    from stream.config.yamlfile import Loc
    from stream.model.alarms import Budget
    from stream.windows.calendars import Calendar

__all__ = ["LEVELS_HINT", "excluded"]

LEVELS_HINT: Final = "write HAVING COUNT(*) > SEVERITY and severity: {warning: 80, critical: 100}"
"""How severity levels are written."""

_WRITTEN: Final = "a mechanism and a tolerance, without false_alarms and max_delay"
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
    if searched:
        yield from _of_search(model, parsed, left_open, budget)
    max_fpr = model.mechanism.max_fpr
    if model.max_fnr + (max_fpr or model.max_fnr) >= 1:
        message = "max_fnr and max_fpr add up to 1 or more, so chance alone meets them"
        at = "max_fnr" if max_fpr is None else model.mechanism.at("max_fpr")
        yield at, message, "write smaller probabilities, as 0.05"
    yield from _of_early_alarms(model.mechanism, parsed, budget)
    if (
        calendar is not None
        and model.mechanism.max_fnr_given_no_alarm is not None
        and longest_run(calendar, budget.periods, parsed.feed.history) is None
    ):
        hint = "write privacy_unit: user with a period, or the feed's history"
        yield model.mechanism.at(_GIVEN), f"{_GIVEN} needs SVT runs that end", hint
    least_ms = 0 if calendar is None else least_hold_ms(calendar)
    if model.hold is not None and model.hold < least_ms:
        message = "hold is shorter than the time in which the same events may fire the alarm again"
        yield "hold", message, f"write hold: {duration(least_ms)} or more"
    yield from _of_levels(model, parsed)


def _of_search(
    model: AlarmModel, parsed: ParsedQuery, left_open: tuple[str, ...], budget: Budget
) -> Iterator[Problem]:
    """Yield what ``tocsin plan`` cannot look for."""
    how, kinds = model.mechanism, [each.measure.function for each in parsed.having.leaves()]
    if len(kinds) != 1 or kinds[0] not in ZERO_WHEN_EMPTY:
        message = "false alarms are counted for one comparison of a COUNT or SUM"
        yield "sql", message, f"write {_WRITTEN}", parsed.having_offset
    if model.baseline is None or model.false_alarms is None:
        message = "`tocsin lock` needs baseline and false_alarms to choose the missing keys"
        yield (), message, f"write baseline: 60 and false_alarms: 1 per week; or {_WRITTEN}"
    chosen: tuple[tuple[str | Loc, str, object], ...] = (
        ((), "privacy: gdp", left_open and budget.gaussian is not None),
        (how.at(_GIVEN), _GIVEN, how.max_fnr_given_no_alarm is not None),
        (how.at("bounded_error"), "bounded_error: fpr", how.bounded_error == "fpr"),
        ("severity", "severity levels", model.severity is not None),
    )
    for at, what, there in chosen:
        if there:
            yield at, f"`tocsin lock` cannot choose with {what}", f"write {_WRITTEN}"


def _of_early_alarms(how: MechanismModel, parsed: ParsedQuery, budget: Budget) -> Iterator[Problem]:
    """Yield what alarms cannot be that fire before their window is over."""
    if not parsed.cumulative:
        return
    if budget.unit is PrivacyUnit.USER and mechanism_of(how.name).panes is None:
        message = "with privacy_unit: user, CUMULATE would charge a person for every step"
        hint = "write TUMBLE instead of CUMULATE, privacy_unit: event, or mechanism: panes"
        yield "sql", message, hint, parsed.window_offset
    for key in _OF_RUNS:
        if getattr(how, key) is not None:
            message = f"an early alarm (CUMULATE) has no {key}: its SVT run is one window"
            yield how.at(key), message, f"remove {key}"


def _of_levels(model: AlarmModel, parsed: ParsedQuery) -> Iterator[Problem]:
    """Yield what severity levels do not go together with."""
    leaves = list(parsed.having.leaves())
    words = [each.threshold.offset for each in leaves if each.threshold.of_severity]
    if bool(words) is (model.severity is None):
        at = ("sql", words[0]) if words else ("severity", None)
        yield at[0], "severity and SEVERITY in HAVING need each other", LEVELS_HINT, at[1]
    if not words or model.severity is None:
        return
    added_up = len(leaves) == 1 and leaves[0].measure.function in _ADDED_UP
    if not added_up or parsed.cumulative or parsed.members:
        message = (
            "severity levels need one comparison of a COUNT or SUM with SEVERITY, in TUMBLE or"
        )
        hint = "write one alarm per level, or HAVING COUNT(*) > SEVERITY alone"
        yield "sql", f"{message} HOP, without an outer query", hint, words[0]
    if model.hold is not None:
        message = "hold would keep a warning from becoming critical"
        yield "hold", message, "remove hold, or write one alarm per level"
