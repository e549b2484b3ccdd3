"""The two registries: their names, what the public page may depend on, and their values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import Counter, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from accountant.errors import ClockError, TocsinError
from stream.metrics.losses import LossFamilies
from stream.metrics.registries import Metrics
from tests.support.measured import (
    MICRO,
    PredicateLosses,
    decided,
    denied,
    fresh_metrics,
    ledger_status,
    page_text,
    sample_value,
)
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable


_DOCS = ROOT / "docs" / "custodian" / "metrics.md"


def _documented() -> set[tuple[str, str, str, tuple[str, ...]]]:
    table = re.findall(
        r"^\| `(tocsin_\w+)` \|([^|]*)\|([^|]*)\|([^|]*)\|", _DOCS.read_text(), re.MULTILINE
    )
    return {
        (name, seen_by.strip(), kind.strip(), tuple(re.findall(r"`(\w+)`", labels)))
        for name, seen_by, kind, labels in table
    }


def _registered(metrics: Metrics) -> set[tuple[str, str, str, tuple[str, ...]]]:
    found = set()
    registries = {"public": metrics.public, "custodian": metrics.custodian}
    for seen_by, registry in registries.items():
        for metric in cast("Any", registry)._collector_to_names:
            if isinstance(metric, LossFamilies):
                found |= {
                    (family.name, seen_by, family.type, tuple(cast("Any", family)._labelnames))
                    for family in metric.collect()
                }
                continue
            suffix = "_total" if metric._type == "counter" else ""
            found.add((metric._name + suffix, seen_by, metric._type, tuple(metric._labelnames)))
    return found


def test_the_documented_table_is_what_is_registered() -> None:
    """The page on metrics has every metric with its audience, type and labels, and no other."""
    assert _documented() == _registered(fresh_metrics())


def test_the_exact_names_are_kept() -> None:
    """Dashboards and the scrape rules depend on these names."""
    assert {(name, seen_by) for name, seen_by, _, _ in _registered(fresh_metrics())} == {
        ("tocsin_decisions_total", "public"),
        ("tocsin_alarms_total", "public"),
        ("tocsin_window_end_timestamp_seconds", "public"),
        ("tocsin_plan_epsilon", "public"),
        ("tocsin_budget_epsilon_max", "public"),
        ("tocsin_build_info", "public"),
        ("tocsin_budget_spent_epsilon", "custodian"),
        ("tocsin_budget_reserved_epsilon", "custodian"),
        ("tocsin_budget_pending_windows", "custodian"),
        ("tocsin_expost_epsilon_max", "custodian"),
        ("tocsin_expost_complete", "custodian"),
        ("tocsin_min_entropy_nats", "custodian"),
        ("tocsin_min_entropy_normalised", "custodian"),
        ("tocsin_min_entropy_bracket_nats", "custodian"),
        ("tocsin_predicate_epsilon", "custodian"),
        ("tocsin_predicates_by_epsilon", "custodian"),
        ("tocsin_events_total", "custodian"),
        ("tocsin_events_dropped_total", "custodian"),
        ("tocsin_decision_seconds", "custodian"),
        ("tocsin_cut_to_alarm_seconds", "custodian"),
        ("tocsin_partials_stored_total", "custodian"),
        ("tocsin_denied_total", "custodian"),
        ("tocsin_run_alarms_left", "custodian"),
        ("tocsin_unpublished_decisions", "custodian"),
        ("tocsin_ingest_lag_records", "custodian"),
        ("tocsin_ledger_sequence", "custodian"),
        ("tocsin_refusals_total", "custodian"),
    }


def test_nothing_but_tocsin_series_is_shown() -> None:
    """No process, platform or creation-time series reaches either page."""
    metrics = fresh_metrics()
    _run(metrics, reads=[3], drops={"late": 1}, seconds=[0.1])
    for registry in (metrics.public, metrics.custodian):
        for text in (page_text(registry), generate_openmetrics(registry).decode()):
            names = {
                line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"
            }
            assert all(name.startswith("tocsin_") for name in names)
            assert not any(name.endswith("_created") for name in names)


_RELEASED = [decided(), decided("quiet", 1, 0), denied(hour=2), decided(hour=3, alarms=1)]


def _run(
    metrics: Metrics, *, reads: list[int], drops: dict[str, int], seconds: list[float]
) -> None:
    """Go through one input's private life, then publish the same decisions as every other."""
    for count in reads:
        metrics.events_read("badges", count)
        metrics.lag("badges", count % 4, count)
        metrics.partial_stored("crowd", "stored")
    metrics.events_dropped("badges", drops)
    for second in seconds:
        metrics.decided(decided(), second)
        metrics.decided(denied(reason="conflict"), second)
    metrics.ledger(ledger_status(spent=len(reads) * MICRO, reserved=len(seconds)))
    metrics.realised(PredicateLosses(crowd=[len(reads), sum(reads) + 1, 0], quiet=[len(drops)] * 3))
    metrics.refused(ClockError("the clock went back"))
    for decision in _RELEASED:
        metrics.published(decision, seconds[0] if seconds else None)


def _check_public_pages_agree(kind: type[Metrics]) -> None:
    """Check that two neighbouring inputs that lead to the same decisions show the same page."""
    one, other = fresh_metrics(kind), fresh_metrics(kind)
    _run(one, reads=[500, 3], drops={}, seconds=[0.001])
    _run(other, reads=[500, 4], drops={"late": 1, "misrouted": 2}, seconds=[2.5, 0.1])
    assert generate_latest(one.public) == generate_latest(other.public)
    assert generate_openmetrics(one.public) == generate_openmetrics(other.public)
    assert generate_latest(one.custodian) != generate_latest(other.custodian)


def test_neighbouring_inputs_with_the_same_decisions_show_the_same_public_bytes() -> None:
    """Reads, drops, lags, spending and timing leave no trace on the public page."""
    _check_public_pages_agree(Metrics)


@settings(max_examples=30, deadline=None)
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


class _Leaky(Metrics):
    """Broken twin: counts events in public."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._leak = Counter("tocsin_leak_total", "Events.", registry=self.public)

    def events_read(self, feed: str, count: int) -> None:
        super().events_read(feed, count)
        self._leak.inc(count)


class _LateSeries(Metrics):
    """Broken twin: a public series appears once an event was dropped."""

    def events_dropped(self, feed: str, drops: Any) -> None:
        super().events_dropped(feed, drops)
        for reason in drops:
            self._public.decisions.labels("crowd", reason)


@pytest.mark.parametrize("twin", [_Leaky, _LateSeries])
def test_a_public_page_that_depends_on_events_is_caught(twin: type[Metrics]) -> None:
    """The same check fails for a public counter of events and for a series that appears late."""
    with pytest.raises(AssertionError):
        _check_public_pages_agree(twin)


_PRIVATE_CALLS: dict[str, Callable[[Metrics], None]] = {
    "events_read": lambda m: m.events_read("badges", 5),
    "events_dropped": lambda m: m.events_dropped("badges", {"late": 1}),
    "lag": lambda m: m.lag("badges", 0, 7),
    "partial_stored": lambda m: m.partial_stored("crowd", "conflict"),
    "decided": lambda m: m.decided(decided(), 0.2),
    "ledger": lambda m: m.ledger(ledger_status(spent=5, reserved=1)),
    "realised": lambda m: m.realised(PredicateLosses()),
    "refused": lambda m: m.refused(ValueError("secret")),
}


@pytest.mark.parametrize("name", sorted(_PRIVATE_CALLS))
def test_only_published_moves_public_series(name: str) -> None:
    """Every other public method moves the custodian's page and leaves the public one alone."""
    metrics = fresh_metrics()
    public, custodian = page_text(metrics.public), page_text(metrics.custodian)
    _PRIVATE_CALLS[name](metrics)
    assert page_text(metrics.public) == public
    assert page_text(metrics.custodian) != custodian


def test_every_method_is_known_to_the_test_above() -> None:
    """A new method must be put on one side or the other."""
    methods = {name for name in vars(Metrics) if not name.startswith("_")}
    assert methods == {*_PRIVATE_CALLS, "published"}


def test_every_public_series_exists_from_the_start() -> None:
    """Publishing changes values, never the set of series."""
    metrics = fresh_metrics()

    def series() -> set[str]:
        lines = page_text(metrics.public).splitlines()
        return {line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#")}

    before = series()
    _run(metrics, reads=[1], drops={"late": 2}, seconds=[1.0])
    assert series() == before
    assert len(before) == 2 * (2 + 1 + 1 + 1) + 2


def test_public_values_follow_from_configuration_and_decisions() -> None:
    """Plans and the wall come from configuration; totals and the last window from releases."""
    metrics = fresh_metrics()
    for decision in _RELEASED:
        metrics.published(decision, None)
    public = metrics.public
    assert sample_value(public, "tocsin_plan_epsilon", query="crowd") == 1.386295
    assert sample_value(public, "tocsin_budget_epsilon_max") == 4
    assert sample_value(public, "tocsin_decisions_total", query="crowd", outcome="decided") == 2
    assert sample_value(public, "tocsin_decisions_total", query="crowd", outcome="denied") == 1
    assert sample_value(public, "tocsin_alarms_total", query="crowd") == 3
    assert sample_value(public, "tocsin_alarms_total", query="quiet") == 0
    assert sample_value(public, "tocsin_window_end_timestamp_seconds", query="crowd") == 3 * 3600


def test_custodian_values_are_exact() -> None:
    """What the custodian reads is what was told, by feed, reason, status and partition."""
    metrics = fresh_metrics()
    metrics.events_read("badges", 41)
    metrics.events_read("badges", 1)
    metrics.events_dropped("badges", {"late": 2, "misrouted": 1})
    metrics.lag("badges", 3, 12)
    metrics.lag("badges", 3, 5)
    metrics.partial_stored("crowd", "duplicate")
    metrics.decided(denied(reason="budget"), 0.5)
    metrics.refused(ClockError("the clock went back"))
    metrics.refused(KeyError("private"))
    custodian = metrics.custodian
    assert sample_value(custodian, "tocsin_events_total", feed="badges") == 42
    assert sample_value(custodian, "tocsin_events_dropped_total", feed="badges", reason="late") == 2
    assert sample_value(custodian, "tocsin_ingest_lag_records", feed="badges", partition="3") == 5
    assert (
        sample_value(custodian, "tocsin_partials_stored_total", query="crowd", status="duplicate")
        == 1
    )
    assert sample_value(custodian, "tocsin_denied_total", query="crowd", reason="budget") == 1
    assert sample_value(custodian, "tocsin_decision_seconds_count") == 1
    assert sample_value(custodian, "tocsin_refusals_total", kind="ClockError") == 1
    assert sample_value(custodian, "tocsin_refusals_total", kind="unexpected") == 1
    assert "private" not in page_text(custodian)


def test_the_ledger_is_shown_in_epsilon() -> None:
    """Loss units become epsilon; what is reserved is what the ledger says."""
    metrics = fresh_metrics()
    metrics.ledger(ledger_status(spent=3_500_000 * MICRO, reserved=1_250_000 * MICRO))
    custodian = metrics.custodian
    assert sample_value(custodian, "tocsin_budget_spent_epsilon", scope="user") == 3.5
    assert sample_value(custodian, "tocsin_budget_reserved_epsilon", scope="user") == 1.25
    assert sample_value(custodian, "tocsin_budget_pending_windows", scope="user") == 7
    assert sample_value(custodian, "tocsin_ledger_sequence", query="quiet") == 17
    assert sample_value(custodian, "tocsin_unpublished_decisions", query="quiet") == 3


def test_every_error_of_the_tree_has_a_series() -> None:
    """An alert on refusals needs the series before the first refusal."""
    metrics = fresh_metrics()

    def kinds(base: type[TocsinError]) -> list[str]:
        return [n for s in base.__subclasses__() for n in (s.__name__, *kinds(s))]

    for kind in kinds(TocsinError):
        assert sample_value(metrics.custodian, "tocsin_refusals_total", kind=kind) == 0
