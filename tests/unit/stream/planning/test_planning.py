"""From a file to its plan: costs, the first refusal, and the smallest changes that make it fit."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.budget.filter import EventFilter, UserFilter
from accountant.budget.plan import epsilon_needed
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.units import PrivacyUnit, to_loss_units
from stream.decisions.mechanisms import plans_of
from stream.decisions.registration import registration, shape_of
from stream.model.alarms import cells_per_unit
from stream.planning.budget import (
    REFERENCE_MS,
    budget_plan,
    period_table,
    planned_shape,
)
from stream.planning.figures import figures
from stream.planning.occupancy import ActiveWindows, first_ending_after
from stream.planning.search import largest, rounded, rounded_index, smallest
from stream.planning.solver.changes import ChangeKind
from stream.planning.solver.solver import solve
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.periods import Periods
from stream.windows.schedule import Schedule
from tests.support.commands import tocsin
from tests.support.planned import Alarm, Config, calendars, outlook
from tests.unit.stream.planning.walking import touching

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.alarms import Alarms
    from stream.planning.solver.changes import Change
    from stream.windows.calendars import Calendar

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


HOP = "HOP(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)"
OVER_BUDGET = {
    "one tumbling": Config({"a": Alarm()}),
    "a short day": Config({"a": Alarm(extra={"active": '"Mon-Fri 08:00-20:00"'})}),
    "two of a person": Config({"a": Alarm(), "b": Alarm(tolerance="30")}, epsilon_max="20"),
    "caps": Config(
        {"a": Alarm()}, caps=", contribution: {max_groups_per_window: 2, max_events_per_group: 3}"
    ),
    "sums": Config({"a": Alarm(having="SUM(paid) > 200", tolerance="2.5")}, epsilon_max="11"),
    "a false alarm's rate": Config({"a": Alarm(extra={"max_fpr": "0.01"})}, epsilon_max="30"),
    "hopping person": Config({"a": Alarm(window=HOP, tolerance="9")}, epsilon_max="15"),
    "days in a week": Config(
        {"a": Alarm(window="TUMBLE(ts, INTERVAL '1' DAY)")}, period="1w", timezone="Europe/Berlin"
    ),
    "hopping event": Config({"a": Alarm(window=HOP)}, unit="event"),
    "rooms": Config(
        {
            "a": Alarm(window=HOP, where="WHERE room = 'lab'"),
            "b": Alarm(where="WHERE room IN ('hall', 'lab')"),
            "c": Alarm(tolerance="3", where="WHERE room = 'attic'"),
        },
        unit="event",
        epsilon_max="5",
    ),
    "one round of a lifetime": Config(
        {"a": Alarm(), "b": Alarm()}, period="lifetime", epsilon_max="2"
    ),
    "a coin": Config({"a": Alarm()}, epsilon_max="0.1"),
}


def changed(config: Config, name: str, kind: ChangeKind, value: str) -> Config | None:
    """Return the file with a change written into it; ``None`` of one that is written elsewhere."""
    if kind is ChangeKind.EPSILON_MAX:
        return replace(config, epsilon_max=value)
    written = {ChangeKind.TOLERANCE: "tolerance", ChangeKind.MAX_FNR: "max_fnr"}
    written |= {ChangeKind.WINDOW: "window"}
    if kind not in written:
        return None
    one = replace(config.alarms[name], **{written[kind]: value})
    return replace(config, alarms={**config.alarms, name: one})


def one_step_less(config: Config, name: str, change: Change) -> str | None:
    """Return what falls short of a change by the smallest step."""
    value = change.value
    match change.kind:
        case ChangeKind.TOLERANCE:
            step = Fraction("0.5") if "paid" in config.alarms[name].having else Fraction(1)
            return str(Fraction(value) - step)
        case ChangeKind.MAX_FNR:
            rate = rounded(rounded_index(Fraction(value)) - 1)
            return str(max(rate, Fraction(config.alarms[name].max_fnr)))
        case _:
            return None


@pytest.mark.long
@pytest.mark.parametrize("config", OVER_BUDGET.values(), ids=OVER_BUDGET)
def test_every_change_makes_it_fit_and_one_step_less_does_not(
    tmp_path: Path, config: Config
) -> None:
    """Each change of one alarm, written into the file, is enough, and is the smallest that is."""
    alarms = config.load(tmp_path)
    assert not budget_plan(alarms).fits
    (budget,) = figures(alarms)
    if budget.needed:
        for less, fits in ((0, True), (Fraction(1, 10_000), False)):
            wall = str(Fraction(budget.needed) - less)
            assert budget_plan(replace(config, epsilon_max=wall).load(tmp_path)).fits is fits
    for one in solve(alarms):
        for change in one.changes:
            enough = changed(config, one.alarm.id, change.kind, change.value)
            if enough is not None:
                assert budget_plan(enough.load(tmp_path)).fits, change
            less = one_step_less(config, one.alarm.id, change)
            short = None if less is None else changed(config, one.alarm.id, change.kind, less)
            if short is not None:
                assert not budget_plan(short.load(tmp_path)).fits, change


def test_no_smaller_change_was_overlooked(tmp_path: Path) -> None:
    """Trying every multiple of the window in turn finds the one that is shown."""
    config = OVER_BUDGET["one tumbling"]
    (one,) = solve(config.load(tmp_path))
    (shown,) = [change.value for change in one.changes if change.kind is ChangeKind.WINDOW]
    assert shown == next(
        window
        for hours in (2, 3, 4, 5, 6, 8, 10, 12, 15, 24)
        if budget_plan(
            changed(
                config, "a", ChangeKind.WINDOW, window := f"TUMBLE(ts, INTERVAL '{hours}' HOUR)"
            ).load(tmp_path)
        ).fits
    )


def test_a_plan_that_fits_needs_no_change(tmp_path: Path) -> None:
    """Nothing is refused, and nothing is to be changed."""
    config = Config({"a": Alarm()}, unit="event")
    looked = config.look(tmp_path)
    assert (looked.plan.fits, looked.refusal) == (True, None)
    assert not any(one.changes for one in solve(config.load(tmp_path)))


def walked(alarms: Alarms, since_ms: int, until_ms: int, *, whole: bool) -> WindowKey | None:
    """Walk every window with the real filter to the first refusal."""
    plans = plans_of(alarms)
    wall = int(alarms.budget.epsilon_max * 10**12)
    judge: EventFilter | UserFilter
    user = alarms.budget.unit is PrivacyUnit.USER
    judge = UserFilter(wall, {}, {}) if user else EventFilter(wall, [])
    keys = sorted(
        WindowKey(end_ms, query.id, start_ms)
        for query in alarms.by_name.values()
        for _, start_ms, end_ms in touching(query.calendar, since_ms, until_ms)
        if whole or start_ms >= since_ms
    )
    for key in keys:
        query = alarms.by_name[key.query]
        cost = UniformCost(to_loss_units(plans[query.id].epsilon), len(query.domain))
        cells = cells_per_unit(query, alarms.budget)
        charge = Charge(key, cost, cells, (0,) if user else ())
        shape = shape_of(query)
        if judge.answer(charge, shape) is not Answer.RESERVED:
            return key
        held = Held(key.start_ms, key.end_ms, charge.loss_units, shape)
        judge.hold(Standing(held, open=False, periods=charge.periods))
    return None


WINDOWS = [
    "TUMBLE(ts, INTERVAL '1' HOUR)",
    "TUMBLE(ts, INTERVAL '7' HOUR)",
    "TUMBLE(ts, INTERVAL '1' DAY)",
    HOP,
    "HOP(ts, INTERVAL '2' HOUR, INTERVAL '5' HOUR)",
]
ACTIVE = [
    {},
    {"active": '"Mon-Fri 07:00-22:00"'},
    {"active": '"Fri-Sun 20:00-08:00"'},
    {"active": '"Sat 22:00-24:00, Sun 00:00-24:00"'},
]
WHERE = ["", "WHERE room = 'lab'", "WHERE room <> 'lab'", "WHERE floor = 1", "WHERE paid > 2"]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_a_plan_that_fits_is_never_refused(tmp_path: Path, seed: int) -> None:
    """Random alarms under the least wall that fits: no day about a clock change has a refusal.

    Under unit ``user`` a wall below it refuses some window of the fullest period.
    """
    random = Random(seed)
    alarms = {
        f"a{number}": Alarm(
            window=random.choice(WINDOWS),
            where=random.choice(WHERE),
            tolerance=str(random.randint(1, 30)),
            extra=random.choice([ACTIVE[0], random.choice(ACTIVE)]),
        )
        for number in range(random.randint(1, 4))
    }
    alarms = {
        name: replace(one, extra={}) if "7' HOUR" in one.window or "DAY" in one.window else one
        for name, one in alarms.items()
    }
    unit = random.choice(["user", "event"])
    config = Config(alarms, unit=unit, epsilon_max="0.001", timezone="Europe/Berlin")
    looked = config.look(tmp_path)
    needed = Fraction(epsilon_needed(looked.plan.worst_units))
    least = replace(config, epsilon_max=str(needed))
    assert least.look(tmp_path).plan.fits
    if unit == "user":
        short = replace(config, epsilon_max=str(needed - Fraction(1, 10_000)))
        assert short.look(tmp_path).refusal is not None
    march_ms = REFERENCE_MS + 88 * DAY_MS  # a Friday; clocks change on Sunday, 2024-03-31
    loaded = least.load(tmp_path)
    periods = loaded.budget.periods
    if periods is None or periods.calendar is None:
        assert walked(loaded, march_ms, march_ms + 5 * DAY_MS, whole=False) is None
        return
    first = periods.calendar.first_starting_at(march_ms)
    for index in range(first, first + 5):
        assert walked(loaded, *periods.calendar.bounds(index), whole=True) is None


LIFETIME = Config(
    {
        "a": Alarm(extra={"active": '"Mon-Fri 07:00-22:00"'}),
        "b": Alarm(window="TUMBLE(ts, INTERVAL '1' DAY)", tolerance="9"),
    },
    period="lifetime",
    timezone="America/New_York",
)
OF_A_PERIOD = ("one tumbling", "two of a person", "caps")
REFUSED = {name: OVER_BUDGET[name] for name in (*OF_A_PERIOD, "hopping event", "rooms")} | {
    f"lifetime of {wall}": replace(LIFETIME, epsilon_max=wall) for wall in ("7", "31", "290")
}


@pytest.mark.parametrize("name", REFUSED)
def test_first_refusal_is_the_filters(tmp_path: Path, name: str) -> None:
    """A plain walk with the real filter and the registered regions meets it at the same window.

    A period is played from where it begins (where windows reach back into the one before,
    ``test_playing.py``), events and endless alarms from the reference week on.
    """
    alarms = REFUSED[name].load(tmp_path)
    (looked,) = outlook(alarms)
    whole = name in OF_A_PERIOD
    since_ms = looked.played.since_ms if whole else REFERENCE_MS
    until_ms = since_ms + (1 if whole else 400) * DAY_MS
    key = walked(alarms, since_ms, until_ms, whole=whole)
    assert (looked.refusal.alarm, looked.refusal.start_ms) == (key.query, key.start_ms)


def test_a_declared_history_is_where_a_lifetime_begins_and_ends(tmp_path: Path) -> None:
    """A replay's refusal counts from its start; one that ends before the budget does has none."""
    history = "{from: 2011-01-01, until: 2011-01-02}"
    config = Config({"a": Alarm()}, period="lifetime", epsilon_max="7", history=history)
    looked = config.look(tmp_path)
    assert looked.refusal.granted == {"a": 5}
    enough = replace(config, epsilon_max="34")
    assert enough.look(tmp_path).refusal is None
    assert replace(config, epsilon_max="33").look(tmp_path).refusal is not None


def test_alarms_of_different_hours_share_no_row(tmp_path: Path) -> None:
    """Schedules without a common minute compose in parallel, over the end of the week too."""
    config = Config(
        {
            "night": Alarm(extra={"active": '"Sun 22:00-06:00"'}),
            "morning": Alarm(extra={"active": '"Mon 06:00-12:00"'}),
            "always": Alarm(),
        },
        unit="event",
    )
    looked = config.look(tmp_path)
    assert looked.plan.fits
    assert looked.plan.worst_units == 2 * to_loss_units(looked.plan.alarms[0].epsilon)
    separate = [pair.separated_by for pair in looked.plan.sharing.pairs]
    assert separate == [("active (UTC)",), (), ()]


def test_details_say_which_alarms_share_rows(tmp_path: Path) -> None:
    """What keeps two alarms apart is named, and what it saves."""
    path = OVER_BUDGET["rooms"].write(tmp_path)
    shown = tocsin("plan", path, "--details").stdout
    assert "a, c: share no row: badges.room" in shown
    assert "a, b: share rows" in shown
    assert "that row is in a, b" in shown


@pytest.mark.long
def test_thirty_alarms_are_planned_quickly(tmp_path: Path) -> None:
    """A file of 30 alarms that does not fit takes seconds at most, whatever the unit."""
    for unit in ("user", "event"):
        alarms = {
            f"a{number}": Alarm(
                having=f"COUNT(*) > {300 + number}",
                window=HOP if number % 2 else "TUMBLE(ts, INTERVAL '15' MINUTE)",
                extra={"active": '"Mon-Fri 07:00-22:00"'} if number % 3 else {},
            )
            for number in range(30)
        }
        config = Config(alarms, unit=unit).load(tmp_path)
        begun_s = time.process_time()
        (looked,) = figures(config)
        assert time.process_time() - begun_s < 60  # seconds on a machine that is not busy
        assert not looked.fits


def test_registered_shape_is_what_the_query_covers(tmp_path: Path) -> None:
    """Both ways into the ledger pin region and grouping; the same cells are one grouping."""
    config = Config(
        {
            "a": Alarm(where="WHERE room = 'lab'"),
            "b": Alarm(),
            "c": Alarm(group="floor, "),
            "d": Alarm(group="", extra={"active": '"Mon 08:00-12:00"'}),
        }
    )
    alarms = config.load(tmp_path)
    shapes = {name: shape_of(query) for name, query in alarms.by_name.items()}
    assert shapes["a"].grouping == shapes["b"].grouping
    assert len({shape.grouping for shape in shapes.values()}) == 3
    assert shapes["a"].region != shapes["b"].region
    made = registration(alarms.by_name["a"], alarms, 7)
    assert (made.shape, made.first_start_ms, made.scope) == (shapes["a"], 7, "user")
    assert planned_shape(alarms.by_name["a"]) == shapes["a"]
    assert planned_shape(alarms.by_name["d"]).as_region.attributes[0] == "active (UTC)"


@settings(max_examples=40)
@given(calendars, st.integers(0, 20_000), st.lists(st.integers(1, 200), min_size=1, max_size=6))
def test_windows_are_counted_without_a_walk(
    calendar: Calendar, first_hour: int, hours: list[int]
) -> None:
    """Per period, and per number, the counts are those of looking at every window."""
    edges = HOUR_MS * np.cumsum([first_hour, *hours]).astype(np.int64)
    starts, ends = edges[:-1], edges[1:]
    active = ActiveWindows(calendar, int(edges[0]), int(edges[-1]))
    index = calendar.first_starting_at(int(edges[0]))
    while calendar.bounds(index - 1)[1] > int(edges[0]):
        index -= 1
    low, counts = index, [0] * len(hours)
    while (bounds := calendar.bounds(index))[0] < int(edges[-1]):
        if calendar.active(index):
            for at, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
                counts[at] += bounds[0] < end and bounds[1] > start
        index += 1
    assert active.touching(starts, ends).tolist() == counts
    assert active.between(low, index) == sum(calendar.active(at) for at in range(low, index))
    assert first_ending_after(calendar, int(edges[0])) <= max(low, index)


@pytest.mark.parametrize(
    "period", [LocalCalendar(1, 1, "Europe/Berlin"), LocalCalendar(28, 28, "UTC")]
)
@pytest.mark.parametrize(
    "calendar",
    [
        FixedCalendar(HOUR_MS, HOUR_MS, Schedule.parse("Mon-Fri 07:00-22:00", "Europe/Berlin")),
        FixedCalendar(HOUR_MS, 600_000),
        LocalCalendar(7, 1, "Europe/Berlin"),
    ],
)
def test_kinds_of_periods_hold_the_most_windows(period: LocalCalendar, calendar: Calendar) -> None:
    """The fullest of two years is the one that the period itself finds."""
    first = period.first_starting_at(REFERENCE_MS)
    last = period.first_starting_at(REFERENCE_MS + 2 * 366 * DAY_MS)
    windows = touching(calendar, REFERENCE_MS - 9 * DAY_MS, period.bounds(last)[1])
    starts, stops = np.array([bounds for _, *bounds in windows]).T
    most = max(
        int(((starts < end_ms) & (stops > start_ms)).sum())
        for start_ms, end_ms in map(period.bounds, range(first, last + 1))
    )
    assert int(period_table(Periods(period)).windows(calendar).max()) == most


@given(
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(-5, 70),
    st.booleans(),
)
def test_smallest_finds_the_edge(low: int, span: int, edge: int, near: bool) -> None:
    """Wherever it begins, the search ends at the first number that fits, asking inside only."""
    high = low + span

    def at_least(number: int) -> bool:
        assert low < number <= high
        return number >= edge

    expected = max(edge, low + 1)
    assert smallest(at_least, low, high, near=near) == (expected if expected <= high else None)
    assert largest(lambda number: not at_least(number), low, high) == (
        max(min(high, edge - 1), low)
    )


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**6))
def test_three_digits_are_rounded_up(value: Fraction) -> None:
    """The least number of three significant digits that is not below."""
    index = rounded_index(value)
    assert rounded(index - 1) < value <= rounded(index)
    assert rounded_index(rounded(index)) == index
    assert len(f"{rounded(index).numerator}".strip("0")) <= 3 or rounded(index) < 1
