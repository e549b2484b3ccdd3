"""What the ledger is told of a configuration: budgets, and alarms with the rows they cover."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING

from accountant.budget.filter import EventFilter, UserFilter
from accountant.budget.keeping import Keeper, Keepers
from accountant.costs.charges import Charge, PeriodCap, UniformCost
from accountant.records import BudgetTerms, QueryRegistration
from accountant.regions.groupings import Grouping
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from accountant.units import PrivacyUnit
from stream.model.alarms import cells_per_unit, scope_of, windows_cap
from stream.model.feeds import FieldType
from stream.model.fingerprints import definition_json
from stream.model.regions import attribute_of, cell_values, group_by_of, region_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accountant.budget.filter import BudgetFilter
    from accountant.costs.charges import WindowKey
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget

__all__ = ["charge_of", "fresh_filter", "registration", "scopes_of", "shape_of", "terms_of"]

_READINGS = frozenset({FieldType.TIMESTAMP, FieldType.FLOAT})
"""Types whose values are made of an event's strings or integers; others are taken as they are."""


def shape_of(alarm: Alarm) -> Shape:
    """Return which rows the cells of an alarm cover, also beside those of other configurations.

    Two alarms' groupings have the same name exactly if they group by the same attributes with the
    same values in the same order: then cell for cell they cover the same values.

    One event can hold a string under one declaration of a field and an instant under another, and
    so may a large integer and the float next to it: what is read so is another attribute, and keeps
    no rows apart from what is read otherwise.
    """
    names = {
        attribute_of(alarm.feed, name): f"{attribute_of(alarm.feed, name)} as {field.type.value}"
        for name, field in alarm.feed.fields.items()
        if field.type in _READINGS
    }
    region = region_of(alarm)
    if not region.empty:
        region = Region.of(
            {names.get(name, name): region.values(name) for name in region.attributes}
        )
    text = json.dumps([group_by_of(alarm), alarm.domain.values], separators=(",", ":"))
    digest = blake2b(text.encode("ascii"), digest_size=16).hexdigest()
    by = tuple(names.get(name, name) for name in group_by_of(alarm))
    grouping = Grouping(digest, by, cell_values(alarm))
    return Shape(region=region.canonical, grouping=grouping.text)


def charge_of(alarm: Alarm, budget: Budget, key: WindowKey, units: int) -> Charge:
    """Return what a window of an alarm asks its budget for.

    Args:
        alarm: the alarm.
        budget: unit, periods and caps.
        key: of the window.
        units: loss of one of its cells at worst, in loss units.
    """
    few = windows_cap(alarm, budget)
    return Charge(
        key=key,
        cost=UniformCost(units=units, cells=len(alarm.domain)),
        cells_per_unit=cells_per_unit(alarm, budget),
        periods=budget.touched(key.start_ms, key.end_ms),
        cap=None if few is None else PeriodCap(few, alarm.id, alarm.fingerprint),
    )


def fresh_filter(budget: Budget, alarms: Iterable[Alarm]) -> BudgetFilter:
    """Return the filter of a budget that nothing was charged to, with the shares of its alarms."""
    if budget.unit is PrivacyUnit.EVENT:
        return EventFilter(budget.wall_units, [])
    shares = {alarm.id: budget.share_units(alarm.share) for alarm in alarms}
    keepers = Keepers({name: Keeper(units) for name, units in shares.items() if units})
    return UserFilter(budget.wall_units, {}, {}, keepers)


def registration(alarm: Alarm, alarms: Alarms, first_start_ms: int) -> QueryRegistration:
    """Return an alarm as the ledger pins it.

    Args:
        alarm: the alarm.
        alarms: the configuration it stands in.
        first_start_ms: start of its first window; read at the first registration only.
    """
    return QueryRegistration(
        query=alarm.id,
        scope=scope_of(alarm, alarms),
        feed=alarm.feed.name,
        fingerprint=alarm.fingerprint,
        definition=definition_json(alarm, alarms.budget),
        first_start_ms=first_start_ms,
        shape=shape_of(alarm),
        share_units=alarms.budget.share_units(alarm.share),
    )


def scopes_of(alarms: Alarms) -> list[str]:
    """Return the names of the budgets that the alarms draw on, sorted."""
    return sorted({scope_of(alarm, alarms) for alarm in alarms.running.values()})


def terms_of(alarms: Alarms, scope: str) -> BudgetTerms:
    """Return a budget as the ledger pins it.

    Args:
        alarms: the configuration.
        scope: name of the budget.
    """
    budget = alarms.budget
    return BudgetTerms(
        scope=scope,
        unit=budget.unit,
        epsilon_max_units=budget.wall_units,
        period=budget.periods.describe() if budget.periods else "",
        promise=None if budget.gaussian is None else budget.gaussian.text,
    )
