"""ProBE: its phases, its levels, and what it estimates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accountant.costs.levels import LevelCosts
from operators.conditions.condition import Aim
from operators.formulas.batched import Walks
from operators.formulas.literals import apportioned, least_common_rate
from operators.formulas.probe import Probe
from operators.noise.source import KeyedNoise
from operators.registry import create
from tests.support.formulas import BETA, aim, condition

HALF, ONE = Fraction(1, 2), np.arange(1)


def test_levels_begin_at_the_first_tolerance():
    """ProBE's first level is the apportioned loss at u_0, its last the plan's share."""
    of, wanted = condition("a AND b"), aim(2)
    operator = Probe.planned(of, wanted)
    first = apportioned(of, wanted.widened(wanted.first_tolerances))
    needed = [share.readings[0].least_loss(Fraction(1)) for share in first]
    levels = [scale.units for scale in operator.scales]
    assert [units[0] for units in levels] == needed
    assert [len(units) for units in levels] == [4, 4]
    assert operator.plan.epsilon == Fraction(sum(units[-1] for units in levels), 10**12)


def one_look(of, wanted):
    """Return what one noise for each channel costs, at the tolerances of the last phase."""
    shares = apportioned(of, wanted)
    return Fraction(sum(least_common_rate(share.readings)[0] for share in shares), 10**12)


@pytest.mark.long
@pytest.mark.parametrize("fresh", [None, HALF])
@pytest.mark.parametrize("max_fpr", [None, BETA])
@pytest.mark.parametrize("tolerances", [(5, 5), (5, 0), (50, 2)])
def test_narrow_first_tolerances_leave_one_phase(fresh, max_fpr, tolerances):
    """First tolerances no wider than the aim's: one level, for just the threshold shift's loss."""
    of = condition("a AND b")
    for firsts in (tolerances, (0, 0)):
        wanted = Aim(BETA, tolerances, max_fpr, firsts)
        operator = Probe.planned(of, wanted, fresh=fresh)
        assert [scale.last for scale in operator.scales] == [0, 0]
        assert operator.plan.epsilon == one_look(of, wanted)
        assert not operator.decide(np.array([[300], [10]]), KeyedNoise(b"one")).fired[0]


@pytest.mark.parametrize("fresh", [None, HALF])
def test_a_first_look_is_taken_where_it_is_much_wider(fresh):
    """One phase until the first tolerance spans twice the steps; two dearer ones from there on."""
    of = condition("a AND b")
    narrow, wide = (
        [Probe.planned(of, aim(2, first_tolerances=(at, at)), fresh=fresh) for at in tolerances]
        for tolerances in ((6, 8, 10), (11,))
    )
    once = one_look(of, aim(2))
    assert {operator.plan.epsilon for operator in narrow} == {once}
    assert once < wide[0].plan.epsilon < 2 * once
    assert all(scale.charges[0] <= scale.units[-1] / 2 for scale in wide[0].scales)


def test_a_channel_of_one_phase_has_both_halves_of_its_rates():
    """With fresh noise beside a channel of two phases: sums over both stay within max_fnr."""
    wanted = aim(2, first_tolerances=(500, 5))
    twice, once = Probe.planned(condition("a AND b"), wanted, fresh=HALF).scales
    assert (twice.last, once.last) == (3, 0)
    first, second, only = twice.first[0], twice.share.readings[0], once.share.readings[0]
    assert first.beta != second.beta
    assert BETA * Fraction(999, 1000) < first.beta + second.beta + only.beta <= BETA
    assert once.units[0] == least_common_rate((only,))[0]


def test_very_wide_first_tolerances_are_narrowed():
    """A first phase over more steps than are planned for begins at the most there are."""
    of = condition("a AND b", sensitivity=10)
    wide = Probe.planned(of, aim(2, first_tolerances=(10**9, 10**9)))
    most = Probe.planned(of, aim(2, first_tolerances=(499_999, 499_999)))
    assert [scale.units for scale in wide.scales] == [scale.units for scale in most.scales]


def test_fresh_noise_is_charged_for_both_phases():
    """The plan adds the first level to the last."""
    operator = Probe.planned(condition("a"), aim(1), fresh=HALF)
    (scale,) = operator.scales
    first, last = scale.units[0], scale.units[-1]
    assert scale.chain is None
    assert (scale.charges[0], scale.charges[-1]) == (first, first + last)
    assert operator.plan.epsilon > Probe.priced(condition("a"), aim(1)).epsilon


def test_fresh_noise_never_decides_both_ways():
    """A wide tolerance on a rate that serves a narrow one: what is true is not false as well."""
    wanted = aim(2, tolerances=(1, 200), first_tolerances=(4, 200))
    operator = Probe.planned(condition("a AND NOT b", statistics=(0, 0)), wanted, fresh=HALF)
    cuts = [each for scale in operator.scales for each in scale.rungs]
    assert all(-low < high for each in cuts for low, high in zip(each.low, each.high, strict=True))


@pytest.mark.parametrize("fresh", [None, HALF])
def test_expected_open_cells_are_those_that_stay_open(fresh):
    """Step counts equally likely over a wide span, as assumed: within 5% at every level."""
    cells = 60_000
    of = condition("a", cells)
    operator = Probe.planned(of, aim(1, max_fpr=BETA, first_tolerances=(60,)), fresh=fresh)
    statistics = np.arange(cells)[None, None] % 1500 - 650
    for candidate in range(1, operator.scales[0].last):
        walk = Walks(of, operator.scales, statistics, KeyedNoise(b"flat"))
        walk.read(0, 0, ONE)
        expected = walk.likely_open(0, 0, candidate, ONE)
        walk.read(0, candidate, ONE)
        assert walk.open_cells(0, 0, ONE) == pytest.approx(expected, rel=0.05)


def test_fresh_estimate_goes_by_the_rates_of_its_first_look():
    """The first look's own half, apportioned for the first tolerances."""
    of = condition("a AND b")
    operator = Probe.planned(of, aim(2, first_tolerances=(500, 40)), fresh=HALF)
    firsts = apportioned(of, aim(2, tolerances=(500, 40)))
    for scale, share in zip(operator.scales, firsts, strict=True):
        (first,), (last,) = scale.first, scale.share.readings
        assert last.beta != first.beta == share.readings[0].beta / 2
    assert all(scale.first == scale.share.readings for scale in Probe.planned(of, aim(2)).scales)


@pytest.mark.parametrize("mechanism", ["probe", "probe-ent"])
def test_settled_conjunctions_read_no_further(mechanism):
    """A cell that is far below in one operand pays next to nothing for the other."""
    operator = create(mechanism, condition("a AND b", 200), aim(2))
    one, other = (scale.charges for scale in operator.scales)

    def paid(first):
        statistics = np.array([[first] * 200, [100] * 200])
        return operator.decide(statistics, KeyedNoise(b"settled")).cost.worst_units

    low, high = paid(-10_000_000), paid(10_000_000)
    # The first level of the operand read first settles; ties go to the formula's order.
    assert low == one[0] if mechanism == "probe" else low <= one[0] + other[0]
    assert 2 * low < high <= other[-1] + one[0]


def crowd(cells, near, value):
    """Return so many cells at a value, and the others as clear negatives."""
    statistics = np.full((1, cells), -1000)
    statistics[0, :near] = value
    return statistics


def test_probe_reads_no_more_than_the_estimate_asks_for():
    """Many clear negatives allow a few open cells: phase two is not read; few don't: it is."""
    cells = 2000
    operator = Probe.planned(condition("a", cells), aim(1, max_fpr=Fraction(1, 10)))
    first = operator.scales[0].charges[0]
    # Well within u_0, far beyond u.
    relaxed = operator.decide(crowd(cells, 20, 60), KeyedNoise(b"few"))
    assert relaxed.cost == LevelCosts.uniform(first, cells)
    strict = operator.decide(crowd(cells, 1900, 60), KeyedNoise(b"many"))
    assert strict.cost.worst_units > first
    assert np.count_nonzero(strict.fired[:1900]) < 0.2 * cells


def test_estimate_picks_the_coarsest_level_that_keeps_it():
    """The nearer open cells lie to the threshold, the finer; with no allowance, the last level."""
    of, levels = condition("a", 5000), []
    for value, max_fpr in ((50, Fraction(1, 10)), (80, Fraction(1, 10)), (80, Fraction(1, 1000))):
        operator = Probe.planned(of, aim(1, max_fpr=max_fpr))
        walk = Walks(of, operator.scales, crowd(5000, 1000, value)[None], KeyedNoise(b"level"))
        walk.read(0, 0, ONE)
        levels.append(int(operator.refined(walk, 0, ONE)[0]))
    assert 0 < levels[0] < levels[1] < levels[2] == operator.scales[0].last


@pytest.mark.parametrize("value", [60, 80, 88])
def test_phase_two_goes_on_until_the_estimate_is_kept(value):
    """Cells crowded beyond the tolerance: false alarms end within max_fpr all the same."""
    operator = Probe.planned(condition("a", 5000), aim(1, max_fpr=Fraction(1, 10)))
    fired = operator.decide(crowd(5000, 1000, value), KeyedNoise(b"crowd")).fired
    assert np.count_nonzero(fired) <= 5000 / 10
