"""A ledger's export added up again, from the exported rows alone."""

from __future__ import annotations

import base64
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from accountant.costs.levels import LevelCosts

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["charge_units", "replayed"]

Totals = dict[tuple[str, int], tuple[int, int]]


def charge_units(row: dict[str, Any]) -> tuple[int, int]:
    """Return what an exported charge holds of one privacy unit, and how much of it is final."""
    reached = min(row["cells_per_unit"], row["cells"])
    if row["state"] == "reserved" and row["held_units"] is not None:
        return row["held_units"], 0
    if row["state"] in {"reserved", "spent"}:
        worst = row["units"] * reached
        return worst, worst if row["state"] == "spent" else 0
    if row["state"] == "settled":
        loss = row["settled_units"] * reached
        if row["costs"] is not None:
            cells = LevelCosts.decode(base64.b64decode(row["costs"])).as_array()
            loss = sum(sorted(cells.tolist(), reverse=True)[:reached])
        return loss, loss
    return 0, 0


def replayed(exported: Iterable[dict[str, Any]]) -> Totals:
    """Add up all charges by budget and period, and compare with the exported totals.

    Returns:
        What is held and what is final, by budget and period, where anything is.
    """
    held: Counter[tuple[str, int]] = Counter()
    final: Counter[tuple[str, int]] = Counter()
    stored: Totals = {}
    for row in exported:
        match row["record"]:
            case "charges":
                places = [(row["scope"], at) for at in json.loads(row["periods"])]
                units = charge_units(row)
            case "adopted":
                places = [(row["scope"], at) for at in json.loads(row["periods"])]
                units = (row["loss_units"], row["loss_units"])
            case "compacted":
                places = [(row["scope"], row["period_ms"])]
                units = (row["final_units"], row["final_units"])
            case "totals":
                place = (row["scope"], row["period_ms"])
                stored[place] = (row["held_units"], row["final_units"])
                continue
            case _:
                continue
        held.update(dict.fromkeys(places, units[0]))
        final.update(dict.fromkeys(places, units[1]))
    added = {place: (units, final[place]) for place, units in held.items() if units}
    assert added == {place: units for place, units in stored.items() if any(units)}
    return added
