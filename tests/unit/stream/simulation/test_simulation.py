"""Simulations: error rates against exact laws, losses, workers, advice, files and pages."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import binomtest

from accountant.costs.charges import UniformCost
from accountant.costs.minentropy import min_entropy
from accountant.errors import ConfigError, DependencyError
from accountant.units import Contribution, PrivacyUnit, to_loss_units
from operators.base import Decision, Plan
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.conditions.weights import Weight
from operators.noise.source import NoiseSource
from operators.registry import create
from stream.cli import simulate as command
from stream.model.alarms import Alarms, Budget, Settings
from stream.model.feeds import Codec, Domain, Feed
from stream.model.queries import AggregateSpec, FirstTolerances, Query
from stream.simulation import history, trials
from stream.simulation.advice import CAVEAT, advice_on
from stream.simulation.crew import try_out
from stream.simulation.history import CountedAlarm
from stream.simulation.outputs import check_output, write_private
from stream.simulation.page import html_page
from stream.simulation.report import report
from stream.simulation.results import (
    AUDIENCE,
    AlarmResults,
    Losses,
    Measured,
    Rate,
    Simulation,
)
from stream.simulation.settings import Setting, Untried, settings_of
from stream.simulation.tables import NOTHING_TRUE, simulation_tables
from stream.simulation.trials import Bench, Tally, Task, Trier, may_ring, tasks_of
from stream.windows.calendars import FixedCalendar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

HOUR_MS = 3_600_000
THRESHOLD = 40
SQL = "SELECT room FROM badges GROUP BY room, TUMBLE(ts, ...) HAVING COUNT(*) > 40 -- <b>&"


def counted_alarm(statistics: NDArray[np.int64], *, query: str = "crowd") -> CountedAlarm:
    """Return statistics, shape (windows, statistics, cells), as they are counted."""
    windows, number, cells = statistics.shape
    flat = statistics.reshape(windows, -1)
    entries = [np.flatnonzero(row) for row in flat]
    return CountedAlarm(
        query=query,
        starts_ms=np.arange(windows, dtype=np.int64) * HOUR_MS,
        statistics=number,
        cells=cells,
        ends=np.cumsum([0, *map(len, entries)], dtype=np.int64),
        index=np.concatenate(entries).astype(np.int64),
        value=np.concatenate([row[at] for row, at in zip(flat, entries, strict=True)]),
    )


def alarm(cells: int, *, tolerance: int = 9, mechanism: str = "tslm") -> Query:
    """Return an alarm for more than 40 events in a room."""
    return Query(
        id="crowd",
        feed=Feed("badges", "t", Codec.JSON, "ts", "person", None, {}),
        domain=Domain(("room",), (tuple(f"room {at}" for at in range(cells)),)),
        calendar=FixedCalendar(HOUR_MS, HOUR_MS),
        where=None,
        aggregates=(AggregateSpec(Weight.COUNT),),
        condition=Condition.single(
            IntegerTest(Comparison.GT, np.full(cells, THRESHOLD, dtype=np.int64), 1)
        ),
        aim=Aim(Fraction(1, 20), (tolerance,)),
        first=FirstTolerances((None,), (12,)),
        texts=("COUNT(*) > 40",),
        mechanism=mechanism,
        grace_ms=0,
        publish_delay_ms=0,
        decide_timeout_ms=1,
        max_age_ms=1,
        sql=SQL,
        fingerprint="",
    )


def bench_of(query: Query, counted: CountedAlarm, *settings: Setting) -> Bench:
    """Return a bench of one alarm whose people reach two cells."""
    return Bench({query.id: counted}, {query.id: query.condition}, {query.id: 2}, settings)


def own(query: Query, mechanism: str = "tslm") -> Setting:
    """Return the alarm's own aim with a mechanism."""
    return Setting(query.id, mechanism, Fraction(1), query.aim, configured=True)


def near_the_threshold(windows: int, cells: int, *, seed: int = 1) -> NDArray[np.int64]:
    """Return statistics around the threshold and its uncertain region, a true one among them."""
    drawn = np.random.default_rng(seed).integers(15, 50, size=(windows, 1, cells))
    drawn[0, 0, 0] = THRESHOLD + 1
    return drawn.astype(np.int64)


def simulated(
    query: Query,
    statistics: NDArray[np.int64],
    *,
    runs: int = 3,
    mechanisms: Sequence[str] = ("tslm", "ppwlm", "nlm"),
    fits: float = 100.0,
) -> Simulation:
    """Return a simulation in this process; settings fit up to a worst case of ``fits``."""
    counted = counted_alarm(statistics)
    settings, untried = settings_of(query, mechanisms=mechanisms)
    tried = try_out(bench_of(query, counted, *settings), runs)
    measured = [
        Measured(setting, one.plan, float(one.plan.epsilon) <= fits, one.tally)
        for setting, one in zip(settings, tried, strict=True)
        if isinstance(one.plan, Plan)
    ]
    budget = Budget(PrivacyUnit.USER, Fraction(4), None, Contribution(2, 1))
    alarms = Alarms(
        file="<alarms>.yaml",
        feeds={"badges": query.feed},
        queries={query.id: query},
        budget=budget,
        kafka=None,
        settings=Settings("sqlite://", ("", 0), ("", 0)),
    )
    results = AlarmResults(query, counted, tuple(measured), tuple(untried))
    return Simulation(alarms, runs, (results,), {query.id: 2})


def shown(simulation: Simulation) -> str:
    """Return what a terminal shows."""
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115 -- closed with the console
    console.print(*simulation_tables(simulation), sep="\n")
    console.file.close()
    return console.export_text()


# -- Rates ---------------------------------------------------------------------------------------


def test_measured_rates_of_tslm_are_its_exact_law() -> None:
    """Misses, false alarms and uncertain rings lie within six standard errors of the table."""
    query = alarm(50)
    statistics = near_the_threshold(20, 50)
    counted = counted_alarm(statistics)
    operator = create("tslm", query.condition, query.aim)
    law: Any = operator
    probability = np.stack([law.operator.law(window[0]) for window in statistics]) / 2.0**64
    (tried,) = try_out(bench_of(query, counted, own(query)), 200)
    values = statistics[:, 0]
    true, false = values > THRESHOLD, values <= THRESHOLD - 18
    uncertain = ~true & ~false
    for cells, rings, rate in (
        (true, False, Rate(tried.tally.missed, tried.tally.true)),
        (false, True, Rate(tried.tally.false_rings, tried.tally.false)),
        (uncertain, True, Rate(tried.tally.uncertain_rings, tried.tally.uncertain)),
    ):
        assert rate.of == 200 * np.count_nonzero(cells) > 10_000
        chances = probability[cells] if rings else 1 - probability[cells]
        error = np.sqrt((chances * (1 - chances)).mean() / rate.of)
        assert rate.value is not None
        assert abs(rate.value - chances.mean()) < 6 * error
        low, high = rate.interval_at(0.999_999_9)
        assert low < chances.mean() < high


def test_every_false_alarm_is_counted_where_no_tolerance_excuses_it() -> None:
    """A cell just inside twice the tolerance is uncertain, the next one is false."""
    query = alarm(4)
    values = np.array([[[THRESHOLD + 1, THRESHOLD, THRESHOLD - 17, THRESHOLD - 18]]], np.int64)
    tally = Tally()
    granted = may_ring(query.condition, query.aim, values[0])
    tally.count(np.ones(4, np.bool_), true=query.condition.truth(values[0]), granted=granted)
    assert (tally.true, tally.missed) == (1, 0)
    assert (tally.uncertain, tally.uncertain_rings) == (2, 2)
    assert (tally.false, tally.false_rings) == (1, 1)


class Mute:
    """A broken mechanism: it promises everything and never rings."""

    def __init__(self, cells: int) -> None:
        """Cost one loss unit a cell."""
        self.plan = Plan("tslm", Fraction(1, 10**12), 1.0)
        self._cells = cells

    def decide(self, _statistics: NDArray[np.int64], _noise: NoiseSource) -> Decision:
        """Stay silent."""
        return Decision(np.zeros(self._cells, np.bool_), UniformCost(1, self._cells))


def test_a_mechanism_that_never_rings_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin shows a miss rate of 1, is accused on the page and never recommended."""
    query = alarm(10)

    def broken(_mechanism: str, condition: Condition, _aim: Aim, **_: object) -> Mute:
        return Mute(condition.cells)

    monkeypatch.setattr(trials, "create", broken)
    simulation = simulated(query, near_the_threshold(20, 10), mechanisms=["tslm"])
    (results,) = simulation.results
    for one in results.measured:
        assert one.fnr.value == 1.0
        assert (one.fpr.value or 0) + (one.uncertain.value or 0) == 0
        assert not one.keeps
    assert advice_on(results).best is None
    assert "missed more than max_fnr allows" in shown(simulation)
    assert "missed more than max_fnr allows" in html_page(simulation)


@pytest.mark.parametrize(("count", "of"), [(0, 7), (7, 7), (3, 11), (1, 100_000), (420, 9000)])
def test_intervals_are_clopper_pearson(count: int, of: int) -> None:
    """The interval is that of scipy's exact binomial test."""
    expected = binomtest(count, of).proportion_ci(0.95, method="exact")
    assert Rate(count, of).interval == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_true_is_no_miss_rate_of_zero() -> None:
    """A history without a true alarm has no miss rate, and every output says so."""
    statistics = np.full((3, 1, 5), 2, dtype=np.int64)
    simulation = simulated(alarm(5), statistics)
    (results,) = simulation.results
    assert {one.fnr.value for one in results.measured} == {None}
    assert Rate(0, 0).interval == (0.0, 1.0)
    assert NOTHING_TRUE in shown(simulation)
    assert NOTHING_TRUE.capitalize() in html_page(simulation)
    (shown_json,) = report(simulation)["alarms"]
    assert shown_json["settings"][0]["fnr"]["value"] is None


@pytest.mark.parametrize("seed", range(20))
def test_uncertain_cells_follow_the_definition(seed: int) -> None:
    """Cell by cell: the formula with every literal granted twice its tolerance, and no less."""
    random = np.random.default_rng(seed)
    names = "abcd"[: int(random.integers(1, 5))]
    text = names[0]
    for name in names[1:]:
        text = f"({text} {random.choice(['AND', 'OR'])} {random.choice(['', 'NOT '])}{name})"
    formula = Formula.parse(random.choice(["NOT ", ""]) + text)
    cells, number = 30, 2
    atoms = {
        name: ThresholdAtom(int(random.integers(number)), random.integers(-5, 6, cells))
        for name in names
    }
    tolerances = tuple(random.integers(0, 4, len(formula.atoms)).tolist())
    condition = Condition(formula, atoms, (1, 3))
    statistics = random.integers(-12, 13, (number, cells))
    granted = may_ring(condition, Aim(Fraction(1, 20), tolerances), statistics)
    room = dict(zip(formula.atoms, tolerances, strict=True))
    for cell in range(cells):
        holds = {}
        for literal in formula.literals:
            name = literal.removeprefix("NOT ")
            value = int(statistics[atoms[name].statistic, cell])
            bound = int(atoms[name].thresholds[cell])
            plain = literal == name
            holds[literal] = (
                value + 2 * room[name] >= bound if plain else value - 2 * room[name] < bound
            )
        columns = {literal: np.array([held]) for literal, held in holds.items()}
        assert granted[cell] == formula.evaluate_literals(columns)[0]
    assert (condition.truth(statistics) <= granted).all()


def test_thresholds_at_the_ends_of_int64_do_not_wrap() -> None:
    """A granted literal stays granted, however far its threshold and tolerance are."""
    ends = np.iinfo(np.int64)
    bounds = np.array([ends.min, ends.min + 1, 0, ends.max], np.int64)
    for text in ("a", "NOT a"):
        condition = Condition(Formula.parse(text), {"a": ThresholdAtom(0, bounds)}, (1,))
        for tolerance in (1, 1 << 61, (1 << 62) - 1):
            for values in (bounds, bounds[::-1].copy()):
                true = condition.truth(values[None])
                granted = may_ring(condition, Aim(Fraction(1, 20), (tolerance,)), values[None])
                moved = [int(bound) + (-2 if text == "a" else 2) * tolerance for bound in bounds]
                exact = [
                    int(v) >= at if text == "a" else int(v) < at
                    for v, at in zip(values, moved, strict=True)
                ]
                assert (granted | true).tolist() == granted.tolist()
                # int64's last value is below no int64 bound: such a cell may look false.
                assert all(
                    one == other or int(v) == ends.max
                    for one, other, v in zip(granted.tolist(), exact, values, strict=True)
                )


# -- Draws and processes --------------------------------------------------------------------------


@pytest.mark.parametrize(("cells", "runs"), [(3, 1), (3, 64), (3, 1000), (90_000, 7), (10**6, 2)])
def test_tasks_cover_every_window_and_run_once(cells: int, runs: int) -> None:
    """Whatever the sizes, each window is decided exactly ``runs`` times, in bounded portions."""
    nothing = np.zeros(0, dtype=np.int64)
    counted = CountedAlarm("a", nothing, 1, cells, np.zeros(12, np.int64), nothing, nothing)
    decided = Counter[int]()
    for task in tasks_of(counted, 0, runs):
        assert task.first < task.last
        assert task.draws <= 64
        decided.update(dict.fromkeys(range(task.first, task.last), task.runs))
    assert decided == dict.fromkeys(range(11), runs)


def test_tallies_add_up() -> None:
    """Two halves added are the whole."""
    query, random = alarm(8), np.random.default_rng(2)
    counted = counted_alarm(near_the_threshold(6, 8))
    trier = Trier(bench_of(query, counted, own(query)), NoiseSource())
    whole = Tally()
    for first in range(0, 6, 2):
        whole.add(trier.run(Task(0, first, first + 2, int(random.integers(1, 4)))))
    cells = whole.true + whole.false + whole.uncertain
    assert cells == 8 * whole.windows == whole.losses.total()
    assert whole.dearest.total() == whole.windows


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    """One process and two decide the same cells, and ring at rates that chance explains."""
    query = alarm(30)
    counted = counted_alarm(near_the_threshold(10, 30))
    settings = (own(query), own(query, "ppwlm"))
    alone = try_out(bench_of(query, counted, *settings), 40)
    heard: list[tuple[int, int]] = []
    both = try_out(
        bench_of(query, counted, *settings),
        40,
        workers=2,
        on_draws=lambda done, total: heard.append((done, total)),
    )
    assert heard[0] == (0, 800)
    assert heard[-1] == (800, 800)
    for one, other in zip(alone, both, strict=True):
        assert one.plan == other.plan
        for name in ("windows", "true", "false", "uncertain"):
            assert getattr(one.tally, name) == getattr(other.tally, name)
        for rang, of in (("missed", "true"), ("uncertain_rings", "uncertain")):
            counts = getattr(one.tally, rang), getattr(other.tally, rang)
            number = getattr(one.tally, of)
            share = sum(counts) / (2 * number)
            assert abs(counts[0] - counts[1]) < 6 * np.sqrt(2 * number * share * (1 - share))
            assert counts[0] != 0


class Fatal:
    """Something no process survives unpacking."""

    def __reduce__(self) -> tuple[Any, ...]:
        """End whoever unpickles this."""
        return os._exit, (1,)


def test_a_process_that_dies_is_an_error_with_a_hint() -> None:
    """A worker that is killed ends the simulation at once, with what to do."""
    fatal: Any = {"crowd": Fatal()}
    query = alarm(2)
    with pytest.raises(DependencyError, match="before its time") as caught:
        try_out(Bench(fatal, {}, {}, (own(query),)), 1, workers=2)
    assert "--workers" in caught.value.hint


def test_settings_that_cannot_be_planned_are_told_with_their_reason() -> None:
    """A mechanism that does not take the condition is left out, the others are tried."""
    query = alarm(3)
    formula = Formula.parse("a AND b")
    bound = query.condition.atoms["a"]
    atoms = {"a": bound, "b": ThresholdAtom(1, bound.thresholds)}
    condition = Condition(formula, atoms, (1, 1))
    aim = Aim(Fraction(1, 20), (5, 5))
    settings = [Setting("crowd", name, Fraction(1), aim, False) for name in ("dppwlm", "tslm")]
    statistics = np.full((2, 2, 3), 60, np.int64)
    bench = Bench(
        {"crowd": counted_alarm(statistics)}, {"crowd": condition}, {"crowd": 1}, tuple(settings)
    )
    refused, tried = try_out(bench, 1)
    assert isinstance(refused.plan, str)
    assert refused.tally.windows == 0
    assert isinstance(tried.plan, Plan)
    assert tried.tally.true == 6


# -- Losses ---------------------------------------------------------------------------------------


def test_losses_are_summed_up_as_numpy_does() -> None:
    """Mean, maximum and quantiles of a counted law are those of the single losses."""
    random = np.random.default_rng(3)
    for _ in range(50):
        levels = random.integers(0, 10**12, random.integers(1, 8))
        single = random.choice(levels, int(random.integers(1, 60)))
        losses = Losses.of(Counter(single.tolist()))
        epsilons = single / 1e12
        assert losses.mean == pytest.approx(epsilons.mean())
        assert losses.most == pytest.approx(epsilons.max())
        for share in (0.5, 0.95, 1.0):
            expected = np.quantile(epsilons, share, method="inverted_cdf")
            assert losses.quantile(share) == pytest.approx(expected)


def test_uniform_losses_are_the_plan_and_its_min_entropy() -> None:
    """TSLM loses its plan in every cell; two dearest cells lose it twice."""
    query = alarm(7)
    (tried,) = try_out(bench_of(query, counted_alarm(near_the_threshold(3, 7)), own(query)), 5)
    assert isinstance(tried.plan, Plan)
    units = to_loss_units(tried.plan.epsilon)
    assert tried.tally.losses == {units: 7 * 15}
    assert tried.tally.dearest == {2 * units: 15}
    expected = min_entropy([float(tried.plan.epsilon)] * 7).normalised
    measured = Measured(own(query), tried.plan, fits=True, tally=tried.tally)
    assert measured.entropy == pytest.approx(expected, rel=0.01)


def test_progressive_mechanisms_lose_no_more_than_planned() -> None:
    """Realised losses stay within the plan, and cells far from the threshold lose less."""
    query = alarm(20, tolerance=3)
    far = np.full((4, 1, 20), 2, dtype=np.int64)
    far[:, :, 0] = THRESHOLD
    tried = try_out(bench_of(query, counted_alarm(far), own(query, "ppwlm")), 20)[0]
    assert isinstance(tried.plan, Plan)
    worst = to_loss_units(tried.plan.epsilon)
    assert max(tried.tally.losses) == worst
    assert min(tried.tally.losses) < worst
    assert max(tried.tally.dearest) <= 2 * worst


# -- Settings and advice --------------------------------------------------------------------------


def test_own_setting_is_among_what_is_tried() -> None:
    """By default every mechanism is tried at four tolerances, the own setting marked once."""
    for mechanism in ("tslm", "probe"):
        query = alarm(3, tolerance=4, mechanism=mechanism)
        if mechanism == "probe":
            aim = replace(query.aim, first_tolerances=(11,))
            query = replace(query, aim=aim, first=FirstTolerances((11,), (12,)))
        settings, untried = settings_of(query)
        assert not untried
        assert [each.mechanism for each in settings if each.configured] == [mechanism]
        assert {each.aim.tolerances for each in settings} == {(2,), (4,), (8,), (16,)}
        assert len({(each.mechanism, each.aim) for each in settings}) == len(settings) == 20
        for each in settings:
            if each.mechanism.startswith("probe"):
                assert each.aim.first_tolerances[0] >= each.aim.tolerances[0]
            else:
                assert each.aim.first_tolerances == ()
        configured = next(each for each in settings if each.configured)
        assert configured.aim == query.aim


def test_tolerances_beyond_the_threshold_are_left_out() -> None:
    """A factor that would let an empty cell ring is not tried, and it is said why."""
    settings, untried = settings_of(alarm(3, tolerance=20), mechanisms=["tslm"])
    assert [each.aim.tolerances for each in settings] == [(10,), (20,), (40,)]
    assert [each.setting.aim.tolerances for each in untried] == [(80,)]
    assert "larger than the threshold" in untried[0].reason


def test_equal_settings_are_tried_once() -> None:
    """Tolerances that round to the same number, and no tolerance at all, are not repeated."""
    settings, _ = settings_of(
        alarm(3, tolerance=0), mechanisms=["tslm", "tslm"], rates=[Fraction(1, 10)] * 2
    )
    assert [each.aim for each in settings] == [Aim(Fraction(1, 10), (0,))]


def test_advice_is_the_cheapest_that_fits_and_asks_for_no_less() -> None:
    """What is recommended keeps tolerance and max_fnr; the cheaper, wider one is said apart."""
    simulation = simulated(alarm(10), near_the_threshold(5, 10))
    (results,) = simulation.results
    advice = advice_on(results)
    assert advice.best is not None
    assert advice.wider is not None
    assert advice.best.setting.configured
    assert advice.wider.setting.aim.tolerances == (36,)
    assert advice.wider.setting.mechanism == "tslm"
    assert "Your own setting" in advice.text
    assert "asking for less" in advice.text
    cheapest = [one for one in results.measured if one.setting.mechanism != "nlm"]
    assert min(one.losses.mean for one in cheapest) == advice.wider.losses.mean


def test_advice_where_little_or_nothing_fits() -> None:
    """Settings that the budget does not carry are never recommended."""
    statistics = near_the_threshold(5, 10)
    (results,) = simulated(alarm(10), statistics, fits=0.13).results
    advice = advice_on(results)
    assert advice.best is None
    assert advice.wider is not None
    assert "No setting that asks for as much" in advice.text
    (results,) = simulated(alarm(10), statistics, fits=0.0).results
    assert "None of these settings fits" in advice_on(results).text


def test_baselines_are_never_recommended() -> None:
    """NLM costs as little as TSLM, and breaks the promise: it is shown and not advised."""
    (results,) = simulated(alarm(10), near_the_threshold(5, 10), mechanisms=["nlm"]).results
    assert len(results.measured) == 4
    assert advice_on(results).wider is None


# -- Outputs --------------------------------------------------------------------------------------


def test_files_are_for_their_owner_and_never_replaced(tmp_path: Path) -> None:
    """Mode 0600 whatever the umask; what exists stays unless forced; links are not followed."""
    path = tmp_path / "out.json"
    before = os.umask(0)
    try:
        write_private(path, "one", force=False)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for refused in (
        lambda: check_output(path, force=False),
        lambda: write_private(path, "two", force=False),
    ):
        with pytest.raises(ConfigError, match="exists"):
            refused()
    assert path.read_text() == "one"
    check_output(path, force=True)
    write_private(path, "two", force=True)
    assert path.read_text() == "two"
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("kept")
    link.symlink_to(victim)
    with pytest.raises(ConfigError, match="exists"):
        write_private(link, "three", force=False)
    write_private(link, "three", force=True)
    assert victim.read_text() == "kept"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "out.json", "victim"]


@pytest.mark.parametrize("place", [".", "missing/out.json"])
def test_impossible_places_are_refused_before_the_work(tmp_path: Path, place: str) -> None:
    """A folder, or a file in no folder, is refused at once."""
    with pytest.raises(ConfigError):
        check_output(tmp_path / place, force=True)
    with pytest.raises(ConfigError):
        write_private(tmp_path / "missing" / "out.json", "x", force=False)


class Elements(HTMLParser):
    """Collects ids and references, and checks that elements are closed in order."""

    VOID = frozenset({"meta", "br", "path", "use"})

    def __init__(self) -> None:
        """Start with nothing seen."""
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        if tag not in self.VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that is closed at once."""
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in {"src", "href", "xlink:href", "srcset", "data", "action"}:
                self.references.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        """Close the last element."""
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_page_stands_by_itself() -> None:
    """Nothing is loaded from anywhere, ids are unique, texts escaped, both colour schemes there."""
    simulation = simulated(alarm(6), near_the_threshold(4, 6))
    text = html_page(simulation)
    page = Elements()
    page.feed(text)
    assert page.open == []
    assert page.ids
    assert len(set(page.ids)) == len(page.ids)
    assert all(each.startswith("#") and each[1:] in page.ids for each in page.references)
    for link in (
        "src=",
        "@import",
        "<script",
        "<link",
        "url(http",
        "url('",
        "<b>",
        "<!DOCTYPE svg",
    ):
        assert link not in text
    for clip in {part.split(")")[0] for part in text.split("url(#")[1:]}:
        assert clip in page.ids
    assert "prefers-color-scheme: dark" in text
    assert "&lt;b&gt;&amp;" in text
    assert "&lt;alarms&gt;.yaml" in text
    assert AUDIENCE[1:] in text
    assert text.count("<svg") == 3
    assert not any(stand_in in text for stand_in in ("#0a0b", "#010203", "#010204"))


def test_page_of_one_cell_has_no_min_entropy() -> None:
    """With one predicate there is nothing to guess: no plot, no column, ``null`` in JSON."""
    simulation = simulated(alarm(1), near_the_threshold(4, 1))
    assert html_page(simulation).count("<svg") == 2
    assert "<th>min-entropy</th>" not in html_page(simulation)
    (shown_json,) = report(simulation)["alarms"]
    assert {one["min_entropy_normalised"] for one in shown_json["settings"]} == {None}


def test_page_and_table_of_an_alarm_that_nothing_answers() -> None:
    """An alarm without a single setting is said to have none, with reasons."""
    simulation = simulated(alarm(2), near_the_threshold(2, 2))
    (results,) = simulation.results
    why = Untried(results.measured[0].setting, "it cannot")
    nothing = replace(results, measured=(), untried=(why,))
    bare = replace(simulation, results=(nothing,))
    for text in (html_page(bare), shown(bare), json.dumps(report(bare))):
        assert "Nothing that was tried" in text
        assert "it cannot" in text


def test_json_says_who_may_read_it() -> None:
    """The report is plain JSON; audience and caveat stand in it; shares add up to one."""
    simulation = simulated(alarm(6), near_the_threshold(4, 6))
    read = json.loads(json.dumps(report(simulation), allow_nan=False))
    assert read["audience"].startswith("custodian only")
    assert read["caveat"] == CAVEAT
    (one,) = read["alarms"]
    assert sum(each["recommended"] for each in one["settings"]) == 1
    for each in one["settings"]:
        shares = [step["share"] for step in each["epsilon_cell"]["distribution"]]
        assert sum(shares) == pytest.approx(1)
        assert each["epsilon_cell"]["max"] <= each["epsilon_worst"] + 1e-12
    assert AUDIENCE in shown(simulation).replace("\n", " ").strip()[: len(AUDIENCE) + 5]


def test_html_without_matplotlib_is_refused_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named where plots cannot be drawn."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("stream.simulation.page", "stream.simulation.plots"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError) as caught:
        command._page()
    assert "tocsin[simulate]" in caught.value.hint


# -- History --------------------------------------------------------------------------------------


def test_partitions_are_added_up_saturating() -> None:
    """Sparse counts of several partitions add up cell by cell, clamped as decisions clamp them."""
    random = np.random.default_rng(5)
    limit = (1 << 62) - 1
    for _ in range(50):
        total = [0] * 6
        window = None
        for _ in range(3):
            index = np.flatnonzero(random.random(6) < 0.5)
            value = random.choice([-(1 << 62), -3, 2, 1 << 62], len(index)).astype(np.int64)
            part: Any = type("P", (), {"index": index, "value": value, "complete": True})
            window = history._Window.of(part) if window is None else window.plus(part)
            for at, each in zip(index.tolist(), value.tolist(), strict=True):
                clamped = min(max(each, -limit), limit)
                total[at] = min(max(total[at] + clamped, -limit), limit)
        assert window is not None
        dense = np.zeros(6, np.int64)
        dense[window.index] = window.value
        assert dense.tolist() == total


def test_dense_windows_are_what_was_counted() -> None:
    """Sparse storage gives every window's statistics back."""
    statistics = np.random.default_rng(6).integers(-2, 3, (5, 3, 4))
    counted = counted_alarm(statistics)
    assert counted.windows == 5
    for window in range(5):
        assert np.array_equal(counted.dense(window), statistics[window])
