"""Caps over a period against tolerance: what each cap costs, and what the present loss would buy.

Under ``windows_per_period: C`` a person pays for the C dearest windows of an alarm in a period. So
a smaller cap is either less loss at the same tolerance, or a smaller tolerance for the same loss.
The price is what the counts lose: who is in more windows counts in the first C alone, which no
promise about the counts speaks of (``tocsin simulate --caps`` measures it).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from accountant.units import to_loss_units
from operators.registry import mechanism_of
from stream.config.alarms.tolerances import aim_with, highest_tolerance
from stream.decisions.mechanisms import price_of
from stream.model.alarms import cells_per_unit, has_runs, windows_cap
from stream.planning.budget import periods_of
from stream.planning.search import smallest

if TYPE_CHECKING:
    from operators.conditions.condition import Aim
    from stream.model.alarms import Alarms, Budget
    from stream.model.queries import Query

__all__ = ["CapChoice", "CapChoices", "cap_choices", "with_cap"]

_MOST: Final = 10_000_000  # in units of a statistic: no tolerance beyond is looked at


@dataclass(frozen=True, slots=True)
class CapChoice:
    """One cap.

    Args:
        cap: windows of a period that a person counts in; ``None`` for all.
        units: what a person loses by the alarm in a period at its present tolerance, loss units.
        bought: the aim with the least tolerance that costs no more a period than the alarm does
            now; ``None`` where no tolerance that may be written is wide enough.
        bought_units: what that costs a period; 0 without one.
        used: whether this is what the configuration says.
    """

    cap: int | None
    units: int
    bought: Aim | None
    bought_units: int
    used: bool


@dataclass(frozen=True, slots=True)
class CapChoices:
    """The caps that one alarm might have.

    Args:
        query: the alarm.
        windows: of the fullest period.
        present_units: what a person loses by it in a period as configured, in loss units.
        choices: smallest cap first, then none.
    """

    query: Query
    windows: int
    present_units: int
    choices: tuple[CapChoice, ...]


def cap_choices(alarms: Alarms) -> tuple[CapChoices, ...]:
    """Return what caps would cost, of every alarm that may have one.

    None under unit ``event`` or over a lifetime, of runs (which everybody pays for), and beside
    shares: no cap is taken there.

    Raises:
        ConfigError: an aim that cannot be kept.
    """
    budget = alarms.budget
    table = periods_of(budget)
    if table is None:
        return ()
    return tuple(
        _choices(query, int(table.windows(query.calendar).max()), budget)
        for query in alarms.queries.values()
        if mechanism_of(query.mechanism).bands is None
        and not has_runs(query, budget)
        and not query.share
    )


def with_cap(alarms: Alarms, cap: int | None) -> Alarms:
    """Return the configuration with another cap over its periods; ``None`` for none."""
    contribution = replace(alarms.budget.contribution, windows_per_period=cap)
    return replace(alarms, budget=replace(alarms.budget, contribution=contribution))


def _caps(below: int) -> set[int]:
    """Return 1, 2, 3, 4, 6, 8, 12, ... as far as they are less than a number."""
    pairs = ((1 << power, 3 << power >> 1) for power in range(below.bit_length()))
    return {cap for pair in pairs for cap in pair if cap < below}


def _choices(query: Query, windows: int, budget: Budget) -> CapChoices:
    own = windows_cap(query, budget)
    reached = cells_per_unit(query, budget)
    each = to_loss_units(price_of(query).epsilon)
    present = each * reached * min(own or windows, windows)
    caps = sorted((_caps(windows) | {own or windows}) - {windows})
    found = []
    for cap in (*caps, None):
        paid = reached * min(cap or windows, windows)
        bought = _least(query, present // paid)
        spent = 0 if bought is None else paid * to_loss_units(price_of(query, bought).epsilon)
        used = cap == own or (cap is None and own == windows)
        found.append(CapChoice(cap, each * paid, bought, spent, used))
    return CapChoices(query, windows, present, tuple(found))


def _least(query: Query, room: int) -> Aim | None:
    """Return the aim with the least tolerance whose cell costs no more than ``room`` loss units.

    Of several comparisons all tolerances grow and shrink in proportion to what is written.
    """
    now, names = query.aim.tolerances, query.condition.formula.atoms
    shares = now if any(now) else (1,) * len(now)
    whole = max(shares)
    most = min(
        max(highest_tolerance(query, name), tolerance) * whole // share
        for name, tolerance, share in zip(names, now, shares, strict=True)
        if share
    )

    def aim(number: int) -> Aim:
        return aim_with(query, tuple(-(-share * number // whole) for share in shares))

    def fits(number: int) -> bool:
        try:
            return to_loss_units(price_of(query, aim(number)).epsilon) <= room
        except ConfigError:
            return False

    found = smallest(fits, -1, min(most, _MOST), near=True) if room else None
    return None if found is None else aim(found)
