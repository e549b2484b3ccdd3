"""Configurations that tests of plans write: one feed, some alarms, one budget."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- a dataclass field
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from stream.config.loading import examine
from stream.planning.outlook import outlook
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stream.model.alarms import Alarms
    from stream.planning.outlook import ScopeOutlook

__all__ = ["Alarm", "Config", "calendars", "due_code"]

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
      paid: {{type: float, clip: [0, 5], granule: "0.5"}}
      ts: timestamp
{history}
budget: {{{budget}}}
alarms:
"""


@dataclass(frozen=True)
class Alarm:
    """One alarm of a file under test."""

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
            f"    tolerance: {self.tolerance}",
            *(f"    {key}: {value}" for key, value in self.extra.items()),
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
        budget = f'unit: {self.unit}, epsilon_max: "{self.epsilon_max}"'
        if self.unit == "user":
            budget += f", period: {self.period}{self.caps}"
        history = f"    history: {self.history}" if self.history else ""
        text = HEAD.format(budget=budget, history=history, timezone=self.timezone)
        path = folder / "alarms.yaml"
        path.write_text(text + "".join(one.text(name) for name, one in self.alarms.items()))
        return path

    def load(self, folder: Path) -> Alarms:
        """Write it and return what it means."""
        report = examine(self.write(folder), environ={})
        assert report.alarms is not None, [str(error) for error in report.errors]
        return report.alarms

    def look(self, folder: Path) -> ScopeOutlook:
        """Write it and look ahead for its one budget."""
        (one,) = outlook(self.load(folder))
        return one


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


def due_code(lines: Sequence[Mapping[str, Any]]) -> int:
    """Return the exit code that ``tocsin plan FILE --json`` owes what it printed.

    3 where an alarm gets fewer windows than it asks for, else 0: no alarm is useless, and none of
    the denials is wanted.
    """
    for budget in (line for line in lines if line["record"] == "budget"):
        if budget["fits"] and budget["worst"] is not None:
            continue
        if budget["played"] is None and budget["first_refusal"] is not None:
            return 3
        for line in lines:
            if line["record"] != "alarm" or line["budget"] != budget["budget"]:
                continue
            asked, granted = line["windows_asked"], line["windows_granted"]
            if line["windows_fit"] == 0 or (asked is not None and granted < asked):
                return 3
    return 0
