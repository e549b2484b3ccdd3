"""Alarms that say what is wanted: files of them, what the solver finds, its finds written in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import yaml

from stream.config.loading import examine
from stream.planning.budget import budget_plan
from stream.planning.solver.changes import Change, ChangeKind
from stream.planning.solver.solver import solve

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accountant.budget.plan import ScopePlan
    from stream.model.alarms import Alarms
    from stream.planning.solver.candidates import Candidate
    from stream.planning.solver.solver import Solved

WANTED = {"baseline": "8", "false_alarms": "1 per day", "max_fnr": "0.05"}
ROOMS = 50


@dataclass(frozen=True)
class File:
    """Rooms of twenty seats, open fifteen hours a day.

    Args:
        keys: of the alarm, besides its SQL and its hours; SQL among them stands instead.
        epsilon_max: of the budget.
        budget: its other keys.
        size: of tumbling windows.
        threshold: that the aggregate is to be above.
        aggregate: in SQL.
        active: the schedule; ``None`` for always.
        rooms: how many.
        more: alarms after it.
        windows: other windows, in SQL.
    """

    keys: Mapping[str, Any]
    epsilon_max: str = "4"
    budget: str = "privacy_unit: user, period: 1d"
    size: str = "'1' HOUR"
    threshold: int = 20
    aggregate: str = "COUNT(DISTINCT person)"
    active: str | None = "Mon-Sun 07:00-22:00"
    rooms: int = ROOMS
    more: str = ""
    windows: str = ""

    @property
    def sql(self) -> str:
        """The statement of its alarm."""
        windows = self.windows or f"TUMBLE(ts, INTERVAL {self.size})"
        return (
            f"SELECT room FROM badges GROUP BY room, {windows}"  # noqa: S608 -- no database sees it
            f" HAVING {self.aggregate} > {self.threshold}"
        )

    def write(self, folder: Path) -> Path:
        """Write the file and return its path."""
        rooms = ", ".join(f"r{room:02d}" for room in range(1, self.rooms + 1))
        hours = {} if self.active is None else {"active": self.active}
        keys = {"sql": self.sql, **hours, **self.keys}
        lines = "".join(f"    {key}: {json.dumps(value)}\n" for key, value in keys.items())
        path = folder / "rooms.yaml"
        path.write_text(
            f"""\
timezone: Europe/Athens
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {{person: string, room: {{domain: [{rooms}]}}, ts: timestamp}}
    history: {{from: 2025-03-03, until: 2025-03-04}}
budget: {{{self.budget}, epsilon_max: "{self.epsilon_max}"}}
alarms:
  crowded:
{lines}{self.more}"""
        )
        return path

    def alarms(self, folder: Path) -> Alarms:
        """Return the configuration."""
        alarms = examine(self.write(folder), environ={}).alarms
        assert alarms is not None
        return alarms

    def solved(self, folder: Path) -> Solved:
        """Return what is found for its first alarm, the last of what is solved."""
        return next(one for one in solve(self.alarms(folder)) if one.alarm.id == "crowded")

    def found(self, folder: Path) -> Candidate:
        """Return the way that is found."""
        found = self.solved(folder).found
        assert found is not None
        return found

    def capped(self, windows: str) -> File:
        """Return the file with a cap over the period."""
        caps = f"max_windows_per_period: {windows}"
        if "{" in self.budget:
            return replace(self, budget=self.budget.replace("{", f"{{{caps}, "))
        return replace(self, budget=f"{self.budget}, contribution: {{{caps}}}")


def written(file: File, found: Candidate) -> File:
    """Return a file with one way to have its alarm written in."""
    return replace(file, keys={**file.keys, **found.keys})


def planned(file: File, folder: Path) -> ScopePlan:
    """Return the plan of a file's first budget."""
    return budget_plan(file.alarms(folder)).scopes[0]


def changed(file: File, change: Change) -> File:
    """Return a file with one change written in, and nothing of how its alarm is had."""
    kind, value, keys = change.kind, change.value, dict(file.keys)
    match kind:
        case ChangeKind.EPSILON_MAX:
            file = replace(file, epsilon_max=value)
        case ChangeKind.WINDOW:
            file = replace(file, windows=value)
        case ChangeKind.CAP:
            file = file.capped(value)
        case ChangeKind.THRESHOLD:  # the first figure that fires
            file = replace(file, threshold=int(value) - 1)
        case ChangeKind.GROUPS | ChangeKind.EVENTS:
            file = replace(file, budget=re.sub(rf"{kind}: \d+", f"{kind}: {value}", file.budget))
        case ChangeKind.FALSE_ALARMS:
            keys["false_alarms"] = value
        case _:
            keys[kind.value] = yaml.safe_load(value) if value.startswith("{") else value
    return replace(file, keys=keys)
