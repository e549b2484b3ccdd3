"""Configurations that tests of plans write: one feed, some alarms, one budget."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- a dataclass field
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from stream.config.loading import load
from stream.planning.budget import budget_plan
from stream.planning.detection import DetectionCurve
from stream.planning.playing import played
from stream.planning.totals import totals
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.schedule import Schedule
from tests.support.keys import nested

if TYPE_CHECKING:
    from pathlib import Path

    from accountant.budget.plan import ScopePlan
    from stream.model.alarm import Alarm as Query
    from stream.model.alarms import Alarms
    from stream.planning.playing import Played, Refusal

HEAD = """\
timezone: {timezone}
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [lab, hall, attic]}}
      floor: {{type: integer, domain: [1, 2]}}
      paid: {{type: float, clip: [0, 5], resolution: "0.5"}}
      ts: timestamp
{history}
budget: {{{budget}}}
alarms:
"""


@dataclass(frozen=True)
class Alarm:
    """One alarm of a file under test; of a band, without a tolerance."""

    window: str = "TUMBLE(ts, INTERVAL '1' HOUR)"
    where: str = ""
    having: str = "COUNT(*) > 300"
    group: str = "room, "
    max_fnr: str = "0.05"
    tolerance: str = "1"
    extra: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return it as YAML."""
        lines = [
            f"  {name}:",
            "    sql: |",
            f"      SELECT {self.group.rstrip(', ') or 1} FROM badges {self.where}",  # noqa: S608 -- the language under test
            f"      GROUP BY {self.group}{self.window}",
            f"      HAVING {self.having}",
            f"    max_fnr: {self.max_fnr}",
            *([f"    tolerance: {self.tolerance}"] if self.tolerance else []),
            *(f"    {line}" for line in nested(f"{k}: {v}" for k, v in self.extra.items())),
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Config:
    """A file under test."""

    alarms: Mapping[str, Alarm]
    unit: str = "user"
    epsilon_max: str = "4"
    period: str = "1d"
    history: str = ""
    timezone: str = "UTC"
    caps: str = ""

    def write(self, folder: Path) -> Path:
        """Write it and return its path."""
        budget = f'privacy_unit: {self.unit}, epsilon_max: "{self.epsilon_max}"'
        if self.unit == "user":
            budget += f", period: {self.period}{self.caps}"
        history = f"    history: {self.history}" if self.history else ""
        text = HEAD.format(budget=budget, history=history, timezone=self.timezone)
        path = folder / "alarms.yaml"
        path.write_text(text + "".join(one.text(name) for name, one in self.alarms.items()))
        return path

    def load(self, folder: Path) -> Alarms:
        """Write it and return what it means."""
        return load(self.write(folder), environ={})

    def look(self, folder: Path) -> Looked:
        """Write it and look ahead for its one budget."""
        (one,) = outlook(self.load(folder))
        return one


@dataclass(frozen=True)
class Looked:
    """What becomes of one budget."""

    plan: ScopePlan
    played: Played
    totals: list[tuple[int, int]] | None

    @property
    def refusal(self) -> Refusal | None:
        """The first window that is refused."""
        return self.played.refused


def outlook(alarms: Alarms) -> tuple[Looked, ...]:
    """Look ahead for every budget of a configuration, in order."""
    return tuple(
        Looked(plan, played(plan, alarms), totals(plan, alarms))
        for plan in budget_plan(alarms).scopes
    )


def fires_at(
    query: Query, *counts: Fraction | float, cell: int | None = None
) -> tuple[float, ...] | None:
    """Return how likely a group, of the median threshold unless said, fires at each of counts."""
    law = DetectionCurve.of(query)
    return law.at(law.median_cell if cell is None else cell, list(map(Fraction, counts)))


calendars = st.one_of(
    st.builds(
        lambda size, step, schedule: FixedCalendar(size * 1_800_000, step * 1_800_000, schedule),
        st.integers(1, 60),
        st.integers(1, 60),
        st.sampled_from(
            [
                None,
                Schedule.parse("Mon-Fri 07:00-22:00", "Europe/Berlin"),
                Schedule.parse("Sat 22:00-06:00, Mon-Tue 00:00-24:00", "America/New_York"),
                Schedule.parse("Mon-Sun 00:00-24:00", "UTC"),
            ]
        ),
    ),
    st.builds(
        lambda size, step, schedule: LocalCalendar(size, step, "Europe/Berlin", schedule),
        st.integers(1, 9),
        st.integers(1, 9),
        st.sampled_from([None, Schedule.parse("Mon-Fri 00:00-24:00", "Europe/Berlin")]),
    ),
)
