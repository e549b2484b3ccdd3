"""A period is played as the ledger would serve it: who asks for how many windows, and gets them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from accountant.units import UNITS_PER_EPSILON
from stream.planning import playing
from stream.planning.budget import budget_plan
from stream.planning.playing import starving
from stream.windows.instants import iso_utc
from stream.windows.periods import REFERENCE_MS
from tests.support.commands import json_lines, tocsin
from tests.support.planned import Alarm, Config
from tests.unit.stream.planning.walking import served, touching

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
HOUR = Alarm().window
DAY = "TUMBLE(ts, INTERVAL '1' DAY)"
HOP = "HOP(ts, INTERVAL '3' HOUR, INTERVAL '6' HOUR)"
WINDOWS = (
    *(HOUR, DAY, HOP, "TUMBLE(ts, INTERVAL '7' HOUR)"),
    *("HOP(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)",),
    *("HOP(ts, INTERVAL '1' DAY, INTERVAL '2' DAY)",),
)
ACTIVE = ("Mon-Fri 07:00-22:00", "Fri-Sun 20:00-08:00", "Sat 22:00-24:00, Sun 00:00-24:00")
WHERE = ("", "WHERE room = 'lab'", "WHERE room <> 'lab'", "WHERE floor = 1", "WHERE paid > 2")
CAPS = ", contribution: {max_groups_per_window: 2, max_events_per_group: 3}"


def drawn(rng, unit="user", *, shares=False):
    """Return one to four alarms over all kinds of windows, single ones and runs, and a budget."""
    alarms, free = {}, 10
    for name in "abcd"[: rng.randint(1, 4)]:
        window, extra = rng.choice(WINDOWS), {}
        if window in {HOUR, HOP} and rng.random() < 0.5:
            extra["active"] = f'"{rng.choice(ACTIVE)}"'
        if rng.random() < 0.3:
            extra |= {"mechanism": "svt", "max_alarms": "2"}
        if shares and free and rng.random() < 0.5:
            part = rng.randint(1, free)
            free -= part
            extra["share"] = str(part / 10) if part < 10 else "1"
        tolerance, where = str(rng.randint(3, 30)), rng.choice(WHERE)
        alarms[name] = Alarm(window=window, where=where, tolerance=tolerance, extra=extra)
    period, zone = rng.choice(["1d", "7d"]), rng.choice(["Europe/Berlin", "America/New_York"])
    return Config(alarms, unit=unit, period=period, timezone=zone, caps=rng.choice(["", CAPS]))


def numbers(whole):
    """Return what every alarm asks for and gets."""
    return {name: (one.asked, one.granted) for name, one in whole.alarms.items()}


def test_long_windows_come_last_and_find_nothing(tmp_path):
    """The start is allowed, as one window of each fits; the plan says that one alarm gets none."""
    alarms = {"hourly": Alarm(tolerance="20"), "whole-day": Alarm(window=DAY, tolerance="20")}
    config = Config(alarms, epsilon_max="1.5")
    looked, loaded = config.look(tmp_path), config.load(tmp_path)
    assert looked.plan.windows_fit != 0
    assert numbers(looked.played) == {"hourly": (24, 13), "whole-day": (1, 0)}
    (told,) = starving(loaded, budget_plan(loaded))
    assert "'whole-day' gets none of its 1 windows" in told
    alarms["whole-day"] = replace(alarms["whole-day"], extra={"share": "0.1"})
    assert numbers(config.look(tmp_path).played) == {"hourly": (24, 12), "whole-day": (1, 1)}


@pytest.mark.parametrize("seed", range(16))
def test_what_is_played_is_what_plain_sums_say(tmp_path, seed):
    """Windows across periods, schedules, caps, shares and runs: the same ones, one by one."""
    rng = Random(seed)
    config = replace(drawn(rng, shares=True), epsilon_max=rng.choice(["1", "3", "8"]))
    alarms, looked = config.load(tmp_path), config.look(tmp_path)
    whole = looked.played
    if looked.plan.fits:
        assert not whole.fewer  # windows of a ledger that is older count, too
        return
    across = (
        start_ms
        for query in alarms.by_name.values()
        for _, start_ms, _ in touching(query.calendar, whole.since_ms, whole.since_ms + 1)
    )
    since_ms = min([whole.since_ms, *across])
    since_ms = alarms.budget.touched(since_ms, since_ms + 1)[0]
    found = [
        (key, granted)
        for key, granted in served(alarms, since_ms, whole.until_ms)
        if key.end_ms > whole.since_ms
    ]
    inside = [(key.query, granted) for key, granted in found if key.end_ms <= whole.until_ms]
    asked, given = (
        Counter(name for name, _ in inside),
        Counter(name for name, each in inside if each),
    )
    assert numbers(whole) == {name: (asked[name], given[name]) for name in alarms.by_name}
    first = next(key for key, granted in found if not granted)
    assert (whole.refused.alarm, whole.refused.start_ms) == (first.query, first.start_ms)


@pytest.mark.long
@pytest.mark.parametrize("unit", ["user", "event"])
@pytest.mark.parametrize("seed", range(6))
def test_a_plan_that_fits_is_never_refused(tmp_path, unit, seed):
    """Under the least wall that fits no window is, in the fullest period and about a clock change.

    Of people, one loss unit less refuses some window of the fullest period.
    """
    config = drawn(Random(f"{unit} {seed}"), unit)
    worst = config.look(tmp_path).plan.worst_units

    def under(units):
        return replace(config, epsilon_max=str(Fraction(units, UNITS_PER_EPSILON)))

    march_ms = REFERENCE_MS + (88 if "Europe" in config.timezone else 67) * DAY_MS
    spans = [(march_ms, march_ms + 5 * DAY_MS)]
    least = under(worst).look(tmp_path)
    if unit == "user":
        assert under(worst - 1).look(tmp_path).refusal is not None
        spans += [(least.played.since_ms - 2 * DAY_MS, least.played.until_ms)]
    assert least.plan.fits
    alarms = under(worst).load(tmp_path)
    assert all(granted for span in spans for _, granted in served(alarms, *span))


LIFETIME = Config(
    {
        "a": Alarm(extra={"active": '"Mon-Fri 07:00-22:00"'}),
        "b": Alarm(window=DAY, tolerance="9"),
    },
    period="lifetime",
    timezone="America/New_York",
)
REFUSED = {
    **{f"lifetime of {wall}": replace(LIFETIME, epsilon_max=wall) for wall in ("7", "31", "290")},
    "hopping event": Config({"a": Alarm(window=HOP)}, unit="event", epsilon_max="1"),
    "rooms": Config(
        {
            "a": Alarm(window=HOP, where="WHERE room = 'lab'"),
            "b": Alarm(where="WHERE room IN ('hall', 'lab')"),
            "c": Alarm(tolerance="3", where="WHERE room = 'attic'"),
        },
        unit="event",
        epsilon_max="1",
    ),
}


@pytest.mark.parametrize("config", REFUSED.values(), ids=REFUSED)
def test_the_first_refusal_of_events_and_lifetimes_is_the_filters(tmp_path, config):
    """A plain walk from the reference week on meets it at the same window."""
    walk = served(config.load(tmp_path), REFERENCE_MS, REFERENCE_MS + 400 * DAY_MS)
    first = next(key for key, granted in walk if not granted)
    refusal = config.look(tmp_path).refusal
    assert (refusal.alarm, refusal.start_ms) == (first.query, first.start_ms)


def test_a_replay_grants_what_was_played(tmp_path):
    """On a real ledger the same windows go to the same alarms, shares included.

    The first that is denied is the one that the plan foretold.
    """
    config = Config(
        {
            "hourly": Alarm(tolerance="20"),
            "long": Alarm(window=HOP, tolerance="20", extra={"share": "0.3"}),
            "whole-day": Alarm(window=DAY, tolerance="20", extra={"share": "0.1"}),
        },
        epsilon_max="1.5",
        period="lifetime",
        caps=", on_shortfall: deny",
        history="{from: 2024-01-01, until: 2024-01-02}",
    )
    whole, events = config.look(tmp_path).played, tmp_path / "none.jsonl"
    events.touch()
    run = ("run", tmp_path / "alarms.yaml", "--replay", events, "--accept-drops", "--json")
    lines = json_lines(tocsin(*run))
    granted = Counter(line["alarm"] for line in lines if line["outcome"] == "decided")
    assert granted == {name: one.granted for name, one in whole.alarms.items()}
    first = next(line for line in lines if line["reason"] == "budget")
    denied = iso_utc(whole.refused.start_ms)
    assert (first["alarm"], first["window_start"]) == (whole.refused.alarm, denied)


def test_a_play_is_bounded_by_what_it_asks_for(tmp_path, monkeypatch):
    """It says how far it came, and counts no window behind that."""
    monkeypatch.setattr(playing, "MOST_STEPS", 10)
    config = Config({"a": Alarm(tolerance="20"), "b": Alarm(tolerance="20")}, epsilon_max="2")
    whole = config.look(tmp_path).played
    assert whole.until_ms == whole.since_ms + 5 * HOUR_MS
    assert numbers(whole) == {"a": (5, 5), "b": (5, 5)}


@pytest.mark.parametrize(("epsilon_max", "granted"), [("0.15", 28), ("0.3", 55)])
def test_under_unit_event_a_week_is_played(tmp_path, epsilon_max, granted):
    """Hopping windows overlap: of those that share an instant, the wall holds some."""
    alarms = {"a": Alarm(window=HOP, tolerance="20")}
    config = Config(alarms, unit="event", epsilon_max=epsilon_max)
    assert numbers(config.look(tmp_path).played) == {"a": (55, granted)}


def test_a_lifetime_is_played_where_it_has_an_end(tmp_path):
    """A declared history is one period; a live feed's lifetime is none."""
    endless = Config({"a": Alarm(tolerance="20")}, period="lifetime", epsilon_max="2")
    history = replace(endless, history="{from: 2024-01-01, until: 2024-01-03}")
    looked = history.look(tmp_path)
    assert numbers(looked.played) == {"a": (48, 17)}
    assert looked.refusal.granted == {"a": 17}
    assert replace(history, epsilon_max="6").look(tmp_path).refusal is None
    assert not endless.look(tmp_path).played.alarms
