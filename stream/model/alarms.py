"""One whole configuration, checked: its alarms, the budget they share, where it runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from accountant.errors import ConfigError
from accountant.units import PrivacyUnit, floor_loss_units
from operators.registry import mechanism_of
from stream.logs.settings import LogSettings
from stream.model.boards import Board

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from accountant.loss.gaussian import Gaussian
    from accountant.units import Contribution
    from stream.model.alarm import Alarm
    from stream.model.feeds import Feed
    from stream.model.notifications import NotifySettings
    from stream.windows.calendars import Calendar
    from stream.windows.periods import Periods

__all__ = [
    "Alarms",
    "Budget",
    "KafkaSettings",
    "Overrun",
    "PromiseKind",
    "Settings",
    "cells_per_unit",
    "each_for_itself",
    "has_runs",
    "require_kafka",
    "scope_of",
    "windows_cap",
]


class Overrun(StrEnum):
    """What becomes of a file that asks for more windows than its budget holds.

    Its windows are denied as they come, or it is refused before it is run.
    """

    DENY = "deny"
    REFUSE = "refuse"


class PromiseKind(StrEnum):
    """What a wall bounds: a pure epsilon, or (epsilon, delta) through Gaussian privacy."""

    PURE = "pure"
    GDP = "gdp"


@dataclass(frozen=True, slots=True)
class Budget:
    """The wall.

    Args:
        unit: what a neighbour differs in.
        epsilon_max: never passed; under a Gaussian promise but for its delta.
        periods: the budget periods (one for ``lifetime``); ``None`` under unit ``event``.
        contribution: caps under unit ``user``; one of each, of any number of windows, without.
        on_overrun: whether denied windows are wanted; changes no decision.
        gaussian: what a Gaussian budget promises; ``None`` where it is a pure epsilon.
    """

    unit: PrivacyUnit
    epsilon_max: Fraction
    periods: Periods | None
    contribution: Contribution
    on_overrun: Overrun = Overrun.REFUSE
    gaussian: Gaussian | None = None

    @property
    def calendar(self) -> Calendar | None:
        """Of its periods; ``None`` under unit ``event``, and for a lifetime without end."""
        return self.periods.calendar if self.periods else None

    @property
    def wall_units(self) -> int:
        """The wall in loss units: of epsilon, or under a Gaussian promise of ``mu^2 / 2``."""
        return self.units_of(self.epsilon_max)

    def units_of(self, epsilon: Fraction) -> int:
        """Return what an epsilon, of this kind of promise, is in loss units; rounded down."""
        if self.gaussian is None or not epsilon:
            return floor_loss_units(epsilon)
        return self.gaussian.units_of(epsilon)

    def touched(self, start_ms: int, end_ms: int) -> tuple[int, ...]:
        """Return the starts of the periods that ``[start_ms, end_ms)`` touches; none without."""
        return self.periods.touched(start_ms, end_ms) if self.periods else ()

    def share_units(self, share: Fraction) -> int:
        """Return a part of the wall in loss units, rounded down."""
        if self.gaussian is None:
            return floor_loss_units(share * self.epsilon_max)
        return int(share * self.wall_units)


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """How to reach Kafka, and the names of Tocsin's own topics.

    Args:
        bootstrap: ``host:port[,host:port]``.
        group: prefix of the consumer groups.
        alarms_topic: alarms go here.
        decisions_topic: one record per (alarm, window).
        wakeup_topic: internal; says that a partial was stored.
        ownership_topic: internal; says which ledger has claimed a feed, and what left it.
        security: client settings passed through (``security_protocol``, ``sasl_mechanism``, ...),
            secrets among them.
        session_timeout_ms: of both consumer groups.
        counts_topic: noisy counts, of alarms that release them.
    """

    bootstrap: str
    group: str
    alarms_topic: str
    decisions_topic: str
    wakeup_topic: str
    ownership_topic: str
    security: Mapping[str, str] = field(repr=False)
    session_timeout_ms: int = 30_000
    counts_topic: str = "tocsin.counts"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the worker keeps its ledger and shows its metrics.

    Args:
        ledger_url: SQLAlchemy URL (SQLite file or PostgreSQL).
        public_address: ``(host, port)`` of the public metrics.
        custodian_address: ``(host, port)`` of the custodian's metrics.
        custodian_token: bearer token; required when bound beyond loopback.
        publish_interval_ms: alarms leave on multiples of this.
        log: which lines it writes, and how.
    """

    ledger_url: str = field(repr=False)
    public_address: tuple[str, int]
    custodian_address: tuple[str, int]
    custodian_token: str | None = field(default=None, repr=False)
    publish_interval_ms: int = 1_000
    log: LogSettings = field(default_factory=LogSettings)

    @property
    def ledger_place(self) -> str:
        """Where the ledger lies, without user and password."""
        if self.ledger_url.startswith("sqlite:///"):
            return self.ledger_url.removeprefix("sqlite:///")
        parts = urlsplit(self.ledger_url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@dataclass(frozen=True, slots=True)
class Alarms:
    """One whole configuration file, checked.

    Args:
        file: as the user named it.
        feeds: by name.
        by_name: alarms, in the order of the file.
        budget: the limit they share.
        kafka: ``None`` when only replays are configured.
        settings: ledger, metrics, publish interval.
        timezone: IANA name of the zone in which people are told times.
        panes: what no alarm is and windows of alarms are decided from, by id: each is counted,
            charged and settled as an alarm is.
        open: alarms with requirements that no lock resolves yet, by id: nothing runs while there
            are any.
        notify: where `tocsin notify` brings alarms; ``None`` where the file does not say.
        board: where `tocsin board` shows them.
    """

    file: str
    feeds: Mapping[str, Feed]
    by_name: Mapping[str, Alarm]
    budget: Budget
    kafka: KafkaSettings | None
    settings: Settings
    timezone: str = "UTC"
    open: Mapping[str, Alarm] = field(default_factory=dict)
    notify: NotifySettings | None = None
    board: Board = field(default_factory=Board)
    panes: Mapping[str, Alarm] = field(default_factory=dict)

    @property
    def running(self) -> Mapping[str, Alarm]:
        """All that the ledger knows of: alarms, in the order of the file, and their panes."""
        return {**self.by_name, **self.panes} if self.panes else self.by_name


def each_for_itself(alarms: Alarms) -> Alarms:
    """Return the configuration for who counts the windows of alarms exactly: without panes."""
    queries = {name: replace(alarm, panes="") for name, alarm in alarms.by_name.items()}
    return replace(alarms, by_name=queries, panes={})


def scope_of(alarm: Alarm, alarms: Alarms) -> str:
    """Return the name of the budget an alarm draws on.

    Under unit ``event`` an event lives in one feed; under unit ``user`` a person's cells add up
    over every feed of the file.
    """
    if alarms.budget.unit is PrivacyUnit.EVENT:
        return f"feed:{alarm.feed.name}"
    return "user"


def has_runs(alarm: Alarm, budget: Budget) -> bool:
    """Tell whether an alarm is charged by runs of windows, each once.

    Under unit ``event`` nothing is shared between windows: each is charged as if it were a run.
    """
    return budget.unit is PrivacyUnit.USER and mechanism_of(alarm.mechanism).run is not None


def cells_per_unit(alarm: Alarm, budget: Budget) -> int:
    """Return how many cells of one window one privacy unit can reach."""
    if budget.unit is PrivacyUnit.EVENT or has_runs(alarm, budget):
        return 1  # a run is charged for all its questions at once, whoever is in how many of them
    return min(budget.contribution.predicates_per_window, len(alarm.domain))


def windows_cap(alarm: Alarm, budget: Budget) -> int | None:
    """Return in how many windows of an alarm one person counts in a period; ``None`` for all.

    A run is charged to everybody, whoever is in how many of its windows. Windows over panes count
    nobody: their panes do, each as a window.
    """
    if has_runs(alarm, budget) or alarm.panes:
        return None
    return budget.contribution.windows_per_period


def require_kafka(
    alarms: Alarms,
    hint: str = "add `kafka: {bootstrap: host:port}`",
) -> KafkaSettings:
    """Return the Kafka settings of a configuration.

    Args:
        alarms: the configuration.
        hint: what to do where it has none.

    Raises:
        ConfigError: it has none.
    """
    if alarms.kafka is None:
        raise ConfigError(
            "this configuration has no kafka section",
            file=alarms.file,
            line=1,
            column=1,
            hint=hint,
        )
    return alarms.kafka
