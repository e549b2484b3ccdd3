"""Many windows at once are decided as each by itself: bit for bit, given the same noise.

Every window's noise is drawn for that window alone, in one draw a channel; then a window's answers
and losses are those that the deciding operator gives with its own part of the noise. Two broken
twins show that this tells: one that lets windows choose levels together, one that shares noise.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.costs.levels import level_costs
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.formulas import probe_ent
from operators.noise.gradual import GradualNoise
from operators.noise.source import KeyedNoise
from operators.registry import create
from operators.single import choosing
from operators.single.batched import DecidesMany, decide_many
from tests.support.streams import OneByOne

CELLS = 13
WINDOWS = 40


def one(name, *, downward=False):
    """Return a mechanism of one comparison with a threshold of its own in every cell."""
    atom = ThresholdAtom(0, np.arange(30, 30 + CELLS))
    condition = Condition(Formula.parse("NOT a" if downward else "a"), {"a": atom}, (1,))
    aim = Aim(Fraction(1, 20), (7,), first_tolerances=(25,))
    return create(name, condition, aim, experimental=True)


def several(name):
    """Return a mechanism of four comparisons on two channels, one of them read for two."""
    read = {"a": (0, 40), "b": (1, 21), "c": (1, 30)}
    atoms = {each: ThresholdAtom(at, np.full(CELLS, level)) for each, (at, level) in read.items()}
    condition = Condition(Formula.parse("(a OR NOT b) AND (b OR c)"), atoms, (1, 3))
    return create(name, condition, Aim(Fraction(1, 20), (9, 20, 20), first_tolerances=(30, 60, 60)))


def windows(statistics):
    """Return counts on both sides of the thresholds; in some windows most are far from theirs."""
    random = np.random.default_rng(3)
    spread = random.choice([8, 60, 400, 3_000, 20_000], (WINDOWS, 1, 1))
    return random.integers(40 - spread, 40 + spread, (WINDOWS, statistics, CELLS))


class Streams(KeyedNoise):
    """One stream for every kind of draw, so that the order of windows alone decides who gets what.

    A gradual noise is that of all windows, or of the window at hand; ``asked`` is for how many
    cells it was drawn.
    """

    def __init__(self, coin):
        """Start every stream; a coin that is set falls the same way in every cell."""
        super().__init__(b"streams")
        self.coin, self.window, self.streams, self.asked = coin, None, {}, []

    def bernoulli(self, thresholds):
        """Toss coins."""
        if self.coin is not None:
            return np.full(thresholds.size, self.coin)
        return self.streams.setdefault("coins", KeyedNoise(b"coins")).bernoulli(thresholds)

    def discrete_laplace(self, t, n):
        """Draw one by one: a stream's variates don't depend on how many are asked for at once."""
        return self.streams.setdefault(t, OneByOne(str(t).encode())).discrete_laplace(t, n)

    def chain(self, whole):
        """Return a window's part of a gradual noise, or all of it."""
        at = CELLS * (self.window or 0)
        return whole if self.window is None else whole[:, at : at + CELLS]


@pytest.fixture
def cut(monkeypatch):
    """Let gradual noise be drawn for all windows whenever ``Streams`` are asked for some."""
    plain = GradualNoise.draw

    def draw(own, noise, cells):
        if not isinstance(noise, Streams):
            return plain(own, noise, cells)
        noise.asked.append(cells)
        return noise.chain(plain(own, KeyedNoise(str(own.levels).encode()), WINDOWS * CELLS))

    monkeypatch.setattr(GradualNoise, "draw", draw)


def alike(operator, counts, *, coin):
    """Decide windows at once, then one by one with the same noise; return whether all agree."""
    assert isinstance(operator, DecidesMany)
    at_once, each = Streams(coin), Streams(coin)
    many = decide_many(operator, counts, at_once)
    fired, units = [], []
    for each.window, statistics in enumerate(counts):
        decision = operator.decide(statistics, each)
        fired.append(decision.fired)
        units.append(level_costs(decision.cost).as_array())
    assert at_once.asked == [WINDOWS * CELLS] * (len(each.asked) // WINDOWS)
    return np.array_equal(many.fired, fired) and np.array_equal(many.units, units)


PROGRESSIVE = ("probe", "probe-ent")
COINS = (False, True)
CELLS_ALONE = [
    one(name, downward=downward) for name in ("tslm", "ppwlm", "nlm") for downward in COINS
]


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize(
    ("operator", "statistics", "coin"),
    [
        *product(CELLS_ALONE, [1], [None]),
        *product(map(one, ("dppwlm", *PROGRESSIVE)), [1], COINS),
        *product(map(several, ("tslm", *PROGRESSIVE)), [2], COINS),
    ],
)
def test_windows_at_once_are_decided_alike(operator, statistics, coin):
    """Coins and noise go to the windows in their order.

    First mechanisms whose cells know nothing of each other; then those whose cells choose levels
    together, window by window; then several comparisons, two of them of one channel, as windows
    take their channels in any order.
    """
    assert alike(operator, windows(statistics), coin=coin)


def test_windows_may_all_be_refined_to_the_same_level():
    """Then none is left to look a finer one up for."""
    operator, counts = several("probe"), windows(2)
    for seed in range(5):
        for each in counts:
            found = decide_many(operator, each[None], KeyedNoise(b"alone %d" % seed))
            assert found.fired.shape == (1, CELLS)


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("name", ["dppwlm", "probe-ent"])
def test_windows_that_choose_together_are_found_out(name, monkeypatch):
    """A broken twin takes one level for all windows that stand together, as if they were one."""
    right = choosing.levels_of_most_entropy

    def pooled(*arguments):
        found = right(*arguments)
        return np.full_like(found, found.max(initial=0))

    for module in (choosing, probe_ent):
        monkeypatch.setattr(module, "levels_of_most_entropy", pooled)
    assert not alike(one(name), windows(1), coin=True)


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("name", ["ppwlm", "dppwlm", "probe", "probe-ent"])
def test_noise_that_windows_share_is_found_out(name, monkeypatch):
    """A broken twin draws for one window and uses it in all of them."""
    plain = Streams.chain

    def shared(self, whole):
        drawn = plain(self, whole)
        return np.tile(drawn[:, :CELLS], drawn.shape[1] // CELLS)

    monkeypatch.setattr(Streams, "chain", shared)
    assert not alike(one(name), windows(1), coin=True)


def test_what_knows_no_faster_way_is_asked_window_by_window():
    """An operator that only decides single windows is tried out all the same."""

    class Plainly:
        """Hands on one window at a time."""

        def __init__(self, operator):
            self.plan, self.decide, self.chances = operator.plan, operator.decide, operator.chances

    counts = windows(1)
    plain = decide_many(Plainly(one("tslm")), counts, KeyedNoise(b"one"))
    many = decide_many(one("tslm"), counts, KeyedNoise(b"one"))
    assert np.array_equal(plain.fired, many.fired)
    assert np.array_equal(plain.units, many.units)
