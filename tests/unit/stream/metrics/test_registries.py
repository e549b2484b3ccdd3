"""The two registries: their names, what the public page may depend on, and their values."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import Counter, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from accountant.ledger.journal import START, Happened
from accountant.loss.gaussian import Gaussian
from accountant.records import Stand
from stream.events.columns import Drop
from stream.metrics.journal import KINDS
from stream.metrics.partitions import PartitionFamilies
from stream.metrics.readiness import CHECKS, FRESH_S, KAFKA, LEDGER, PARTITIONS, Readiness
from stream.metrics.registries import Metrics
from stream.model.reasons import DENIALS, DROPS
from stream.windows.calendars import FixedCalendar
from stream.windows.periods import Periods
from tests.support.measured import (
    HOUR_MS,
    MICRO,
    PLANS,
    GroupLosses,
    decided,
    denied,
    fresh_metrics,
    ledger_status,
    lines_of,
    page_text,
    series_of,
    two_alarms,
)
from tests.support.tree import ROOT


def test_nothing_but_tocsin_series_is_shown() -> None:
    """No process, platform or creation-time series reaches either page."""
    metrics = fresh_metrics()
    _run(metrics, reads=[3], drops={"late": 1}, seconds=[0.1])
    for registry in (metrics.public, metrics.custodian):
        for text in (page_text(registry), generate_openmetrics(registry).decode()):
            lines = [line for line in text.splitlines() if line[0] != "#"]
            assert all(line.startswith("tocsin_") for line in lines)
            assert "_created" not in text


_RELEASED = [decided(), decided("quiet", 1, 0), denied(hour=2), decided(hour=3, alarms=1)]


def _run(
    metrics: Metrics, *, reads: list[int], drops: dict[str, int], seconds: list[float]
) -> None:
    """Go through one input's private life, then publish the same decisions as every other."""
    for count in reads:
        metrics.events_read("badges", count)
        stand = Stand.READING if count else Stand.END
        metrics.partitions.told("badges", count % 4, stand, count, count)
    metrics.events_dropped("badges", drops)
    metrics.ledger(ledger_status(spent=len(reads) * MICRO))
    metrics.realised(GroupLosses(crowd=[len(reads), sum(reads) + 1, 0], quiet=[len(drops)] * 3))
    metrics.appended("badges", sum(reads))
    metrics.journal({"ClockError": Happened(len(reads), sum(reads))})
    for decision in _RELEASED:
        rang = [(decision.key, {"room": f"r{n + 1}"}) for n in range(decision.alarm_count)]
        counts = [({"room": f"r{n + 1}"}, n - 1, 1.5) for n in range(3) if decision.reason is None]
        metrics.published(decision, seconds[0] if seconds else None, rang, counts)


def _check_public_pages_agree(kind: type[Metrics]) -> None:
    """Check that two neighbouring inputs that lead to the same decisions show the same page."""
    one, other = fresh_metrics(kind), fresh_metrics(kind)
    _run(one, reads=[500, 3], drops={}, seconds=[0.001])
    _run(other, reads=[500, 4], drops={"late": 1, "misrouted": 2}, seconds=[2.5, 0.1])
    assert generate_latest(one.public) == generate_latest(other.public)
    assert generate_openmetrics(one.public) == generate_openmetrics(other.public)
    assert one.readiness.failing() == other.readiness.failing()
    assert generate_latest(one.custodian) != generate_latest(other.custodian)


def test_neighbouring_inputs_with_the_same_decisions_show_the_same_public_bytes() -> None:
    """Reads, drops, lags, spending and timing leave no trace on the public page."""
    _check_public_pages_agree(Metrics)


@settings(max_examples=30)
@given(
    reads=st.lists(st.integers(0, 10**6), max_size=4),
    drops=st.dictionaries(st.sampled_from(["late", "misrouted", "nan"]), st.integers(0, 99)),
    seconds=st.lists(st.floats(0, 1e6), max_size=3),
)
def test_any_private_life_leaves_the_public_page_as_it_is(
    reads: list[int], drops: dict[str, int], seconds: list[float]
) -> None:
    """Whatever was read and however long it took, the page follows from what was published."""
    metrics, quiet = fresh_metrics(), fresh_metrics()
    _run(metrics, reads=reads, drops=drops, seconds=seconds)
    _run(quiet, reads=[], drops={}, seconds=[])
    assert generate_latest(metrics.public) == generate_latest(quiet.public)
    assert metrics.readiness.failing() == quiet.readiness.failing()


class _Leaky(Metrics):
    """Broken twin: counts events in public."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._leak = Counter("tocsin_leak_total", "Events.", registry=self.public)

    def events_read(self, feed: str, count: int) -> None:
        super().events_read(feed, count)
        self._leak.inc(count)


class _Places(Metrics):
    """Broken twin: lags and places of partitions are public."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.public.register(self.partitions)


class _Exact(Metrics):
    """Broken twin: released counts are of what was read."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._seen = 0

    def events_read(self, feed: str, count: int) -> None:
        super().events_read(feed, count)
        self._seen += count

    def published(
        self, decision: Any, window_close_to_alarm_s: Any, rang: Any = (), counts: Any = ()
    ) -> None:
        exact = [(group, self._seen, deviation) for group, _, deviation in counts]
        super().published(decision, window_close_to_alarm_s, rang, exact)


class _LateSeries(Metrics):
    """Broken twin: a public series appears once an event was dropped."""

    def events_dropped(self, feed: str, drops: Any) -> None:
        super().events_dropped(feed, drops)
        for reason in drops:
            self._public.decisions.labels("crowd", reason)


class _Behind(Metrics):
    """Broken twin: Kafka is said to answer once few events were read."""

    def events_read(self, feed: str, count: int) -> None:
        super().events_read(feed, count)
        if count < 4:
            self.readiness.answered(KAFKA)


@pytest.mark.parametrize("twin", [_Leaky, _Places, _Exact, _LateSeries, _Behind])
def test_a_public_page_that_depends_on_events_is_caught(twin: type[Metrics]) -> None:
    """Likewise a public counter of events, a series that appears late, readiness that counts."""
    with pytest.raises(AssertionError):
        _check_public_pages_agree(twin)


_PRIVATE_CALLS: dict[str, tuple[Any, ...]] = {
    "events_read": ("badges", 5),
    "events_dropped": ("badges", {"late": 1}),
    "people_counted": (decided().key, 3, 1),
    "partitions.told": ("badges", 0, Stand.TRANSACTION, 5),
    "partitions.shared_out": (),
    "readiness.answered": (KAFKA,),
    "ledger": (ledger_status(spent=5),),
    "realised": (GroupLosses(),),
    "appended": ("badges", 1_000),
    "stopping": (),
    "journal": ({"start": Happened(1, 1_000)},),
}


@pytest.mark.parametrize("name", sorted(_PRIVATE_CALLS))
def test_only_published_moves_public_series(name: str) -> None:
    """Every other public method moves the custodian's page and leaves the public one alone."""
    metrics = fresh_metrics()
    public, custodian = page_text(metrics.public), page_text(metrics.custodian)
    attrgetter(name)(metrics)(*_PRIVATE_CALLS[name])
    assert page_text(metrics.public) == public
    assert page_text(metrics.custodian) != custodian


def test_every_method_is_known_to_the_test_above() -> None:
    """A new method must be put on one side or the other."""
    parts = {"": Metrics, "partitions.": PartitionFamilies, "readiness.": Readiness}
    methods = {f"{part}{name}" for part, kind in parts.items() for name in vars(kind)}
    readers = {f"partitions.{name}" for name in ("collect", "moving")}
    readers |= {f"readiness.{name}" for name in ("holds", "failing")}
    assert {name for name in methods if "_" not in {name[0], name.partition(".")[2][:1]}} == {
        *_PRIVATE_CALLS,
        *readers,
        "partitions.begun",
        "partitions.unassigned",
        "published",
    }


def test_every_public_series_exists_from_the_start() -> None:
    """Publishing changes values, never the set of series."""
    metrics = fresh_metrics()
    before = series_of(metrics.public)
    _run(metrics, reads=[1], drops={"late": 2}, seconds=[1.0])
    assert series_of(metrics.public) == before
    assert len(before) == 2 * (2 + 1 + 1 + 1 + 3) + (3 + 1) + 3


def test_public_values_follow_from_configuration_and_decisions() -> None:
    """Plans and the wall come from configuration; totals and the last window from releases."""
    metrics = fresh_metrics()
    for decision in _RELEASED:
        metrics.published(decision, None)
    assert lines_of(metrics.public) >= {
        'tocsin_plan_epsilon{alarm="crowd"} 1.386295',
        "tocsin_budget_epsilon_max 4.0",
        'tocsin_decisions_total{alarm="crowd",outcome="decided"} 2.0',
        'tocsin_decisions_total{alarm="crowd",outcome="denied"} 1.0',
        'tocsin_alarms_total{alarm="crowd"} 3.0',
        'tocsin_alarms_total{alarm="quiet"} 0.0',
        'tocsin_window_end_timestamp_seconds{alarm="crowd"} 10800.0',
    }


def test_a_budget_of_another_promise_is_not_shown() -> None:
    """Its rho is no epsilon, and no delta of the configuration's stands beside it."""
    metrics = fresh_metrics()
    status = ledger_status(spent=3_500_000 * MICRO)
    promise = Gaussian(Fraction(4), Fraction(1, 10**6)).text
    other = replace(status.scopes["user"], scope="feed:other", promise=promise)
    metrics.ledger(replace(status, scopes={**status.scopes, "feed:other": other}))
    assert 'tocsin_budget_spent_epsilon{scope="user"} 3.5' in lines_of(metrics.custodian)
    assert not lines_of(metrics.custodian, "feed:other")


def test_what_the_ledger_says_of_windows_is_shown_as_timestamps() -> None:
    """When windows were denied last, by reason, and when the oldest open one is due."""
    metrics, name = fresh_metrics(), "tocsin_denied_timestamp_seconds"
    shown = f'{name}{{alarm="crowd",reason="%s"}} %s'
    assert lines_of(metrics.custodian, name) >= {shown % (reason, 0.0) for reason in DENIALS}
    metrics.ledger(ledger_status(cursor_ms=5 * HOUR_MS, denied_at_ms={"budget": 14_400_250}))
    assert lines_of(metrics.custodian) >= {
        shown % ("budget", 14400.25),
        'tocsin_window_due_timestamp_seconds{alarm="crowd"} 21600.0',
    }


def test_a_replayed_feed_is_never_late() -> None:
    """Windows of a history are decided when they are read: none is due."""
    alarms = two_alarms()
    feed = replace(alarms.feeds["badges"], history=(0, HOUR_MS))
    queries = {name: replace(query, feed=feed) for name, query in alarms.by_name.items()}
    metrics = Metrics(replace(alarms, feeds={"badges": feed}, by_name=queries), PLANS)
    metrics.ledger(ledger_status())
    assert not lines_of(metrics.custodian, "tocsin_window_due_timestamp_seconds{")


def test_a_full_day_is_not_held_against_the_next() -> None:
    """The fullest period stays what it is; what is shown for now is that of now."""
    now_s = [0.0]
    days = Periods(FixedCalendar(24 * HOUR_MS, 24 * HOUR_MS))
    metrics = fresh_metrics(periods=days, clock_s=lambda: now_s[0])
    full = 4_000_000 * MICRO
    status = ledger_status(spent=full, periods={0: full, 24 * HOUR_MS: 1_500_000 * MICRO})
    for day, spent in enumerate(("4.0", "1.5", "0.0")):
        now_s[0] = day * 86_400.0 + 7_200
        metrics.ledger(status)
        assert lines_of(metrics.custodian, "spent_epsilon{") == {
            f'tocsin_budget_period_spent_epsilon{{scope="user"}} {spent}',
            'tocsin_budget_spent_epsilon{scope="user"} 4.0',
        }


def test_the_newest_event_is_by_its_append_time() -> None:
    """Records that are read again, or of a partition that is behind, do not move it back."""
    metrics = fresh_metrics()
    for append_ms, shown in ((0, "0.0"), (5_000, "5.0"), (9_500, "9.5"), (4_000, "9.5")):
        metrics.appended("badges", append_ms)
        (line,) = lines_of(metrics.custodian, "tocsin_last_event_timestamp_seconds")
        assert line.endswith(f'{{feed="badges"}} {shown}')


def test_every_label_of_the_custodian_is_there_from_the_start() -> None:
    """A counter that begins with its first event shows no increase; gauges of alarms likewise."""
    metrics = fresh_metrics()

    before = series_of(metrics.custodian)
    metrics.events_read("badges", 1)
    metrics.events_dropped("badges", dict.fromkeys(DROPS, 1))
    metrics.journal(dict.fromkeys([START, *KINDS], Happened(1, 1)))
    assert series_of(metrics.custodian) == before


def test_the_reasons_are_those_of_the_pages() -> None:
    """Each reason of a denial and of a drop has its row where it is explained, and no other has."""
    page = (ROOT / "docs/reference/outcomes.md").read_text()
    for head, reasons in (("What it depends on", DENIALS), ("What is wrong", DROPS)):
        table = page[page.index(f"| Reason | {head}") :].split("\n\n")[0]
        first = "".join(row.split("|")[1] for row in table.splitlines())
        assert sorted(re.findall(r"`(\w+)`", first)) == list(reasons)
    assert {drop.value for drop in Drop} <= set(DROPS)


def test_a_worker_is_ready_while_all_that_it_needs_answers() -> None:
    """Nothing has answered at first; an answer is proof for a while; a held partition is none."""
    now_s = [0.0]
    metrics = fresh_metrics(monotonic_s=lambda: now_s[0])

    def failing() -> list[str]:
        found = metrics.readiness.failing()
        assert lines_of(metrics.custodian, "tocsin_ready{") == {
            f'tocsin_ready{{check="{check}"}} {float(check not in found)}' for check in CHECKS
        }
        return found

    assert failing() == [KAFKA, LEDGER, PARTITIONS]
    metrics.readiness.answered(KAFKA)
    metrics.ledger(ledger_status())
    assert failing() == [PARTITIONS]  # what is sent now may lie before where it reads
    metrics.partitions.shared_out()
    assert failing() == []
    for place, stand, missing in (
        (0, Stand.READING, []),
        (0, Stand.CORRUPT, [PARTITIONS]),
        (0, Stand.END, []),
        (1, Stand.TRANSACTION, [PARTITIONS]),
    ):
        metrics.partitions.told("badges", place, stand, 5)
        assert failing() == missing
    metrics.partitions.unassigned("badges", 1)
    assert failing() == []
    now_s[0] = FRESH_S + 1
    assert failing() == [KAFKA, LEDGER, PARTITIONS]
