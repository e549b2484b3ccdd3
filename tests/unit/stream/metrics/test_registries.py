"""Both registries and their servers: names, who sees what, and a public page that tells nothing."""

from __future__ import annotations

import math
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from accountant.audit.realised import Realised
from accountant.costs.charges import WindowKey
from accountant.costs.minentropy import min_entropy
from accountant.errors import ClockError, ConfigError, DependencyError, TocsinError
from accountant.records import LedgerStatus, Outcome, QueryStatus, ScopeStatus, StoredDecision
from accountant.units import UNITS_PER_EPSILON, Contribution, PrivacyUnit
from operators.base import Plan
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition
from operators.conditions.weights import Weight
from stream.metrics.losses import LossFamilies, dearest, predicate_label
from stream.metrics.registries import Metrics
from stream.metrics.server import serve
from stream.model.alarms import Alarms, Budget, Settings
from stream.model.feeds import Codec, Domain, Feed
from stream.model.queries import AggregateSpec, FirstTolerances, Query
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

_DOCS = ROOT / "docs" / "custodian" / "metrics.md"
_HOUR_MS = 3_600_000
_MICRO = UNITS_PER_EPSILON // 1_000_000


# ── Fixtures: two alarms on one feed, built by hand ──────────────────────────────────────────────


def _alarms(unit: PrivacyUnit = PrivacyUnit.USER, **address: Any) -> Alarms:
    feed = Feed(
        name="badges",
        topic="building.badges",
        codec=Codec.JSON,
        time="ts",
        unit="person",
        id=None,
        fields={},
    )
    domain = Domain(fields=("room",), values=(("r1", "r2", "r3"),))
    queries = {
        name: Query(
            id=name,
            feed=feed,
            domain=domain,
            calendar=cast("Any", None),  # metrics know no windows
            where=None,
            aggregates=(AggregateSpec(Weight.COUNT),),
            condition=Condition.single(
                IntegerTest(Comparison.GT, np.zeros(len(domain), dtype=np.int64), 1)
            ),
            aim=Aim(Fraction(1, 20), (1,)),
            first=FirstTolerances((None,), (0,)),
            texts=("COUNT(*) > 0",),
            mechanism="tslm",
            grace_ms=0,
            publish_delay_ms=0,
            decide_timeout_ms=0,
            max_age_ms=0,
            sql="",
            fingerprint="f",
        )
        for name in ("crowd", "quiet")
    }
    return Alarms(
        file="alarms.yaml",
        feeds={"badges": feed},
        queries=queries,
        budget=Budget(unit, Fraction(4), None, Contribution(predicates_per_window=2)),
        kafka=None,
        settings=_settings(**address),
    )


def _settings(**address: Any) -> Settings:
    chosen = {
        "public_address": ("127.0.0.1", 0),
        "custodian_address": ("127.0.0.1", 0),
        "custodian_token": None,
        **address,
    }
    return Settings(ledger_url="sqlite://", **chosen)


_PLANS = {
    "crowd": Plan("tslm", Fraction(1_386_295, 10**6), 1.386),
    "quiet": Plan("tslm", Fraction(1, 4), 0.25),
}


def _metrics(kind: type[Metrics] = Metrics) -> Metrics:
    return kind(_alarms(), _PLANS)


def _decision(query: str = "crowd", hour: int = 1, alarms: int = 2) -> StoredDecision:
    return _ended(query, hour, alarms, None)


def _denial(query: str = "crowd", hour: int = 1, reason: str = "incomplete") -> StoredDecision:
    return _ended(query, hour, 0, reason)


def _ended(query: str, hour: int, alarms: int, reason: str | None) -> StoredDecision:
    return StoredDecision(
        key=WindowKey(end_ms=hour * _HOUR_MS, query=query, start_ms=(hour - 1) * _HOUR_MS),
        outcome=Outcome.DECIDED if reason is None else Outcome.DENIED,
        reason=reason,
        alarms=b"",
        alarm_count=alarms,
        epsilon_units=0,
        sequence=hour,
        ledger_id="l",
        release_ms=0,
        decided_at_ms=0,
        published=True,
        fingerprint="f",
    )


def _status(*, spent: int, reserved: int, unpublished: int = 3) -> LedgerStatus:
    return LedgerStatus(
        ledger_id="l",
        scopes={
            "user": ScopeStatus(
                scope="user",
                unit=PrivacyUnit.USER,
                epsilon_max_units=4 * UNITS_PER_EPSILON,
                spent_units=spent,
                periods={},
                reserved_units=reserved,
                reservations=2,
                pending=7,
                anchor="0:",
            )
        },
        queries={
            name: QueryStatus(
                query=name,
                scope="user",
                cursor_ms=0,
                decided=1,
                denied={},
                unpublished=unpublished,
                sequence=17,
                retired=False,
            )
            for name in ("crowd", "quiet")
        },
    )


class _Losses:
    """Stands for a ledger that knows what predicates have lost, in millionths of an epsilon."""

    def __init__(self, *, complete: bool = True, away: bool = False, **costs: list[int]) -> None:
        self.costs = {"crowd": [3, 1, 2], "quiet": [0, 0, 0], **costs}
        self.complete = complete
        self.away = away
        self.asked = 0

    def realised(self, query: str, period: int | None = None, *, cells: int) -> Realised:
        self.asked += 1
        if self.away and query == "quiet":
            raise DependencyError("the ledger is away")
        costs = np.array(self.costs[query], dtype=np.int64) * _MICRO
        assert (cells, period) == (len(costs), None)
        return Realised(query, 0, None, 1, costs, self.complete)


def _text(registry: CollectorRegistry) -> str:
    return generate_latest(registry).decode()


def _value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


# ── Names ────────────────────────────────────────────────────────────────────────────────────────


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
    assert _documented() == _registered(_metrics())


def test_the_exact_names_are_kept() -> None:
    """Dashboards and the scrape rules depend on these names."""
    assert {(name, seen_by) for name, seen_by, _, _ in _registered(_metrics())} == {
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
    metrics = _metrics()
    _run(metrics, reads=[3], drops={"late": 1}, seconds=[0.1])
    for registry in (metrics.public, metrics.custodian):
        for text in (_text(registry), generate_openmetrics(registry).decode()):
            names = {
                line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"
            }
            assert all(name.startswith("tocsin_") for name in names)
            assert not any(name.endswith("_created") for name in names)


# ── The public page ──────────────────────────────────────────────────────────────────────────────

_RELEASED = [_decision(), _decision("quiet", 1, 0), _denial(hour=2), _decision(hour=3, alarms=1)]


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
        metrics.decided(_decision(), second)
        metrics.decided(_denial(reason="conflict"), second)
    metrics.ledger(_status(spent=len(reads) * _MICRO, reserved=len(seconds)))
    metrics.realised(_Losses(crowd=[len(reads), sum(reads) + 1, 0], quiet=[len(drops)] * 3))
    metrics.refused(ClockError("the clock went back"))
    for decision in _RELEASED:
        metrics.published(decision, seconds[0] if seconds else None)


def _check_public_pages_agree(kind: type[Metrics]) -> None:
    """Check that two neighbouring inputs that lead to the same decisions show the same page."""
    one, other = _metrics(kind), _metrics(kind)
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
    metrics, quiet = _metrics(), _metrics()
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
    "decided": lambda m: m.decided(_decision(), 0.2),
    "ledger": lambda m: m.ledger(_status(spent=5, reserved=1)),
    "realised": lambda m: m.realised(_Losses()),
    "refused": lambda m: m.refused(ValueError("secret")),
}


@pytest.mark.parametrize("name", sorted(_PRIVATE_CALLS))
def test_only_published_moves_public_series(name: str) -> None:
    """Every other public method moves the custodian's page and leaves the public one alone."""
    metrics = _metrics()
    public, custodian = _text(metrics.public), _text(metrics.custodian)
    _PRIVATE_CALLS[name](metrics)
    assert _text(metrics.public) == public
    assert _text(metrics.custodian) != custodian


def test_every_method_is_known_to_the_test_above() -> None:
    """A new method must be put on one side or the other."""
    methods = {name for name in vars(Metrics) if not name.startswith("_")}
    assert methods == {*_PRIVATE_CALLS, "published"}


def test_every_public_series_exists_from_the_start() -> None:
    """Publishing changes values, never the set of series."""
    metrics = _metrics()

    def series() -> set[str]:
        lines = _text(metrics.public).splitlines()
        return {line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#")}

    before = series()
    _run(metrics, reads=[1], drops={"late": 2}, seconds=[1.0])
    assert series() == before
    assert len(before) == 2 * (2 + 1 + 1 + 1) + 2


# ── Values ───────────────────────────────────────────────────────────────────────────────────────


def test_public_values_follow_from_configuration_and_decisions() -> None:
    """Plans and the wall come from configuration; totals and the last window from releases."""
    metrics = _metrics()
    for decision in _RELEASED:
        metrics.published(decision, None)
    public = metrics.public
    assert _value(public, "tocsin_plan_epsilon", query="crowd") == 1.386295
    assert _value(public, "tocsin_budget_epsilon_max") == 4
    assert _value(public, "tocsin_decisions_total", query="crowd", outcome="decided") == 2
    assert _value(public, "tocsin_decisions_total", query="crowd", outcome="denied") == 1
    assert _value(public, "tocsin_alarms_total", query="crowd") == 3
    assert _value(public, "tocsin_alarms_total", query="quiet") == 0
    assert _value(public, "tocsin_window_end_timestamp_seconds", query="crowd") == 3 * 3600


def test_custodian_values_are_exact() -> None:
    """What the custodian reads is what was told, by feed, reason, status and partition."""
    metrics = _metrics()
    metrics.events_read("badges", 41)
    metrics.events_read("badges", 1)
    metrics.events_dropped("badges", {"late": 2, "misrouted": 1})
    metrics.lag("badges", 3, 12)
    metrics.lag("badges", 3, 5)
    metrics.partial_stored("crowd", "duplicate")
    metrics.decided(_denial(reason="budget"), 0.5)
    metrics.refused(ClockError("the clock went back"))
    metrics.refused(KeyError("private"))
    custodian = metrics.custodian
    assert _value(custodian, "tocsin_events_total", feed="badges") == 42
    assert _value(custodian, "tocsin_events_dropped_total", feed="badges", reason="late") == 2
    assert _value(custodian, "tocsin_ingest_lag_records", feed="badges", partition="3") == 5
    assert _value(custodian, "tocsin_partials_stored_total", query="crowd", status="duplicate") == 1
    assert _value(custodian, "tocsin_denied_total", query="crowd", reason="budget") == 1
    assert _value(custodian, "tocsin_decision_seconds_count") == 1
    assert _value(custodian, "tocsin_refusals_total", kind="ClockError") == 1
    assert _value(custodian, "tocsin_refusals_total", kind="unexpected") == 1
    assert "private" not in _text(custodian)


def test_the_ledger_is_shown_in_epsilon() -> None:
    """Loss units become epsilon; what is reserved is what the ledger says."""
    metrics = _metrics()
    metrics.ledger(_status(spent=3_500_000 * _MICRO, reserved=1_250_000 * _MICRO))
    custodian = metrics.custodian
    assert _value(custodian, "tocsin_budget_spent_epsilon", scope="user") == 3.5
    assert _value(custodian, "tocsin_budget_reserved_epsilon", scope="user") == 1.25
    assert _value(custodian, "tocsin_budget_pending_windows", scope="user") == 7
    assert _value(custodian, "tocsin_ledger_sequence", query="quiet") == 17
    assert _value(custodian, "tocsin_unpublished_decisions", query="quiet") == 3


def test_every_error_of_the_tree_has_a_series() -> None:
    """An alert on refusals needs the series before the first refusal."""
    metrics = _metrics()

    def kinds(base: type[TocsinError]) -> list[str]:
        return [n for s in base.__subclasses__() for n in (s.__name__, *kinds(s))]

    for kind in kinds(TocsinError):
        assert _value(metrics.custodian, "tocsin_refusals_total", kind=kind) == 0


# ── Realised losses ──────────────────────────────────────────────────────────────────────────────


def test_realised_losses_are_shown_in_epsilon() -> None:
    """The dearest predicate, the min-entropy, each dear predicate and how many lost how much."""
    metrics = _metrics()
    metrics.realised(_Losses(crowd=[3_000_000, 0, 500_000]))
    custodian = metrics.custodian
    assert _value(custodian, "tocsin_expost_epsilon_max", query="crowd") == 3
    assert _value(custodian, "tocsin_expost_epsilon_max", query="quiet") == 0
    assert _value(custodian, "tocsin_expost_complete", query="crowd") == 1
    assert _series(custodian, "tocsin_predicate_epsilon") == {
        ("crowd", "r1"): 3.0,
        ("crowd", "r3"): 0.5,
    }
    within = _series(custodian, "tocsin_predicates_by_epsilon")
    crowd = {float(le): count for (query, le), count in within.items() if query == "crowd"}
    assert crowd == {
        **{share * 4: 1 for share in (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)},
        0.8: 2,
        2.0: 2,
        4.0: 3,
        math.inf: 3,
    }
    exact = min_entropy([3, 0, 0.5])
    assert _value(custodian, "tocsin_min_entropy_nats", query="crowd") == exact.value
    assert _value(custodian, "tocsin_min_entropy_normalised", query="crowd") == exact.normalised
    width = _value(custodian, "tocsin_min_entropy_bracket_nats", query="crowd")
    assert width == exact.upper - exact.lower
    assert _value(custodian, "tocsin_min_entropy_normalised", query="quiet") == pytest.approx(1)


def test_a_loss_at_a_bucket_is_inside() -> None:
    """Buckets are compared in loss units: a loss of exactly a share counts, one unit more not."""
    costs = np.array([4 * 10**9, 4 * 10**9 + 1, 4 * UNITS_PER_EPSILON], dtype=np.int64)
    families = LossFamilies(_domains(3), Fraction(4))
    families.show([Realised("q", 0, None, 1, costs, True)])
    within = _samples(families, "tocsin_predicates_by_epsilon")
    assert [within[le] for le in ("0.0", "0.004", "0.008", "4.0", "+Inf")] == [0, 1, 2, 3, 3]


def test_an_incomplete_sum_is_marked() -> None:
    """The custodian sees that compacted charges, or those still to be unpacked, are missing."""
    metrics = _metrics()
    metrics.realised(_Losses(complete=False))
    assert _value(metrics.custodian, "tocsin_expost_complete", query="crowd") == 0


def test_realised_losses_are_read_now_and_then() -> None:
    """However often it is called, the ledger is asked every fifteen seconds, each query once."""
    now_s = [100.0]
    metrics = Metrics(_alarms(), _PLANS, monotonic_s=lambda: now_s[0])
    losses = _Losses()
    for second, asked in ((0, 2), (1, 2), (14.9, 2), (15, 4), (16, 4), (1e6, 6)):
        now_s[0] = 100 + second
        metrics.realised(losses)
        assert losses.asked == asked


def test_a_ledger_out_of_reach_leaves_what_was_shown() -> None:
    """An error passes through, and the next call asks again."""
    now_s = [0.0]
    metrics = Metrics(_alarms(), _PLANS, monotonic_s=lambda: now_s[0])
    metrics.realised(_Losses())
    shown, now_s[0] = _text(metrics.custodian), 15.0
    with pytest.raises(DependencyError):
        metrics.realised(_Losses(away=True))
    assert _text(metrics.custodian) == shown
    metrics.realised(_Losses(crowd=[9, 9, 9]))
    assert _text(metrics.custodian) != shown


def test_labels_stay_bounded_whatever_becomes_dear() -> None:
    """After many readings there are twenty predicates, those of the last one, and no others."""
    rng = np.random.default_rng(7)
    families = LossFamilies(_domains(1_000), Fraction(4))
    lines = set()
    for _ in range(50):
        costs = rng.integers(0, 30, 1_000) * _MICRO
        families.show([Realised("q", 0, None, 1, costs, True)])
        shown = _samples(families, "tocsin_predicate_epsilon")
        order = sorted(range(1_000), key=lambda cell: (-costs[cell], cell))
        assert list(shown) == [f"r{cell}" for cell in order[:20]]
        lines.add(sum(len(family.samples) for family in families.collect()))
    assert lines == {5 + 20 + 12}


@given(
    costs=st.lists(st.integers(0, 5), min_size=1, max_size=40),
    most=st.integers(0, 45),
)
def test_the_dearest_are_those_of_a_full_sort(costs: list[int], most: int) -> None:
    """Ties go to the lowest cell, and who lost nothing is not among them."""
    order = sorted((cell for cell, cost in enumerate(costs) if cost), key=lambda c: (-costs[c], c))
    assert dearest(np.array(costs, dtype=np.int64), most) == order[:most]


@pytest.mark.parametrize("levels", [1, 12, 10**6])
def test_a_hundred_thousand_predicates_are_ranked_quickly(levels: int) -> None:
    """The twenty dearest of 100,000 take less than 100 ms, equal or all different."""
    costs = np.random.default_rng(3).integers(1, levels + 1, 100_000)

    def seconds() -> float:
        started_s = time.perf_counter()
        assert len(dearest(costs)) == 20
        return time.perf_counter() - started_s

    assert min(seconds() for _ in range(3)) < 0.1


def test_no_two_predicates_share_a_label() -> None:
    """Two equal series would make Prometheus refuse the whole page."""
    values = ("a", "a, b", "a\\", "b", ", b", "\\, b")
    two = Domain(fields=("x", "y"), values=(values, values))
    labels = [predicate_label(two, cell) for cell in range(len(two))]
    assert len(set(labels)) == len(labels)
    one = Domain(fields=("x",), values=(values,))
    assert [predicate_label(one, cell) for cell in range(len(one))] == list(values)
    assert predicate_label(Domain(fields=(), values=()), 0) == "(all)"


def _domains(cells: int) -> dict[str, Domain]:
    return {"q": Domain(fields=("room",), values=(tuple(f"r{n}" for n in range(cells)),))}


def _samples(families: LossFamilies, name: str) -> dict[str, float]:
    """Return a family's samples by their second label."""
    found = [family for family in families.collect() if family.name == name]
    return {
        next(value for label, value in sample.labels.items() if label != "query"): sample.value
        for sample in found[0].samples
    }


def _series(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    """Return a family's samples by their labels' values."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in registry.collect()
        if family.name == name
        for sample in family.samples
    }


# ── Servers ──────────────────────────────────────────────────────────────────────────────────────


def _get(address: tuple[str, int], path: str = "/metrics", **headers: str) -> tuple[int, bytes]:
    """Return status and body, also of a refusal."""
    host, port = address
    request = Request(f"http://{host}:{port}{path}", headers=headers)
    try:
        with urlopen(request, timeout=5) as answer:  # noqa: S310  always http
            return answer.status, answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


def test_each_address_serves_its_own_registry() -> None:
    """The public server shows public series only, the custodian's its own only."""
    metrics = _metrics()
    with serve(metrics, _settings()) as at:
        assert _get(at.public) == (200, generate_latest(metrics.public))
        assert _get(at.custodian) == (200, generate_latest(metrics.custodian))


def test_only_metrics_answers() -> None:
    """Any other path is not found, and the query string cannot pick series."""
    with serve(_metrics(), _settings()) as at:
        for path in ("/", "/metrics/", "/favicon.ico", "/table", "/%2e%2e/metrics"):
            assert _get(at.public, path)[0] == 404
            assert _get(at.custodian, path)[0] == 404
        assert _get(at.public, "/metrics?name[]=up") == _get(at.public)


@pytest.mark.parametrize(
    "header",
    [None, "Bearer wrong", "Bearer ", "correct", "bearer correct horse", "Bearer correct horse2"],
)
def test_the_custodian_page_asks_for_its_token(header: str | None) -> None:
    """Without the token, or with another one, nothing is said, whatever the path."""
    headers = {} if header is None else {"Authorization": header}
    with serve(_metrics(), _settings(custodian_token="correct horse")) as at:  # noqa: S106  a test's own
        for path in ("/metrics", "/other"):
            status, body = _get(at.custodian, path, **headers)
            assert (status, body) == (401, b"401 Unauthorized\n")
        assert _get(at.public)[0] == 200


def test_the_right_token_opens_the_custodian_page() -> None:
    """The bearer token opens /metrics and nothing else."""
    metrics = _metrics()
    token = {"Authorization": "Bearer correct hörse".encode().decode("latin-1")}
    with serve(metrics, _settings(custodian_token="correct hörse")) as at:  # noqa: S106  a test's own
        assert _get(at.custodian, **token) == (200, generate_latest(metrics.custodian))
        assert _get(at.custodian, "/other", **token)[0] == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "metrics.example", ""])  # noqa: S104  refused
@pytest.mark.parametrize("token", [None, ""])
def test_beyond_loopback_a_token_is_required(host: str, token: str | None) -> None:
    """The custodian's page does not open to a network without a token."""
    asked = _settings(custodian_address=(host, 0), custodian_token=token)
    with pytest.raises(ConfigError, match="without a bearer token"), serve(_metrics(), asked):
        pytest.fail("it served")


def test_beyond_loopback_with_a_token_is_served() -> None:
    """With a token the custodian may listen anywhere."""
    asked = _settings(custodian_address=("0.0.0.0", 0), custodian_token="t")  # noqa: S104, S106  the case
    with serve(_metrics(), asked) as at:
        assert _get(("127.0.0.1", at.custodian[1]))[0] == 401
        assert _get(("127.0.0.1", at.custodian[1]), Authorization="Bearer t")[0] == 200


@pytest.mark.parametrize("which", ["public_address", "custodian_address"])
def test_a_taken_port_is_a_clear_error(which: str) -> None:
    """A port in use names the address and what to do, and leaves nothing listening behind."""
    with socket.socket() as taken, socket.socket() as free:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        free.bind(("127.0.0.1", 0))
        port, other = taken.getsockname()[1], free.getsockname()[1]
        free.close()
        addresses: dict[str, Any] = {
            "public_address": ("127.0.0.1", other),
            "custodian_address": ("127.0.0.1", other),
            which: ("127.0.0.1", port),
        }
        with pytest.raises(ConfigError) as caught, serve(_metrics(), _settings(**addresses)):
            pytest.fail("it served")
    assert f"127.0.0.1:{port}" in str(caught.value)
    assert "hint: " in str(caught.value)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", other)) != 0


@pytest.mark.parametrize("address", [("no such host", 1), ("127.0.0.1", 70_000)])
def test_an_impossible_address_is_a_clear_error(address: tuple[str, int]) -> None:
    """A host or port that cannot be is a mistake in the configuration."""
    with (
        pytest.raises(ConfigError, match="public cannot listen"),
        serve(_metrics(), _settings(public_address=address)),
    ):
        pytest.fail("it served")


def test_the_servers_stop_with_their_context() -> None:
    """The ports are free again afterwards, and can be served anew."""
    with serve(_metrics(), _settings()) as at:
        pass
    again = _settings(public_address=at.public, custodian_address=at.custodian)
    with serve(_metrics(), again) as second:
        assert second == at


def test_a_client_that_says_nothing_keeps_nobody_waiting() -> None:
    """Connections that hang, and scrapes while series move, do not disturb each other."""
    metrics = _metrics()
    with serve(metrics, _settings()) as at, socket.create_connection(at.public):
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(_get, at.custodian) for _ in range(8)]
            for count in range(200):
                metrics.events_dropped("badges", {f"reason{count}": 1})
        assert all(answer.result()[0] == 200 for answer in answers)
        assert _get(at.public)[0] == 200
