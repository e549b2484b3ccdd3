"""What ``tocsin init`` wants to know, and the templates: answers that are there before it asks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
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
    """All that a draft is made from; public, as the configuration is.

    Args:
        alarm: its name.
        feed: its name.
        topic: of the feed on Kafka.
        bootstrap: ``host:port`` of Kafka.
        codec: of the topic's messages, ``json`` or ``arrow``.
        time: field with the time of an event.
        unit: field with the id of whom an event belongs to (of the device, where nobody is known).
        numbered: whether those ids are integers.
        per: field whose values are watched, each by itself.
        counted_per: whether the values of ``per`` are integers.
        values: of ``per``, in order.
        measured: what is compared with the threshold.
        amount: field that is added up; read where ``measured`` is an amount.
        largest: what a single amount counts at most, a whole number.
        threshold: the alarm is for more than this.
        usual: what is there on an ordinary day, per window and value.
        window: length of a window, as ``1h``.
        active: when windows run, as ``Mon-Fri 07:00-22:00``; "" for always.
        timezone: IANA name.
        protects: a person for a period, or one event.
        places: in how many values of ``per`` a person counts within one window.
        times: how many events of a person count within one window and value.
        epsilon: the budget of a period, or of an event.
        period: after which the budget of a person is renewed, as ``1d``.
        max_fnr: how often a true alarm may be missed.
        since: first day of the history and the made-up events, as ``2025-03-03``.
        until: the day after the last one; "" for the shortest history that shows something.
        whom: what the configuration calls somebody.
    """

    alarm: str
    feed: str
    topic: str
    time: str
    unit: str
    per: str
    values: tuple[str, ...]
    threshold: int
    usual: int
    window: str
    measured: Measured = Measured.EVENTS
    protects: PrivacyUnit = PrivacyUnit.USER
    epsilon: str = "4"
    active: str = ""
    timezone: str = "UTC"
    bootstrap: str = "localhost:9092"
    codec: str = "json"
    numbered: bool = False
    counted_per: bool = False
    amount: str = ""
    largest: int = 0
    places: int = 1
    times: int = 1
    period: str = "1d"
    max_fnr: str = "0.05"
    since: str = "2025-03-03"
    until: str = ""
    whom: str = "person"

    @property
    def people(self) -> bool:
        """Whether a person is protected, not an event."""
        return self.protects is PrivacyUnit.USER

    @property
    def values_file(self) -> str:
        """Name of the file that lists the values; a field may have any name, a file may not."""
        return f"{self.per}s.txt" if _FILE.fullmatch(self.per) else "values.txt"

    @property
    def by_one(self) -> int:
        """How far one unit of privacy moves the figure of one window and value at most."""
        size = self.largest if self.measured is Measured.AMOUNT else 1
        return size if self.measured is Measured.PEOPLE or not self.people else size * self.times


TEMPLATES: Final = {
    "office": Answers(
        alarm="crowd",
        feed="badges",
        topic="building.badges",
        time="ts",
        unit="person",
        per="room",
        values=("lobby", "hall", "lab", "canteen"),
        measured=Measured.PEOPLE,
        threshold=120,
        usual=60,
        window="1h",
        active="Mon-Fri 07:00-22:00",
        places=2,
    ),
    "shop": Answers(
        alarm="rush",
        feed="sales",
        topic="shop.sales",
        time="at",
        unit="customer",
        whom="customer",
        per="shop",
        values=("north", "south", "east", "west"),
        measured=Measured.AMOUNT,
        amount="amount",
        largest=200,
        threshold=30_000,
        usual=12_000,
        window="1d",
        places=2,
        times=2,
        period="1w",
    ),
    "sensors": Answers(
        alarm="crush",
        feed="passages",
        topic="building.passages",
        time="ts",
        unit="sensor",
        per="gate",
        values=("north", "south", "east", "west"),
        threshold=200,
        usual=80,
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
        per="endpoint",
        values=("/login", "/search", "/cart", "/pay"),
        threshold=2_000,
        usual=300,
        window="1h",
        places=2,
        times=10,
    ),
}
"""What is watched, by the name of the template: people per room, sales per shop, passages that
sensors without ids count, and requests per endpoint."""
