"""Alarms that share noisy panes: which do, how long a pane is, and what it has to pay for.

Alarms over the same events, groups, statistic, grace and schedule share a query that nobody
wrote: panes as long as fit whole into all their windows, at the rate that the dearest of them
needs. One joins others where that costs an event no more than panes of its own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from accountant.units import PrivacyUnit, from_loss_units, to_loss_units
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Condition
from operators.conditions.weights import Weight
from operators.registry import DEFAULT, mechanism_of
from operators.single.pure import gaussian_units
from stream.config.schema.document import duration
from stream.model.fingerprints import canonical_json, definition, fingerprint
from stream.model.panes import is_panes, panes_name
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.cumulative import CumulativeCalendar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stream.config.findings import Findings
    from stream.config.yamlfile import Loc
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget
    from stream.windows.calendars import Calendar

__all__ = ["pane_count", "pane_of", "panes_serve", "shared_anew", "with_panes"]

_MOST_COUNTS: Final = 100_000
"""Counts that leave of one window: their decision is one row of the ledger, of 2 MB then."""

_WEEK_DAYS: Final = 7
_YEAR_MS: Final = 366 * 86_400_000
_OTHERWISE: Final = f"write mechanism: {DEFAULT.name}"


def with_panes(alarms: Alarms, findings: Findings) -> Alarms:
    """Return the configuration with the panes that its alarms share.

    Args:
        alarms: checked, alarm by alarm.
        findings: receives errors of alarms that cannot be decided from panes.
    """
    able = []
    for query in (*alarms.by_name.values(), *alarms.open.values()):
        at = findings.under("alarms", query.id)
        if is_panes(query.id):
            message = "names of this form are reserved for noisy panes"
            at.wrong((), message, "rename the alarm", key=True)
        if _asks(query) and (obstacle := next(_obstacles(query, alarms), None)):
            key, why, hint = obstacle
            at.wrong(key, f"mechanism: panes: {why}", hint)
        elif _asks(query):
            able.append(query)
    shared = _shared_out(able, alarms)
    if alarms.budget.unit is PrivacyUnit.USER:
        readers = (shared.by_name[query.id] for query in able)
        _warn_of_caps(readers, alarms.budget, findings)
    return shared


def shared_anew(alarms: Alarms) -> Alarms:
    """Return the configuration with panes for the alarms that it has now, to be priced.

    Args:
        alarms: of which some were changed, added or left out since their panes were shared out;
            each that asks for panes can have some.
    """
    return _shared_out(filter(_asks, alarms.by_name.values()), alarms)


def pane_count(calendar: Calendar) -> int:
    """Return of how many panes a window is made that shares them with no other alarm.

    Args:
        calendar: of windows of a fixed length or of whole local days.
    """
    return _times(calendar, pane_of(calendar))


def panes_serve(alarm: Alarm, alarms: Alarms) -> bool:
    """Tell whether nothing speaks against deciding an alarm from panes.

    Args:
        alarm: with the mechanism that has them.
        alarms: the configuration that it is to run in.
    """
    return next(_obstacles(alarm, alarms), None) is None


def _asks(alarm: Alarm) -> bool:
    return mechanism_of(alarm.mechanism).panes is not None


def _shared_out(asking: Iterable[Alarm], alarms: Alarms) -> Alarms:
    """Return the configuration with the panes of some alarms."""
    alike: defaultdict[str, list[_Shared]] = defaultdict(list)
    for alarm in asking:
        _join(alarm, alike[_terms(alarm, alarms.budget)], alarms)
    panes: dict[str, Alarm] = {}
    queries = dict(alarms.by_name)
    for terms, groups in alike.items():
        for shared in groups:
            # Two groups may come to panes of one length and yet not share them.
            length = min(shared.calendar.lengths)
            names = (panes_name(f"{terms} {before} {length}") for before in count())
            own = shared.panes(next(name for name in names if name not in panes), alarms.budget)
            panes[own.id] = own
            queries |= {one.id: shared.reader(one, own, alarms.budget) for one in shared.alarms}
    return replace(alarms, by_name=queries, panes=panes)


@dataclass(frozen=True, slots=True)
class _Shared:
    """Alarms that share panes.

    Args:
        alarms: at least one, in the order of the file.
        calendar: of the panes: the longest that all their windows are made of.
        units: loss units of a pane's epsilon, which its noise follows from.
    """

    alarms: tuple[Alarm, ...]
    calendar: Calendar
    units: int

    @classmethod
    def of(cls, alarms: Sequence[Alarm], publish_interval_ms: int) -> _Shared:
        """Plan the panes of some alarms.

        Raises:
            ConfigError: the windows of one would have too many, or panes that are too short.
        """
        calendar, whole = pane_of(*(alarm.calendar for alarm in alarms)), alarms[0].calendar
        if isinstance(calendar, FixedCalendar) and calendar.size_ms < publish_interval_ms:
            message = f"panes of {duration(calendar.size_ms)} are shorter than publish_interval"
            hint = f"start and end windows at multiples of {duration(publish_interval_ms)}"
            raise ConfigError(message, hint=hint)
        (size, _), (length, _) = whole.lengths, calendar.lengths
        if _counts_people(alarms[0]) and length < size:
            # Who counts in a pane follows from those before it in the window.
            calendar = CumulativeCalendar(size, length, calendar.schedule)
        units = max(_units(alarm, calendar) for alarm in alarms)
        return cls(tuple(alarms), calendar, units)

    def paid(self, budget: Budget) -> int:
        """Return what a neighbour pays for one cell, in loss units, to compare groups by.

        Under unit ``user`` that is for all panes of a period without pauses, or as many as a cap
        lets through; of a lifetime, for those of a year.
        """
        units = self.units
        if budget.gaussian is not None:
            units = gaussian_units(from_loss_units(units))
        if budget.unit is PrivacyUnit.EVENT:
            return units * (2 if isinstance(self.calendar, CumulativeCalendar) else 1)
        periods = budget.calendar
        whole_ms = _YEAR_MS if periods is None else periods.longest_ms
        panes = -(-whole_ms // self.calendar.longest_ms)
        return units * min(panes, budget.contribution.windows_per_period or panes)

    def reader(self, alarm: Alarm, own: Alarm, budget: Budget) -> Alarm:
        """Return an alarm as it is decided from these panes."""
        often = _times(alarm.calendar, self.calendar)
        aim = replace(alarm.aim, panes=often, pane_units=self.units)
        reader = replace(alarm, aim=aim, panes=own.id)
        return replace(reader, fingerprint=fingerprint(reader, budget))

    def panes(self, name: str, budget: Budget) -> Alarm:
        """Return the query that counts the panes and pays for them, under a name of its own."""
        dearest = max(self.alarms, key=lambda alarm: _units(alarm, self.calendar))
        cells = dearest.condition.cells
        (sensitivity,) = dearest.condition.sensitivities
        nothing = np.zeros(cells, dtype=np.int64)  # no threshold is a pane's own
        own = replace(
            dearest,
            id=name,
            calendar=self.calendar,
            condition=Condition.single(IntegerTest(Comparison.GE, nothing, sensitivity)),
            aim=replace(dearest.aim, panes=1, pane_units=self.units, looks=1, severities=()),
            publish_delay_ms=min(alarm.publish_delay_ms for alarm in self.alarms),
            decide_timeout_ms=max(alarm.decide_timeout_ms for alarm in self.alarms),
            max_age_ms=max(alarm.max_age_ms for alarm in self.alarms),
            sql="",
            baseline=None,
            false_alarms=None,
            max_delay_ms=None,
            panes="",
            readers=tuple(alarm.id for alarm in self.alarms),
            firsts=isinstance(self.calendar, CumulativeCalendar),
            releases_counts=False,
        )
        return replace(own, fingerprint=fingerprint(own, budget))


def _join(alarm: Alarm, groups: list[_Shared], alarms: Alarms) -> None:
    """Add an alarm to the first of some groups in which it costs no more than by itself."""
    budget, interval_ms = alarms.budget, alarms.settings.publish_interval_ms
    alone = _Shared.of([alarm], interval_ms)
    for at, group in enumerate(groups):
        with suppress(ConfigError):
            together = _Shared.of([*group.alarms, alarm], interval_ms)
            if together.paid(budget) <= group.paid(budget) + alone.paid(budget):
                groups[at] = together
                return
    groups.append(alone)


def _warn_of_caps(readers: Iterable[Alarm], budget: Budget, findings: Findings) -> None:
    """Say of windows of several panes that a person counts in each of these."""
    for alarm in readers:
        panes = alarm.aim.panes
        often = min(panes, budget.contribution.windows_per_period or panes)
        if often > 1:
            findings.warn(
                ("alarms", alarm.id, "sql"),
                f"contribution bounds hold per pane, and a window has {panes}: a person who is in"
                f" all of them counts {often} times as much",
                f"choose the threshold accordingly, or {_OTHERWISE}, with bounds per window",
            )


def _obstacles(alarm: Alarm, alarms: Alarms) -> Iterator[tuple[str | Loc, str, str]]:
    """Yield key, reason and hint of what keeps an alarm from being decided from panes."""
    calendar, people = alarm.calendar, _counts_people(alarm)
    size, step = calendar.lengths
    if alarm.open:
        why = "`tocsin lock` cannot choose the missing keys"
        yield "mechanism", why, "write the tolerance, or remove mechanism"
    if alarm.share:
        why = "the alarms that share panes cannot have a share"
        yield "share", why, f"remove share, or {_OTHERWISE}"
    early = isinstance(calendar, CumulativeCalendar)
    if people and size != step and not (early and alarms.budget.unit is PrivacyUnit.EVENT):
        why = "COUNT(DISTINCT ...) over several panes would count or charge a person several times"
        yield "sql", why, f"write TUMBLE, count events with COUNT(*), or {_OTHERWISE}"
    if not (people or alarm.aggregates[0].adds_up):
        yield "sql", "it supports COUNT and SUM only", _OTHERWISE
    if step > size:
        why = "panes between the windows would be charged and not used"
        yield "sql", why, f"write windows without gaps, or {_OTHERWISE}"
    if alarm.releases_counts and len(alarm.domain) > _MOST_COUNTS:
        why = f"release: counts would publish {len(alarm.domain):,} counts a window, more than"
        hint = "group by fewer fields, shorten a domain, or remove release"
        yield ("mechanism", alarm.mechanism, "release"), f"{why} {_MOST_COUNTS:,}", hint
    try:
        _Shared.of([alarm], alarms.settings.publish_interval_ms)
    except ConfigError as error:
        yield "sql", error.message, error.hint or _OTHERWISE


def _terms(alarm: Alarm, budget: Budget) -> str:
    """Return what alarms have in common that share panes, as canonical JSON."""
    whole = definition(alarm, budget)
    same = {name: whole[name] for name in ("feed", "domain", "where", "aggregates", "grace_ms")}
    calendar = whole["calendar"]
    same |= {name: calendar.get(name) for name in ("active", "timezone")}
    same["sensitivities"] = list(alarm.condition.sensitivities)
    if _counts_people(alarm):
        same["size"] = alarm.calendar.lengths[0]
    return canonical_json(same)


def _units(alarm: Alarm, pane: Calendar) -> int:
    """Return what epsilon a pane has for one alarm, in loss units, whichever budget pays."""
    aim = replace(alarm.aim, panes=_times(alarm.calendar, pane), pane_units=0, gaussian=False)
    plan = mechanism_of(alarm.mechanism).price(alarm.condition, aim)
    return to_loss_units(plan.epsilon)


def pane_of(*calendars: Calendar) -> Calendar:
    """Return the longest panes that all windows of some calendars, of one kind, are made of.

    Args:
        calendars: of windows of a fixed length or of whole local days, at least one.
    """
    first = calendars[0]
    lengths = set(chain.from_iterable(each.lengths for each in calendars))
    length = math.gcd(*lengths)
    if not isinstance(first, LocalCalendar):
        return FixedCalendar(length, length, first.schedule)
    # Whole weeks start on Mondays, others at the epoch's day: only single days fit both.
    weeks = {each % _WEEK_DAYS == 0 for each in lengths}
    length = length if len(weeks) == 1 else 1
    return replace(first, size_days=length, step_days=length)


def _times(windows: Calendar, panes: Calendar) -> int:
    """Return of how many panes a window is made at most."""
    return windows.lengths[0] // min(panes.lengths)


def _counts_people(alarm: Alarm) -> bool:
    """Tell whether a window counts everybody once: each in the first of its panes."""
    return alarm.aggregates[0].kind is Weight.DISTINCT_UNITS
