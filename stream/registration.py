"""What the ledger is told of a configuration: budgets, and alarms with the rows they cover."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING

from accountant.records import BudgetTerms, QueryRegistration
from accountant.shapes import Shape
from accountant.units import floor_loss_units
from stream.definition import definition_json
from stream.regions import group_by_of, region_of
from stream.release import scope_of

if TYPE_CHECKING:
    from stream.model import Alarms, Query

__all__ = ["registration", "scopes_of", "shape_of", "terms_of"]


def shape_of(query: Query) -> Shape:
    """Return which rows the cells of a query cover.

    Two queries have the same grouping exactly if they group by the same attributes with the same
    values in the same order: then cell for cell they cover the same values.
    """
    cells = [group_by_of(query), query.domain.values]
    text = json.dumps(cells, separators=(",", ":"))
    digest = blake2b(text.encode("ascii"), digest_size=16).hexdigest()
    return Shape(region=region_of(query).canonical, grouping=digest)


def registration(query: Query, alarms: Alarms, first_start_ms: int) -> QueryRegistration:
    """Return an alarm as the ledger pins it.

    Args:
        query: the alarm.
        alarms: the configuration it stands in.
        first_start_ms: start of its first window; read at the first registration only.
    """
    return QueryRegistration(
        query=query.id,
        scope=scope_of(query, alarms),
        feed=query.feed.name,
        fingerprint=query.fingerprint,
        definition=definition_json(query, alarms.budget),
        first_start_ms=first_start_ms,
        shape=shape_of(query),
    )


def scopes_of(alarms: Alarms) -> list[str]:
    """Return the names of the budgets that the alarms draw on, sorted."""
    return sorted({scope_of(query, alarms) for query in alarms.queries.values()})


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
        epsilon_max_units=floor_loss_units(budget.epsilon_max),
        period=budget.periods.describe() if budget.periods else "",
    )
