"""Caps that an author may not have meant: what the SQL asks for, and what one person may add to it.

Only configuration is looked at. Caps are the custodian's to choose, so nothing here is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from operators.registry import mechanism_of
from stream.config.alarms.reduction import Function
from stream.model.contributions import article, contribution_rule, plural, window_noun

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream.config.findings import Findings
    from stream.config.sql.comparisons import Measure
    from stream.model.alarms import Budget
    from stream.model.queries import Query

__all__ = ["tell_caps"]


def tell_caps(
    query: Query, measures: Iterable[Measure], budget: Budget, findings: Findings
) -> None:
    """Note an alarm's contribution rule, and warn where it contradicts what the SQL seems to ask.

    Args:
        query: the alarm.
        measures: its aggregates, as they are written.
        budget: its unit and caps.
        findings: receives the note and the warnings.
    """
    at = "sql"
    findings.note(at, f"{query.id}: {contribution_rule(query, budget)}")
    for measure, message, hint in _of_units(query, measures, budget):
        findings.warn(at, message, hint, offset=measure.offset)
    if budget.unit is not PrivacyUnit.USER:
        return
    for message, hint in (
        *_left_out(query, budget),
        *_counted_once(query, budget),
    ):
        findings.warn(at, message, hint)


def _of_units(
    query: Query, measures: Iterable[Measure], budget: Budget
) -> Iterator[tuple[Measure, str, str]]:
    """Yield aggregates of the privacy unit's id that count something else than units."""
    unit, most = query.feed.unit, budget.contribution.events_per_cell
    units, distinct = plural(unit), f"write COUNT(DISTINCT {unit})"
    often = f"up to {most} times" if budget.unit is PrivacyUnit.USER else "with every event"
    for measure in measures:
        if not measure.of_units:
            continue
        if measure.function is not Function.COUNT:
            yield (
                measure,
                f"{measure.text} takes ids for amounts",
                f"{distinct} to count {units}, or name a field that holds amounts",
            )
        elif budget.unit is not PrivacyUnit.USER or most > 1:  # of one event each, see below
            yield (
                measure,
                f"{measure.text} counts events, not {units}: {article(unit)} counts {often}",
                f"{distinct} if {units} are meant, or COUNT(*) if events are",
            )


def _left_out(query: Query, budget: Budget) -> Iterator[tuple[str, str]]:
    """Yield that who is in one predicate first counts in no other one."""
    moving = [name for name in query.domain.fields if not query.feed.fields[name].fixed]
    several = any(len(query.feed.fields[name].domain or ()) > 1 for name in moving)
    if budget.contribution.predicates_per_window > 1 or not several:
        return
    window = "pane" if _of_panes(query) else window_noun(query.calendar)
    fields = " and ".join(moving)
    yield (
        (
            f"max_groups_per_window is 1: whoever moves is counted in the first {fields} of the"
            f" {window} only"
        ),
        (
            "write max_groups_per_window: 2 or more, which costs as many times as much; or, if"
            f" {article(query.feed.unit)} never changes {fields}, declare that: fixed: true"
        ),
    )


def _of_panes(query: Query) -> bool:
    """Tell whether caps are those of panes, which windows add up."""
    return mechanism_of(query.mechanism).panes is not None


def _counted_once(query: Query, budget: Budget) -> Iterator[tuple[str, str]]:
    """Yield that one event each is all that a count, or a sum, of events has.

    Of panes: each of them adds what it counted.
    """
    if budget.contribution.events_per_cell > 1 or _of_panes(query):
        return
    unit = query.feed.unit
    kinds = {spec.kind for spec in query.aggregates}
    if Weight.COUNT in kinds:
        yield (
            (
                f"max_events_per_group is 1: COUNT counts the first event of each {unit}, as"
                f" COUNT(DISTINCT {unit}) does"
            ),
            (
                f"write COUNT(DISTINCT {unit}) if {plural(unit)} are meant, or a larger"
                " max_events_per_group, which costs as many times as much"
            ),
        )
    for kind, what in ((Weight.SUM, "SUM"), (Weight.LINEAR, "a sum of aggregates")):
        if kind in kinds:
            yield (
                f"max_events_per_group is 1: {what} adds up the first event of each {unit} only",
                "write a larger max_events_per_group, which costs as many times as much",
            )
