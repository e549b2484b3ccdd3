"""What ``tocsin init`` wants to know, and the templates: answers that are there before it asks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final

from accountant.units import PrivacyUnit

__all__ = ["TEMPLATES", "Answers", "Measured"]


_FILE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class Measured(StrEnum):
    """What is compared with the threshold in every window."""

    PEOPLE = "people"
    EVENTS = "events"
    AMOUNT = "amount"


@dataclass(frozen=True, slots=True)
class Answers:
    """All that a template is filled with; public, as the configuration is.

    Args:
        alarm: its name.
        feed: its name.
        topic: of the feed on Kafka.
        bootstrap: ``host:port`` of Kafka.
        time: field with the time of an event.
        unit: field with the id of whom an event belongs to (of the device, where nobody is known).
        numbered: whether those ids are integers.
        group_by: fields whose values are watched, each combination by itself.
        values: of each of them, in order.
        numbered_groups: fields among them whose values are integers.
        measured: what is compared with the threshold.
        amount: field that is added up; read where ``measured`` is an amount.
        clip: what a single amount counts at most, a whole number.
        threshold: the alarm is for more than this.
        baseline: the highest figure of an ordinary window and group, not the average.
        window: length of a window, as ``1h``.
        slide: how far apart sliding windows begin, as ``5m``; "" for windows one after another.
        active: when windows run, as ``Mon-Fri 07:00-22:00``; "" for always.
        timezone: IANA name.
        protects: a person for a period, or one event.
        max_groups: in how many groups a person counts within one window.
        max_events: how many events of a person count within one window and group.
        epsilon: the budget of a period, or of an event.
        period: after which the budget of a person is renewed, as ``1d``.
        max_fnr: how often a true alarm may be missed.
        false_alarms: how many are tolerated, as ``1 per week``.
        max_delay: how long after it is due an alarm may be published, as ``10m``; "" for any time.
        episodes: how many a budget period has to carry; 0 where nobody says.
        since: first day of the history and the made-up events, as ``2025-03-03``.
        until: the day after the last one; "" for the shortest history that shows something.
        whom: what the configuration calls somebody.
    """

    alarm: str
    feed: str
    topic: str
    time: str
    unit: str
    group_by: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    threshold: int
    baseline: int
    window: str
    slide: str = ""
    measured: Measured = Measured.EVENTS
    protects: PrivacyUnit = PrivacyUnit.USER
    epsilon: str = "4"
    active: str = ""
    timezone: str = "UTC"
    bootstrap: str = "localhost:9092"
    numbered: bool = False
    numbered_groups: tuple[str, ...] = ()
    amount: str = ""
    clip: int = 0
    max_groups: int = 1
    max_events: int = 1
    period: str = "1d"
    max_fnr: str = "0.05"
    false_alarms: str = "1 per week"
    max_delay: str = ""
    episodes: int = 0
    since: str = "2025-03-03"
    until: str = ""
    whom: str = "person"

    @property
    def people(self) -> bool:
        """Whether a person is protected, not an event."""
        return self.protects is PrivacyUnit.USER

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Every combination of values, in order."""
        return tuple(product(*self.values))

    @property
    def by_one(self) -> int:
        """How far one unit of privacy moves the figure of one window and group at most."""
        size = self.clip if self.measured is Measured.AMOUNT else 1
        whole = self.measured is not Measured.PEOPLE and self.people
        return size * self.max_events if whole else size

    def values_file(self, field: str) -> str:
        """Return the name of the file that lists values; a field may have any name, it may not."""
        if _FILE.fullmatch(field):
            return f"{field}.txt" if field.endswith("s") else f"{field}s.txt"
        return f"values-{self.group_by.index(field) + 1}.txt"


TEMPLATES: Final = {
    "office": Answers(
        alarm="crowd",
        feed="badges",
        topic="building.badges",
        time="ts",
        unit="person",
        group_by=("room",),
        values=(("lobby", "hall", "lab", "canteen"),),
        measured=Measured.PEOPLE,
        threshold=120,
        baseline=60,
        window="1h",
        active="Mon-Fri 07:00-22:00",
        max_groups=2,
    ),
    "shop": Answers(
        alarm="rush",
        feed="sales",
        topic="shop.sales",
        time="at",
        unit="customer",
        whom="customer",
        group_by=("shop",),
        values=(("north", "south", "east", "west"),),
        measured=Measured.AMOUNT,
        amount="amount",
        clip=200,
        threshold=30_000,
        baseline=12_000,
        window="1d",
        max_groups=2,
        max_events=2,
        period="1w",
    ),
    "sensors": Answers(
        alarm="crush",
        feed="passages",
        topic="building.passages",
        time="ts",
        unit="sensor",
        group_by=("gate",),
        values=(("north", "south", "east", "west"),),
        threshold=200,
        baseline=80,
        window="15m",
        active="Mon-Sun 06:00-22:00",
        protects=PrivacyUnit.EVENT,
        epsilon="1",
        period="",
    ),
    "web": Answers(
        alarm="flood",
        feed="requests",
        topic="web.requests",
        time="at",
        unit="visitor",
        whom="visitor",
        group_by=("endpoint",),
        values=(("/login", "/search", "/cart", "/pay"),),
        threshold=2_000,
        baseline=300,
        window="1h",
        max_groups=2,
        max_events=10,
    ),
}
"""What is watched, by the name of the template: people per room, sales per shop, passages that
sensors without ids count, and requests per endpoint."""
