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
from operators.formulas.probe_ent import ProbeEnt
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
    assert [scale.units[0] for scale in operator.scales] == needed
    assert [len(scale.units) for scale in operator.scales] == [4, 4]
    assert operator.plan.epsilon == Fraction(sum(s.units[-1] for s in operator.scales), 10**12)


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
    decision = operator.decide(np.array([[300], [10]]), KeyedNoise(b"one"))
    assert not decision.fired[0]


@pytest.mark.parametrize("fresh", [None, HALF])
def test_a_first_look_is_taken_where_it_is_much_wider(fresh):
    """One phase until the first tolerance spans twice the steps; two dearer ones from there on."""
    of = condition("a AND b")
    once = one_look(of, aim(2))
    for wider in (6, 8, 10):
        aimed = aim(2, first_tolerances=(wider, wider))
        assert Probe.planned(of, aimed, fresh=fresh).plan.epsilon == once
    operator = Probe.planned(of, aim(2, first_tolerances=(11, 11)), fresh=fresh)
    assert all(scale.charges[0] <= scale.units[-1] / 2 for scale in operator.scales)
    assert once < operator.plan.epsilon < 2 * once


def test_a_channel_of_one_phase_has_both_halves_of_its_rates():
    """With fresh noise beside a channel of two phases: sums over both stay within max_fnr."""
    of = condition("a AND b")
    wanted = aim(2, first_tolerances=(500, 5))
    twice, once = Probe.planned(of, wanted, fresh=HALF).scales
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
    scale = operator.scales[0]
    assert scale.chain is None
    assert scale.charges[0] == scale.units[0]
    assert scale.charges[-1] == scale.units[0] + scale.units[-1]
    assert operator.plan.epsilon > Probe.priced(condition("a"), aim(1)).epsilon


def test_fresh_noise_never_decides_both_ways():
    """A wide tolerance on a rate that serves a narrow one: what is true is not false as well."""
    of = condition("a AND NOT b", statistics=(0, 0))
    wanted = aim(2, tolerances=(1, 200), first_tolerances=(4, 200))
    operator = Probe.planned(of, wanted, fresh=HALF)
    for scale in operator.scales:
        for rungs in scale.rungs:
            assert all(-low < high for low, high in zip(rungs.low, rungs.high, strict=True))


@pytest.mark.parametrize("fresh", [None, HALF])
def test_expected_open_cells_are_those_that_stay_open(fresh):
    """Step counts equally likely over a wide span, as assumed: within 5% at every level."""
    cells = 60_000
    of = condition("a", cells)
    operator = Probe.planned(of, aim(1, max_fpr=BETA, first_tolerances=(60,)), fresh=fresh)
    statistics = np.arange(cells)[None, :] % 1500 - 650
    for candidate in range(1, operator.scales[0].last):
        walk = Walks(of, operator.scales, statistics[None], KeyedNoise(b"flat"))
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
        assert scale.first[0].beta == share.readings[0].beta / 2
        assert scale.first[0].beta != scale.share.readings[0].beta
    for scale in Probe.planned(of, aim(2)).scales:
        assert scale.first == scale.share.readings


@pytest.mark.parametrize("mechanism", ["probe", "probe-ent"])
def test_settled_conjunctions_read_no_further(mechanism):
    """A cell that is far below in one operand pays next to nothing for the other."""
    cells = 200
    of = condition("a AND b", cells)
    operator = create(mechanism, of, aim(2))
    assert isinstance(operator, Probe | ProbeEnt)
    statistics = np.full((2, cells), 100)
    statistics[0] = -10_000_000
    low = operator.decide(statistics, KeyedNoise(b"low")).cost.worst_units
    # The first level of the operand read first settles; ties go to the formula's order.
    assert low <= sum(scale.charges[0] for scale in operator.scales)
    if mechanism == "probe":
        assert low == operator.scales[0].charges[0]
    statistics[0] = 10_000_000
    high = operator.decide(statistics, KeyedNoise(b"high")).cost
    assert high.worst_units > 2 * low
    assert high.worst_units <= operator.scales[1].charges[-1] + operator.scales[0].charges[0]


def test_probe_reads_no_more_than_the_estimate_asks_for():
    """Many clear negatives allow a few open cells: phase two is not read; few don't: it is."""
    cells = 2000
    of = condition("a", cells)
    operator = Probe.planned(of, aim(1, max_fpr=Fraction(1, 10)))
    scale = operator.scales[0]
    statistics = np.full((1, cells), -1000)
    statistics[0, :20] = 60  # well within u_0, far beyond u
    relaxed = operator.decide(statistics, KeyedNoise(b"few"))
    assert relaxed.cost == LevelCosts.uniform(scale.charges[0], cells)
    statistics[0, :1900] = 60
    strict = operator.decide(statistics, KeyedNoise(b"many"))
    assert strict.cost.worst_units > scale.charges[0]
    false_alarms = np.count_nonzero(strict.fired[:1900])
    assert false_alarms < 0.2 * 2000


def test_estimate_picks_the_coarsest_level_that_keeps_it():
    """The nearer open cells lie to the threshold, the finer; with no allowance, the last level."""
    cells = 5000
    of = condition("a", cells)
    levels = []
    for value, max_fpr in ((50, Fraction(1, 10)), (80, Fraction(1, 10)), (80, Fraction(1, 1000))):
        operator = Probe.planned(of, aim(1, max_fpr=max_fpr))
        statistics = np.full((1, cells), -1000)
        statistics[0, :1000] = value
        walk = Walks(of, operator.scales, statistics[None], KeyedNoise(b"level"))
        walk.read(0, 0, ONE)
        levels.append(int(operator.refined(walk, 0, ONE)[0]))
    assert 0 < levels[0] < levels[1] < levels[2] == operator.scales[0].last


@pytest.mark.parametrize("value", [60, 80, 88])
def test_phase_two_goes_on_until_the_estimate_is_kept(value):
    """Cells crowded beyond the tolerance: false alarms end within max_fpr all the same."""
    cells = 5000
    of = condition("a", cells)
    operator = Probe.planned(of, aim(1, max_fpr=Fraction(1, 10)))
    statistics = np.full((1, cells), -1000)
    statistics[0, :1000] = value
    decision = operator.decide(statistics, KeyedNoise(b"crowd"))
    assert np.count_nonzero(decision.fired) <= cells / 10
