"""Alarms that say what is wanted: files of them, what `tocsin plan` advises, its advice written in.

For tests of the adviser: whatever it prints is written into the file again, and planned.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from stream.cli.main import main
from stream.config.loading import examine
from stream.planning.advice.advice import advise

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from click.testing import Result

    from stream.planning.advice.advice import Advice

__all__ = ["ROOMS", "WANTED", "File", "changed", "invoke", "planned", "record", "written"]

WANTED = {"usual": "8", "false_rings": "1 per day", "max_fnr": "0.05"}
ROOMS = 50


@dataclass(frozen=True)
class File:
    """Rooms of twenty seats, open fifteen hours a day.

    Args:
        keys: of the alarm, besides its SQL and its hours.
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

    keys: Mapping[str, str]
    epsilon_max: str = "4"
    budget: str = "unit: user, period: 1d"
    size: str = "'1' HOUR"
    threshold: int = 20
    aggregate: str = "COUNT(DISTINCT person)"
    active: str | None = "Mon-Sun 07:00-22:00"
    rooms: int = ROOMS
    more: str = ""
    windows: str = ""

    def write(self, folder: Path) -> Path:
        """Write the file and return its path."""
        rooms = ", ".join(f"r{room:02d}" for room in range(1, self.rooms + 1))
        keys = "\n".join(f"    {key}: {value}" for key, value in self.keys.items())
        hours = "" if self.active is None else f'    active: "{self.active}"\n'
        windows = self.windows or f"TUMBLE(ts, INTERVAL {self.size})"
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
    sql: |
      SELECT room FROM badges GROUP BY room, {windows}
      HAVING {self.aggregate} > {self.threshold}
{hours}{keys}
{self.more}"""  # noqa: S608 -- the language under test
        )
        return path

    def capped(self, windows: int) -> File:
        """Return the file with a cap over the period."""
        caps = f"windows_per_period: {windows}"
        if "{" in self.budget:
            return replace(self, budget=self.budget.replace("{", f"{{{caps}, "))
        return replace(self, budget=f"{self.budget}, contribution: {{{caps}}}")

    def advice(self, folder: Path) -> Advice:
        """Return what is said of its first alarm."""
        alarms = examine(self.write(folder), environ={}).alarms
        assert alarms is not None
        return advise(alarms)[0]


def invoke(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, [str(each) for each in arguments])


def record(path: Path) -> tuple[int, dict[str, Any]]:
    """Return the exit code of a plan, and its one record of advice."""
    result = invoke("plan", path, "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    (found,) = [line for line in lines if line["record"] == "advice"]
    return result.exit_code, found


def written(file: File, way: Mapping[str, Any]) -> File:
    """Return a file with one way to have its alarm written in: keys, windows and a cap.

    Args:
        file: what was asked.
        way: of the adviser's record.
    """
    file = replace(file, keys={**file.keys, **way["write"]})
    if way["windows"]:
        file = replace(file, windows=way["windows"])
    return file.capped(way["windows_per_period"]) if way["windows_per_period"] else file


def planned(file: File, folder: Path) -> tuple[dict[str, Any], ...]:
    """Return the records of a plan: advice on the first alarm, the alarm, and the first budget."""
    result = invoke("plan", file.write(folder), "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    kinds = ("advice", "alarm", "budget")
    return tuple(next(line for line in lines if line["record"] == kind) for kind in kinds)


def changed(file: File, change: dict[str, Any]) -> File:
    """Return a file with one change, and the way of it, written in.

    Args:
        file: what was asked.
        change: of the adviser's record.
    """
    kind, value = change["change"], change["value"]
    file = written(file, change["then"])
    keys = dict(file.keys)
    match kind:
        case "epsilon_max":
            file = replace(file, epsilon_max=value)
        case "window":
            (size,) = re.findall(r"'\d+' [A-Z]+", value)
            file = replace(file, size=size)
        case "active":
            file = replace(file, active=change["active"])
        case "windows_per_period":
            assert change["then"]["windows_per_period"] == int(value)
        case "threshold":  # the first figure that rings
            file = replace(file, threshold=int(value) - 1)
        case "predicates_per_window" | "events_per_cell":
            file = replace(file, budget=re.sub(rf"{kind}: \d+", f"{kind}: {value}", file.budget))
        case "predicates":
            file = replace(file, rooms=int(value))
        case "cells":
            file = replace(file, rooms=int(value))
        case "false_rings":
            keys["false_rings"] = value
        case _:
            assert kind in {"max_fnr", "tolerance"}
    return replace(file, keys=keys)
