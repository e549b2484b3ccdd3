"""Conditions through the whole pipeline: from files to the exact law of every mechanism; twins.

Worlds of three rooms come in pairs, with and without one privacy unit: an event, or all that one
person does, in more rooms and more often than counts. All of them are read by one replay; what it
counts goes into the laws. What the ledger charges bounds what every pair loses; of runs and levels,
``test_svt_exact`` and ``test_progressive_exact`` have the transcripts of cells whose scores move by
a step. Truth is the definition's, on the worlds without.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import ndtri

from accountant.units import from_loss_units
from operators.registry import create
from stream.decisions import judge
from stream.decisions.judge import statistics_of
from stream.model.regions import region_of
from tests.statistical.enumeration import odds
from tests.support.ledgers import must_verify, only_scope
from tests.support.paned import opened, replayed
from tests.support.scored import UNITS, scored

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from stream.model.alarm import Alarm as Configured
    from tests.statistical.enumeration import Ints


Row = tuple[str, int]
"""Kind and x of an event."""
BETA = 0.05
CLOSE = 1e-9
PAIRS = 120
ROOMS = 3
CELLS = {"event": 1, "user": 2}
"""How many cells one neighbour moves, by the caps."""
LEVELS = '{levels: {first: "0.4", rounds: 2, refinement: 2, finest_share: "0.1"}}'


def number(rows, kind="abc"):
    """Count the rows of some kinds."""
    return sum(each in kind for each, _ in rows)


def total(rows, kind="abc"):
    """Add up x over the rows of some kinds."""
    return sum(x for each, x in rows if each in kind)


def above(rows, bound):
    """Count values above a bound."""
    return sum(x > bound for _, x in rows)


@dataclass(frozen=True)
class Alarm:
    """A condition and what it says.

    Args:
        having: as SQL.
        tolerance: as YAML.
        holds: whether it is true of rows, every comparison granted its tolerance so many times.
        covered: kinds of rows that some FILTER covers.
        enough: whether ``max_fnr`` is about rows: there is a quorum.
    """

    having: str
    tolerance: str
    holds: Callable[[list[Row], int], bool]
    covered: str = "abc"
    enough: Callable[[list[Row]], bool] = lambda _rows: True


ALARMS = {
    "or": Alarm(
        "COUNT(*) FILTER (WHERE kind = 'a') > 4 OR SUM(x) FILTER (WHERE kind = 'b') > 18",
        """{"COUNT(*) FILTER (WHERE kind = 'a') > 4": 1,"""
        """ "SUM(x) FILTER (WHERE kind = 'b') > 18": 8}""",
        lambda rows, g: number(rows, "a") > 4 - g or total(rows, "b") > 18 - 8 * g,
        "ab",
    ),
    "and": Alarm(
        "COUNT(*) > 5 AND SUM(x) > 10",
        "{COUNT(*) > 5: 1, SUM(x) > 10: 4}",
        lambda rows, g: number(rows) > 5 - g and total(rows) > 10 - 4 * g,
    ),
    "shared": Alarm(
        "(COUNT(*) > 8 AND COUNT(*) < 3) OR COUNT(*) > 12",
        "{COUNT(*) > 8: 1, COUNT(*) < 3: 1, COUNT(*) > 12: 3}",
        lambda rows, g: 8 - g < number(rows) < 3 + g or number(rows) > 12 - 3 * g,
    ),
    "negation": Alarm(
        "NOT COUNT(*) FILTER (WHERE kind = 'a') > 2 AND SUM(x) FILTER (WHERE kind <> 'c') > 8",
        """{"COUNT(*) FILTER (WHERE kind = 'a') > 2": 1,"""
        """ "SUM(x) FILTER (WHERE kind <> 'c') > 8": 3}""",
        lambda rows, g: number(rows, "a") <= 2 + g and total(rows, "ab") > 8 - 3 * g,
        "ab",
    ),
    "average": Alarm(
        "AVG(x) <= 1",
        "3",
        lambda rows, g: len(rows) > 0 and total(rows) - len(rows) <= 3 * g,
        enough=lambda rows: len(rows) >= 3,
    ),
    "median": Alarm(
        "MEDIAN(x) < 2",
        "1",
        lambda rows, g: len(rows) > 0 and above(rows, 1.5) <= len(rows) - above(rows, 1.5) + g,
        enough=lambda rows: len(rows) >= 3,
    ),
    "median of many": Alarm(
        "MEDIAN(x) > 2 AND COUNT(*) FILTER (WHERE kind = 'a') > 3",
        """{MEDIAN(x) > 2: 1, "COUNT(*) FILTER (WHERE kind = 'a') > 3": 1}""",
        lambda rows, g: 2 * above(rows, 2) > len(rows) - g and number(rows, "a") > 3 - g,
    ),
    "largest": Alarm(
        "MAX(x) > 3 AND SUM(x) > 8",
        "{MAX(x) > 3: 1, SUM(x) > 8: 4}",
        lambda rows, g: above(rows, 3) > 0 and total(rows) > 8 - 4 * g,
        enough=lambda rows: above(rows, 3) > 2,
    ),
    "average of many": Alarm(
        "AVG(x) >= 3 OR COUNT(*) > 9",
        "{AVG(x) >= 3: 2, COUNT(*) > 9: 2}",
        lambda rows, g: (
            (rows != [] and total(rows) - 3 * len(rows) >= -2 * g) or number(rows) > 9 - 2 * g
        ),
        enough=lambda rows: len(rows) >= 6,
    ),
}


@dataclass(frozen=True)
class World:
    """What lies in the rooms without the privacy unit, and what is its own."""

    others: tuple[list[Row], ...]
    own: tuple[list[Row], ...]


@cache
def worlds(unit):
    """Return random worlds; rooms of all sizes, with all values and kinds."""
    source = random.Random(unit)

    def some(most):
        kinds, low = source.choice(["abc", "ab", "a", "b"]), source.choice([0, 0, 2, 4])
        return [
            (source.choice(kinds), source.randint(low, 4) if source.random() < 0.8 else 0)
            for _ in range(source.randint(0, most))
        ]

    def own():
        if unit == "event":
            return [(source.choice("abc"), source.randint(0, 4))], [], []
        return tuple(some(4) for _ in range(ROOMS))

    return [World(tuple(some(14) for _ in range(ROOMS)), own()) for _ in range(PAIRS)]


@dataclass(frozen=True)
class Counted:
    """What the pipeline counted: shape (pairs, with and without, statistics, rooms)."""

    query: Configured
    statistics: Ints
    charged: Fraction

    def scores(self, score):
        """Return the scores of all rooms, shape (pairs, 2, rooms)."""
        return self._each(lambda flat: score.of(0, flat))

    def laws(self, operator):
        """Return how likely each room fires, of the same shape; rooms that count alike once."""

        def law(flat):
            alike, back = np.unique(flat, axis=1, return_inverse=True)
            return operator.chances(0, alike)[back]

        return self._each(law)

    def _each(self, read):
        flat = self.statistics.transpose(2, 0, 1, 3)
        return read(flat.reshape(len(flat), -1)).reshape(flat.shape[1:])


def replayed_windows(alarms, path):
    """Replay a file; return each window's statistics and its price, and what the unit lost."""
    seen = []

    def noted(*of):
        seen.append(statistics_of(*of))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch, opened(alarms) as ledger:
        patch.setattr(judge, "statistics_of", noted)
        prices = [each.epsilon_units for each in replayed(alarms, ledger, path)]
        must_verify(ledger)
        scope = only_scope(ledger)
    assert len(seen) == len(prices)
    return seen, prices, scope.spent_units


def count(folder, name, unit):
    """Replay all worlds of an alarm, decided by ``tslm``."""
    alarm = ALARMS[name]
    rooms = [f"w{pair}{side}{at}" for pair in range(PAIRS) for side in "ab" for at in range(ROOMS)]
    alarms = scored(folder, alarm.having, f"tolerance: {alarm.tolerance}", unit=unit, rooms=rooms)
    path = folder / "events.csv"
    path.write_text("ts,room,person,kind,x\n" + "\n".join(lines_of(unit)) + "\n")
    (statistics,), (price,), spent = replayed_windows(alarms, path)
    assert price * CELLS[unit] == spent
    whole = statistics.reshape(len(statistics), PAIRS, 2, ROOMS).transpose(1, 2, 0, 3)
    return Counted(alarms.by_name["one"], whole, from_loss_units(spent))


@pytest.fixture(scope="module", params=list(product(ALARMS, CELLS)), ids=" ".join)
def counted(request, tmp_path_factory):
    """Every alarm under both units."""
    name, unit = request.param
    return name, unit, count(tmp_path_factory.mktemp("worlds"), name, unit)


def lines_of(unit):
    """Return all events; a person's lie behind those of others, in two rooms of three at most."""
    found = []
    for (pair, world), side, at in product(enumerate(worlds(unit)), "ab", range(ROOMS)):
        rows = [(f"o{pair}{side}{at}n{n}", *row) for n, row in enumerate(world.others[at])]
        rows += [(f"p{pair}", *row) for row in world.own[at] if side == "a"]
        found += [f"2024-01-01T00:00:00Z,w{pair}{side}{at},{who},{k},{x}" for who, k, x in rows]
    return found


def operator_of(folder, name, unit, *lines):
    """Return another mechanism's query and operator, of one room."""
    alarm = ALARMS[name]
    given = scored(folder, alarm.having, f"tolerance: {alarm.tolerance}", *lines, unit=unit)
    query = given.by_name["one"]
    return query, create(query.mechanism, query.condition, query.aim)


def rates(name, unit, laws):
    """Return the most misses and false alarms of rooms without the privacy unit."""
    alarm, missed, rang = ALARMS[name], [0.0], [0.0]
    for world, law in zip(worlds(unit), laws[:, 1], strict=True):
        for rows, fires in zip(world.others, law.tolist(), strict=True):
            if alarm.holds(rows, 0) and alarm.enough(rows):
                missed.append(1 - fires)
            if not alarm.holds(rows, 2):
                rang.append(fires)
    return max(missed), max(rang)


def test_tslm_loses_what_the_ledger_charges(counted):
    """By the row's region: what no FILTER covers loses nothing, what one covers is charged once."""
    name, unit, found = counted
    query, alarm = found.query, ALARMS[name]
    laws = found.laws(create("tslm", query.condition, query.aim))
    lost = odds(laws[:, 0], laws[:, 1]).sum(axis=1)
    assert lost.max() == pytest.approx(float(found.charged), rel=1e-6)
    moved = (found.statistics[:, 0] != found.statistics[:, 1]).any(axis=1)
    assert moved.sum(axis=1).max() == CELLS[unit]
    assert rates(name, unit, laws) == pytest.approx((BETA, BETA))
    if unit == "event":
        for world, loss, room in zip(worlds(unit), lost, moved[:, 0], strict=True):
            ((kind, x),) = world.own[0]
            row = {"feed": "doors", "doors.kind": kind, "doors.x": x, "doors.room": "w0a0"}
            pays = region_of(query).contains(row)
            assert pays == (kind in alarm.covered) >= room
            assert pays or loss == 0


def test_a_run_loses_its_opening_and_its_alarms(counted, tmp_path):
    """Neighbours move its questions as its terms say, and of such the loss is enumerated.

    In ``test_svt_exact``, for all step counts.
    """
    name, unit, found = counted
    query, run = operator_of(tmp_path, name, unit, *OTHERS["svt"])
    scores, one_way = found.scores(run.score), name in {"or", "and", "largest"}
    moves = scores[:, 0] - scores[:, 1]
    assert query.condition.monotone is one_way
    assert run.terms.monotone is (unit == "event" or one_way)
    assert set(np.unique(moves)) <= ({0, 1} if one_way else {-1, 0, 1})
    assert (moves != 0).sum(axis=1).max() == CELLS[unit]


OTHERS = {
    "gdp": (),
    "ppwlm": (f"mechanism: {{ppwlm: {LEVELS}}}",),
    "dppwlm": (f"mechanism: {{dppwlm: {LEVELS}}}",),
    "svt": ("mechanism: {svt: {max_alarms: 2}}",),
}


@pytest.mark.parametrize("mechanism", OTHERS)
def test_others_keep_both_rates_and_cost_what_is_charged(counted, tmp_path, mechanism):
    """Cell by cell; quantiles are no further apart than a Gaussian budget says."""
    name, unit, found = counted
    promise = f'{UNITS[unit]}, privacy: gdp, delta: "1e-6"' if mechanism == "gdp" else unit
    query, operator = operator_of(tmp_path, name, promise, *OTHERS[mechanism])
    assert (query.aim.levels is not None) == mechanism.endswith("pwlm")
    laws = found.laws(operator)
    assert max(rates(name, unit, laws)) <= BETA + CLOSE
    inside = np.clip(laws, 1e-12, 1 - 1e-12)
    here, there = inside.transpose(1, 0, 2)
    lost = (ndtri(here) - ndtri(there)) ** 2 / 2 if mechanism == "gdp" else odds(here, there)
    assert lost.sum(axis=1).max() <= CELLS[unit] * float(operator.plan.epsilon) * (1 + 1e-5)


FEW = (
    UNITS["user"]
    .replace("max_events_per_group: 3", "max_events_per_group: 3, max_windows_per_period: 1")
    .replace("lifetime", "1d")
)
HOP = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
TUMBLE = "TUMBLE(ts, INTERVAL '1' MINUTE)"


@pytest.mark.parametrize(
    ("unit", "window", "times"),
    [("privacy_unit: event", HOP, 2), (UNITS["user"], TUMBLE, 3 * 2), (FEW, TUMBLE, 2)],
)
def test_windows_add_up_as_the_ledger_says(tmp_path, unit, window, times):
    """An event in two windows, a person in two rooms of three, and of one by the cap.

    Somebody loses all that is charged: with a cap that was forgotten, three times as much.
    """
    alarm, pairs, lines = ALARMS["shared"], range(20), ["ts,room,person,kind,x"]
    events = window == HOP
    for pair, side, minute, at in product(pairs, "ab", range(3), "01"):
        own = side == "a" and (not events or (minute, at) == (1, "0"))
        people = [f"o{pair}{side}{minute}{at}{n}" for n in range(pair)]
        people += [f"p{pair}"] * own * (1 if events else 3)
        lines += [f"2024-01-01T00:0{minute}:30Z,w{pair}{side}{at},{who},a,1" for who in people]
    path = tmp_path / "events.csv"
    path.write_text("\n".join([*lines, ""]))
    alarms = scored(
        tmp_path,
        alarm.having,
        f"tolerance: {alarm.tolerance}",
        unit=unit,
        window=window,
        rooms=["w{}{}{}".format(*each) for each in product(pairs, "ab", "01")],
        minutes=3,
    )
    query = alarms.by_name["one"]
    seen, prices, spent = replayed_windows(alarms, path)
    assert spent == times * prices[0]
    operator = create(query.mechanism, query.condition, query.aim)
    laws = [operator.chances(0, each).reshape(len(pairs), 2, 2) for each in seen]
    lost = sum(odds(law[:, 0], law[:, 1]).sum(axis=1) for law in laws)
    assert lost.max() == pytest.approx(float(from_loss_units(spent)), rel=1e-6)


def test_a_window_that_is_drawn_twice_is_caught(counted):
    """Were both draws of a recovered window to leave, they would lose twice what is charged."""
    _, _, found = counted
    laws = found.laws(create("tslm", found.query.condition, found.query.aim))
    both = np.maximum(*(odds(one[:, 0] ** 2, one[:, 1] ** 2) for one in (laws, 1 - laws)))
    assert both.sum(axis=1).max() == pytest.approx(2 * float(found.charged), rel=1e-6)
