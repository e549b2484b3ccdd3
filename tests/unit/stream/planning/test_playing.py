"""A period is played as the ledger would serve it: who asks for how many windows, and gets them."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.records import Answer, Request
from accountant.units import floor_loss_units, to_loss_units
from stream.decisions.mechanisms import plans_of
from stream.decisions.registration import registration, terms_of
from stream.model.alarms import cells_per_unit, has_runs
from stream.planning import playing
from stream.planning.budget import budget_plan
from stream.planning.playing import starving
from tests.support.ledgers import open_ledger
from tests.support.planned import Alarm, Config, outlook
from tests.unit.stream.planning.walking import touching

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.alarms import Alarms
    from stream.planning.playing import Played

DAY = "TUMBLE(ts, INTERVAL '1' DAY)"
HOP = "HOP(ts, INTERVAL '3' HOUR, INTERVAL '6' HOUR)"
ACROSS = "TUMBLE(ts, INTERVAL '7' HOUR)"


def play_of(config: Config, folder: Path) -> tuple[Alarms, Played]:
    """Return a configuration and what is played of its one budget."""
    alarms = config.load(folder)
    (one,) = outlook(alarms)
    return alarms, one.played


def by_hand(alarms: Alarms, since_ms: int, whole: Played) -> dict[str, tuple[int, int]]:
    """Serve every window that starts from an instant on, one by one, by plain sums."""
    plans, budget = plans_of(alarms), alarms.budget
    keys = [
        WindowKey(end_ms, query.id, start_ms)
        for query in alarms.by_name.values()
        for _, start_ms, end_ms in touching(query.calendar, since_ms, whole.until_ms)
        if start_ms >= since_ms and end_ms <= whole.until_ms
    ]
    wall = floor_loss_units(budget.epsilon_max)
    shares = {
        name: floor_loss_units(query.share * budget.epsilon_max)
        for name, query in alarms.by_name.items()
    }
    held: Counter[tuple[str, int]] = Counter()
    opened, asked, granted = set(), Counter[str](), Counter[str]()
    for key in sorted(keys):
        query = alarms.by_name[key.query]
        periods = budget.periods.touched(key.start_ms, key.end_ms)
        units = to_loss_units(plans[key.query].epsilon) * cells_per_unit(query, budget)
        if has_runs(query, budget) and (key.query, periods) in opened:
            units = 0
        fits = all(
            held[key.query, period]
            + units
            + sum(
                max(held[one, period], share) for one, share in shares.items() if one != key.query
            )
            <= wall
            for period in periods
        )
        if fits:
            opened.add((key.query, periods))
            held.update(dict.fromkeys(((key.query, period) for period in periods), units))
        if key.end_ms > whole.since_ms:
            asked[key.query] += 1
            granted[key.query] += fits
    return {name: (asked[name], granted[name]) for name in alarms.by_name}


def numbers(whole: Played) -> dict[str, tuple[int, int]]:
    """Return what every alarm asks for and gets."""
    return {name: (one.asked, one.granted) for name, one in whole.alarms.items()}


def test_long_windows_come_last_and_find_nothing(tmp_path: Path) -> None:
    """The start is allowed, as one window of each fits; the plan says that one alarm gets none."""
    alarms = {"hourly": Alarm(tolerance="20"), "whole-day": Alarm(window=DAY, tolerance="20")}
    config = Config(alarms, epsilon_max="1.5")
    loaded, whole = play_of(config, tmp_path)
    assert config.look(tmp_path).plan.windows_fit != 0
    assert numbers(whole) == {"hourly": (24, 13), "whole-day": (1, 0)}
    (told,) = starving(loaded, budget_plan(loaded))
    assert "'whole-day' gets none of its 1 windows" in told
    shared = {**alarms, "whole-day": Alarm(window=DAY, tolerance="20", extra={"share": "0.1"})}
    _, whole = play_of(Config(shared, epsilon_max="1.5"), tmp_path)
    assert numbers(whole) == {"hourly": (24, 12), "whole-day": (1, 1)}


@pytest.mark.parametrize("seed", range(12))
def test_what_is_played_is_what_plain_sums_say(tmp_path: Path, seed: int) -> None:
    """Windows across periods, schedules, shares and runs: the same numbers, one by one."""
    rng = Random(seed)
    chosen = {}
    free = 10
    for name in rng.sample("abcd", rng.randint(1, 4)):
        extra = {}
        if rng.random() < 0.4:
            extra["active"] = '"Mon-Fri 07:00-22:00"'
        if rng.random() < 0.5 and free:
            part = rng.randint(1, free)
            free -= part
            extra["share"] = str(part / 10) if part < 10 else "1"
        if rng.random() < 0.3:
            extra |= {"mechanism": "svt", "max_alarms": "2"}
        window = rng.choice([Alarm().window, DAY, HOP, ACROSS])
        if "active" in extra:
            window = Alarm().window
        chosen[name] = Alarm(window=window, tolerance=rng.choice("369"), extra=extra)
    period = rng.choice(["1d", "7d", "12h"])
    config = Config(chosen, epsilon_max=rng.choice(["1", "3", "8"]), period=period)
    alarms, whole = play_of(config, tmp_path)
    across = (
        start_ms
        for query in alarms.by_name.values()
        for _, start_ms, _ in touching(query.calendar, whole.since_ms, whole.since_ms + 1)
    )
    since_ms = min([whole.since_ms, *across])
    since_ms = alarms.budget.periods.touched(since_ms, since_ms + 1)[0]
    if config.look(tmp_path).plan.fits:
        assert not whole.fewer  # windows of a ledger that is older count, too
    else:
        assert numbers(whole) == by_hand(alarms, since_ms, whole)


def test_the_ledger_grants_what_was_played(tmp_path: Path) -> None:
    """Served by a ledger at their worst, the same windows are granted to the same alarms."""
    config = Config(
        {
            "hourly": Alarm(tolerance="20"),
            "long": Alarm(window=HOP, tolerance="20", extra={"share": "0.3"}),
            "whole-day": Alarm(window=DAY, tolerance="20", extra={"share": "0.1"}),
        },
        epsilon_max="2",
    )
    alarms, whole = play_of(config, tmp_path)
    plans, budget = plans_of(alarms), alarms.budget
    asked: list[Request] = []
    following: dict[WindowKey, int] = {}
    begin_ms = whole.since_ms - 86_400_000
    for query in alarms.by_name.values():
        index = query.calendar.first_starting_at(begin_ms)
        while (bounds := query.calendar.bounds(index))[1] <= whole.until_ms:
            key = WindowKey(bounds[1], query.id, bounds[0])
            index += 1
            following[key] = query.calendar.bounds(index)[0]
            units = to_loss_units(plans[query.id].epsilon)
            cost = UniformCost(units, len(query.domain))
            cells = cells_per_unit(query, budget)
            charge = Charge(key, cost, cells, budget.periods.touched(*bounds))
            asked.append(Request(charge, query.fingerprint))
    asked.sort(key=lambda one: one.charge.key)
    granted: Counter[str] = Counter()
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.pins.register_budget(terms_of(alarms, "user"))
        for query in alarms.by_name.values():
            first = query.calendar.bounds(query.calendar.first_starting_at(begin_ms))[0]
            ledger.pins.register_query(registration(query, alarms, first))
        ledger.admit("user", asked)
        for one in asked:
            key = one.charge.key
            answer = ledger.answer(key)
            end = {"next_start_ms": following[key], "release_ms": 0}
            if answer is Answer.RESERVED:
                granted[key.query] += key.end_ms > whole.since_ms
                ledger.settle(
                    key,
                    fingerprint=one.fingerprint,
                    cost=one.charge.cost,
                    alarms=b"[]",
                    alarm_count=0,
                    **end,
                )
            else:
                assert answer is Answer.REFUSED
                ledger.deny(key, fingerprint=one.fingerprint, reason="budget", **end)
        assert ledger.reports.verify() == []
    assert granted == {name: one.granted for name, one in whole.alarms.items()}
    assert whole.fewer


def test_a_play_is_bounded_by_what_it_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how far it came, and counts no window behind that."""
    monkeypatch.setattr(playing, "MOST_STEPS", 10)
    config = Config({"a": Alarm(tolerance="20"), "b": Alarm(tolerance="20")}, epsilon_max="2")
    _, whole = play_of(config, tmp_path)
    assert whole.until_ms == whole.since_ms + 5 * 3_600_000
    assert numbers(whole) == {"a": (5, 5), "b": (5, 5)}


def test_under_unit_event_a_week_is_played(tmp_path: Path) -> None:
    """Hopping windows overlap: of those that share an instant, the wall holds some."""
    for epsilon_max, granted in (("0.15", 28), ("0.3", 55)):
        alarms = {"a": Alarm(window=HOP, tolerance="20")}
        config = Config(alarms, unit="event", epsilon_max=epsilon_max)
        assert numbers(play_of(config, tmp_path)[1]) == {"a": (55, granted)}


def test_a_lifetime_is_played_where_it_has_an_end(tmp_path: Path) -> None:
    """A declared history is one period; a live feed's lifetime is none."""
    alarms = {"a": Alarm(tolerance="20")}
    history = "{from: 2024-01-01, until: 2024-01-03}"
    _, whole = play_of(
        Config(alarms, period="lifetime", epsilon_max="2", history=history), tmp_path
    )
    assert numbers(whole) == {"a": (48, 17)}
    endless = Config(alarms, period="lifetime", epsilon_max="2").look(tmp_path).played
    assert not endless.alarms
