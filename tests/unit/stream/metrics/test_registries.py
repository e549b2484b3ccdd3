"""The two registries: their names, what the public page may depend on, and their values."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import partial
from operator import attrgetter, itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from accountant.ledger.journal import START, Happened
from accountant.loss.gaussian import Gaussian
from accountant.records import Stand
from stream.events.columns import Drop
from stream.metrics.journal import KINDS
from stream.metrics.partitions import STATES, PartitionFamilies
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

_RELEASED = [decided(), decided("quiet", 1, 0), denied(hour=2), decided(hour=3, alarms=1)]


_FEED, _SOME = st.just("badges"), st.integers(1, 10**6)
_PRIVATE = {
    "events_read": st.tuples(_FEED, _SOME),
    "events_dropped": st.tuples(
        _FEED, st.dictionaries(st.sampled_from(["late", "misrouted", "nan"]), _SOME, min_size=1)
    ),
    "people_counted": st.tuples(st.just(decided().key), _SOME, _SOME),
    "partitions.told": st.tuples(_FEED, st.integers(0, 3), st.sampled_from(STATES), _SOME, _SOME),
    "ledger": st.tuples(st.builds(ledger_status, spent=_SOME.map(MICRO.__mul__))),
    "realised": st.tuples(st.builds(GroupLosses, crowd=st.lists(_SOME, min_size=3, max_size=3))),
    "appended": st.tuples(_FEED, _SOME),
    "journal": st.tuples(st.fixed_dictionaries({"ClockError": st.builds(Happened, _SOME, _SOME)})),
    "stopping": st.just(()),
}
"""Methods that what was read moves, and what they may be given."""
_CALLS = st.one_of([st.tuples(st.just(name), given) for name, given in _PRIVATE.items()])


def _publish(metrics, seconds=None):
    """Publish the same decisions as ever, as late as is said."""
    for decision in _RELEASED:
        fired = [(decision.key, {"room": f"r{n + 1}"}) for n in range(decision.alarm_count)]
        counts = [({"room": f"r{n + 1}"}, n - 1, 1.5) for n in range(3) if decision.reason is None]
        metrics.published(decision, seconds, fired, counts)


def _public_after(life, seconds=None, kind=Metrics):
    """Return what anybody sees after a private life, each step of which the custodian sees."""
    metrics = fresh_metrics(kind)
    metrics.ledger(ledger_status())
    for name, values in life:
        before = page_text(metrics.custodian)
        attrgetter(name)(metrics)(*values)
        assert page_text(metrics.custodian) != before
    _publish(metrics, seconds)
    pages = generate_latest(metrics.public), generate_openmetrics(metrics.public)
    return pages, metrics.readiness.failing()


@settings(max_examples=50)
@given(st.lists(_CALLS, unique_by=itemgetter(0)), st.floats(0, 1e6))
def test_any_private_life_leaves_the_public_page_as_it_is(life, seconds):
    """Reads, drops, lags, spending and timing leave no trace: releases alone do."""
    assert _public_after(life, seconds) == _public_after([])


def _exact(metrics, decision, _, _fired, counts):
    seen = metrics.custodian.get_sample_value("tocsin_events_total", {"feed": "badges"})
    exact = [(group, seen or 0, deviation) for group, _, deviation in counts]
    metrics._public.counts.released(decision.key.query, exact)


_TWINS = {
    "events counted in public": (
        "events_read",
        lambda metrics, _, count: metrics._public.alarms.labels("crowd").inc(count),
    ),
    "public lags": ("ledger", lambda metrics, _: metrics.public.register(metrics.partitions)),
    "exact counts": ("published", _exact),
    "a series that begins with an event": (
        "events_dropped",
        lambda metrics, *_: metrics._public.decisions.labels("crowd", "late"),
    ),
    "readiness that counts": (
        "events_read",
        lambda metrics, _, count: count < 4 and metrics.readiness.answered(KAFKA),
    ),
}
"""In which method a broken twin shows what besides."""
_LIFE = [
    ("events_read", ("badges", 3)),
    ("events_dropped", ("badges", {"late": 1})),
    ("partitions.told", ("badges", 1, Stand.READING, 5, 7)),
]


@pytest.mark.parametrize("leak", _TWINS)
def test_a_public_page_that_depends_on_events_is_caught(leak):
    """Also readiness that does."""
    name, shows = _TWINS[leak]

    def leaky(metrics, *given):
        getattr(Metrics, name)(metrics, *given)
        shows(metrics, *given)

    twin = type("Twin", (Metrics,), {name: leaky})
    assert _public_after(_LIFE, kind=twin) != _public_after([], kind=twin)


def test_every_method_is_known_to_the_tests_above():
    """A new method must be put on one side or the other."""
    parts = {"": Metrics, "partitions.": PartitionFamilies, "readiness.": Readiness}
    methods = {
        f"{part}{name}" for part, kind in parts.items() for name in vars(kind) if name[0] != "_"
    }
    readers = {"partitions.collect", "partitions.moving", "readiness.holds", "readiness.failing"}
    of_services = {f"partitions.{name}" for name in ("begun", "shared_out", "unassigned")}
    assert methods == {*_PRIVATE, *readers, *of_services, "readiness.answered", "published"}


def test_every_series_exists_from_the_start():
    """Publishing changes values, never which series there are; nor do the custodian's counters.

    A counter that begins with its first event shows no increase. No series is of anything else
    than Tocsin: none of the process, the platform or the time of a series.
    """
    metrics = fresh_metrics()
    public, custodian = series_of(metrics.public), series_of(metrics.custodian)
    assert len(public) == 2 * (2 + 1 + 1 + 1 + 3) + (3 + 1) + 3
    metrics.events_read("badges", 1)
    metrics.events_dropped("badges", dict.fromkeys(DROPS, 1))
    metrics.journal(dict.fromkeys([START, *KINDS], Happened(1, 1)))
    assert series_of(metrics.custodian) == custodian
    _publish(metrics, 1.0)
    assert series_of(metrics.public) == public
    for registry in (metrics.public, metrics.custodian):
        for text in (page_text(registry), generate_openmetrics(registry).decode()):
            lines = [line for line in text.splitlines() if line[0] != "#"]
            assert all(line.startswith("tocsin_") and "_created" not in line for line in lines)


def test_public_values_follow_from_configuration_and_decisions():
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


def test_a_budget_of_another_promise_is_not_shown():
    """Its rho is no epsilon, and no delta of the configuration's stands beside it."""
    metrics = fresh_metrics()
    status = ledger_status(spent=3_500_000 * MICRO)
    promise = Gaussian(Fraction(4), Fraction(1, 10**6)).text
    other = replace(status.scopes["user"], scope="feed:other", promise=promise)
    metrics.ledger(replace(status, scopes={**status.scopes, "feed:other": other}))
    assert 'tocsin_budget_spent_epsilon{scope="user"} 3.5' in lines_of(metrics.custodian)
    assert not lines_of(metrics.custodian, "feed:other")


def test_what_the_ledger_says_of_windows_is_shown_as_timestamps():
    """When windows were denied last, by reason, and when the oldest open one is due."""
    metrics, name = fresh_metrics(), "tocsin_denied_timestamp_seconds"
    shown = f'{name}{{alarm="crowd",reason="%s"}} %s'
    assert lines_of(metrics.custodian, name) >= {shown % (reason, 0.0) for reason in DENIALS}
    metrics.ledger(ledger_status(cursor_ms=5 * HOUR_MS, denied_at_ms={"budget": 14_400_250}))
    assert lines_of(metrics.custodian) >= {
        shown % ("budget", 14400.25),
        'tocsin_window_due_timestamp_seconds{alarm="crowd"} 21600.0',
    }


def test_a_removed_alarm_is_shown_no_more():
    """Nobody publishes what it may have left: an alert about that would never end."""
    metrics = fresh_metrics()
    status = ledger_status()
    for removed in (False, True):
        gone = replace(status.queries["crowd"], unpublished=12, removed=removed)
        metrics.ledger(replace(status, queries={"crowd": gone}))
    shown = lines_of(metrics.custodian, "tocsin_unpublished_decisions")
    assert 'tocsin_unpublished_decisions{alarm="crowd"} 0.0' in shown


def test_a_replayed_feed_is_never_late():
    """Windows of a history are decided when they are read: none is due."""
    alarms = two_alarms()
    feed = replace(alarms.feeds["badges"], history=(0, HOUR_MS))
    queries = {name: replace(query, feed=feed) for name, query in alarms.by_name.items()}
    metrics = Metrics(replace(alarms, feeds={"badges": feed}, by_name=queries), PLANS)
    metrics.ledger(ledger_status())
    assert not lines_of(metrics.custodian, "tocsin_window_due_timestamp_seconds{")


def test_a_full_day_is_not_held_against_the_next():
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


def test_the_newest_event_is_by_its_append_time():
    """Records that are read again, or of a partition that is behind, do not move it back."""
    metrics = fresh_metrics()
    for append_ms, shown in ((0, "0.0"), (5_000, "5.0"), (9_500, "9.5"), (4_000, "9.5")):
        metrics.appended("badges", append_ms)
        (line,) = lines_of(metrics.custodian, "tocsin_last_event_timestamp_seconds")
        assert line.endswith(f'{{feed="badges"}} {shown}')


def test_the_reasons_are_those_of_the_pages():
    """Each reason of a denial and of a drop has its row where it is explained, and no other has."""
    page = (ROOT / "docs/reference/outcomes.md").read_text()
    for head, reasons in (("What it depends on", DENIALS), ("What is wrong", DROPS)):
        table = page[page.index(f"| Reason | {head}") :].split("\n\n")[0]
        first = "".join(row.split("|")[1] for row in table.splitlines())
        assert sorted(re.findall(r"`(\w+)`", first)) == list(reasons)
    assert {drop.value for drop in Drop} <= set(DROPS)


def test_a_worker_is_ready_while_all_that_it_needs_answers():
    """Nothing has answered at first; an answer is proof for a while; a held partition is none."""
    now_s = [0.0]
    metrics = fresh_metrics(monotonic_s=lambda: now_s[0])
    tell = partial(metrics.partitions.told, "badges")

    def expect(*failing):
        assert metrics.readiness.failing() == [*failing]
        lines = {f'tocsin_ready{{check="{one}"}} {float(one not in failing)}' for one in CHECKS}
        assert lines_of(metrics.custodian, "tocsin_ready{") == lines

    expect(KAFKA, LEDGER, PARTITIONS)
    metrics.readiness.answered(KAFKA)
    metrics.ledger(ledger_status())
    expect(PARTITIONS)  # what is sent now may lie before where it reads
    metrics.partitions.shared_out()
    expect()
    for place, stand, failing in (
        (0, Stand.READING, []),
        (0, Stand.CORRUPT, [PARTITIONS]),
        (0, Stand.END, []),
        (1, Stand.TRANSACTION, [PARTITIONS]),
    ):
        tell(place, stand, 5)
        expect(*failing)
    metrics.partitions.unassigned("badges", 1)
    now_s[0] = FRESH_S
    tell(0, Stand.END, 5)
    expect()
    now_s[0] += 1
    expect(KAFKA, LEDGER)
