"""Holds by enumeration: every transcript of some windows costs those that were asked, not more.

A transcript says of every window what it answered, or that it was held, or refused. Neighbours move
the step counts of any of the windows. What is held is a function of the transcript; each twin lets
something else end, begin or miss a hold, and is caught by the same check.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import product

import numpy as np
import pytest

from accountant.costs.levels import level_costs
from operators.base import Promise
from operators.noise.source import KeyedNoise
from operators.registry import create
from operators.single.held import decide_asked
from operators.single.ladder import Grid, Ladder
from operators.single.tslm import Tslm
from operators.svt import RunState
from tests.statistical.chain_law import ladder_law
from tests.statistical.enumeration import ints
from tests.statistical.svt_law import law as law_asked
from tests.statistical.svt_law import moved, run_of, terms
from tests.statistical.test_early_exact import kept, plan
from tests.support.exact import excess as worst
from tests.support.exact import losses
from tests.support.exact import transcripts as enumerated
from tests.support.formulas import BETA
from tests.support.svt import aim, condition

WINDOWS = 3
COUNTS = list(product((-2, -1, 0), repeat=WINDOWS))
MOVES = list(product((0, 1), repeat=WINDOWS))
HELD, REFUSED = "held", "refused"


def fired(answer):
    """Tell whether a window fired."""
    return isinstance(answer, tuple) and bool(answer[0])


def by_what_fired(hold):
    """Hold a window if one of the last ``hold`` fired."""
    return lambda said, _counts: any(map(fired, said[len(said) - hold :] if hold else ()))


def until_it_is_quiet(hold):
    """Twin: the hold is over as soon as a held window counts nothing to fire for."""

    def held(said, counts):
        since = [fired(each) for each in said[-hold:]][::-1]
        return any(since) and min(counts[-1 - since.index(True) :]) >= 0

    return held


def tslm(step):
    """Return the law of one window by the extremal curve: answer and loss."""
    chance = float(TSLM.chances(ints([step]))[0])
    loss = float(TSLM.plan.epsilon)
    return {(True, loss): chance, (False, loss): 1 - chance}


def ppwlm(step):
    """Return the law of one window by levels: answer and loss of the level where it stopped."""
    found = {}
    for loss, (rings, quiet) in zip(LADDER.below.levels, ladder_law(LADDER, step), strict=True):
        found[True, float(loss)], found[False, float(loss)] = rings, quiet
    return found


TSLM = Tslm.planned(condition(1).test("a"), Promise(BETA, 1))
LADDER = Ladder.planned(3, BETA, BETA, Grid(first=Fraction(1, 6)))


def transcripts(law, counts, held, wall=math.inf):
    """Return the probability of every transcript; a window is refused at its worst loss."""
    dearest = max(loss for _, loss in law(0))

    def turn(said):
        if len(said) == len(counts):
            return {}
        if spent(said) + dearest > wall + 1e-9:
            return {REFUSED: 1.0}
        seen = counts[: len(said) + 1]
        return {HELD: 1.0} if held(said, seen) else law(seen[-1])

    return enumerated(1.0, turn)


def spent(said):
    """Return what the windows that answered cost."""
    return sum(answer[1] for answer in said if isinstance(answer, tuple))


def excess(law, held, wall=math.inf):
    """Return by how much the worst transcript loses more than its cost, and the largest loss."""
    one = cache(law)
    told = cache(lambda counts: transcripts(one, counts, held, wall))
    pairs = [(here, moved(here, moves)) for here in COUNTS for moves in MOVES]
    lost = [each for pair in pairs for each in losses(*map(told, pair))]
    return max(loss - spent(said) for said, loss in lost), max(loss for _, loss in lost)


@pytest.mark.parametrize("law", [tslm, ppwlm])
@pytest.mark.parametrize("hold", [0, 1, 2])
def test_held_windows_are_refunded(law, hold):
    """No transcript loses more than the windows that were asked, nor than the wall with refunds."""
    over, most = excess(law, by_what_fired(hold))
    assert over < 1e-9
    dearest = max(loss for _, loss in law(0))
    wall = 2.2 * dearest
    assert excess(law, by_what_fired(hold), wall)[1] <= wall + 1e-9 < most + 2 * dearest
    told = transcripts(law, (1,) * WINDOWS, by_what_fired(hold), wall)
    granted = max(WINDOWS - said.count(REFUSED) for said in told)
    assert granted == (WINDOWS if hold or law is ppwlm else 2)  # refunds are had by later windows


def test_a_hold_that_an_unreleased_count_ends_is_caught():
    """Twin: who is asked again tells what a held window counted, for certain."""
    assert excess(tslm, until_it_is_quiet(2))[0] == math.inf


def test_windows_out_of_their_order_have_another_law():
    """Twin: the second window decided before the first is asked where it would be held."""
    counts, there = (0, -1), {}
    ordered = transcripts(tslm, counts, by_what_fired(1))
    for said, mass in transcripts(tslm, counts[::-1], lambda *_: False).items():
        there[said[::-1]] = mass
    assert ((True, float(TSLM.plan.epsilon)), HELD) in ordered
    assert ordered.keys() != there.keys()


RUN = run_of(terms(2, monotone=True))


def law_of_run(steps, *, quiet):
    """Return the transcripts of a run of two cells that are held for one window.

    Args:
        steps: step counts, window by window.
        quiet: twin: a hold is over where its window counts nothing to fire for.
    """

    def turn(said):
        at = len(said)
        if at == len(steps):
            return {}
        held = at > 1 and said[at - 2] == (at - 2, True) and not (quiet and steps[at] < 0)
        over = sum(answer for _, answer in said) == RUN.plan.alarms
        return {(HELD, False): 1.0} if held or over else RUN.answers(at, steps[at])

    return enumerated(RUN.threshold, turn)


@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_asks_nobody_who_is_held(quiet):
    """Two cells, three windows, one threshold: loss at most opening and alarms; the twin more."""
    told = cache(partial(law_of_run, quiet=quiet))
    around = [moved((-1,) * 6, steps) for steps in RUNS]
    pairs = ((steps, moved(steps, moves)) for steps, moves in product(around, RUNS))
    over = max(worst(*map(told, pair), RUN.charge) for pair in pairs)
    assert over == math.inf if quiet else over < 1e-9


RUNS = list(product((0, 1), repeat=6))


@pytest.mark.parametrize("whole", [True, False])
def test_early_alarms_hold_whole_windows(whole):
    """An event of a held window costs nothing. Twin: a hold of one step, whose event is read later.

    A window follows one that fired; its first step is held and refunded. Where the second step is
    asked, it reads the event of the first, which was charged nothing.
    """
    run = run_of(plan(alarm=str(math.log(2))))
    looks = 0 if whole else 2  # the second and the third are asked
    lost = worst(*(law_asked(run, (step,) * looks) for step in (0, 1)))
    assert lost == (0 if whole else pytest.approx(math.log(2), abs=0.02))


CELLS = 5
HELD_CELLS = np.array([False, True, False, True, False])


def counted(held):
    """Return counts near the threshold, those of held cells as said."""
    return np.where(HELD_CELLS, held, [49, 0, 50, 0, 51])[None].astype(np.int64)


def window(mechanism, **more):
    """Decide one window: its answers, and what every cell pays."""
    operator = create(mechanism, condition(CELLS), replace(aim(2), **more))

    def decided(held, noise):
        found = decide_asked(operator, counted(held), HELD_CELLS, noise)
        units = level_costs(found.cost).as_array()
        assert not units[HELD_CELLS].any()
        return found.fired, units.tolist()

    return decided


def run(**more):
    """Decide a window of a run: its answers, and all that the next one goes on with."""
    svt = create("svt", condition(CELLS), replace(aim(2), **more))

    def decided(held, noise):
        step = svt.go_on(counted(held), None, noise, window=7, held=HELD_CELLS)
        assert not HELD_CELLS[RunState.from_bytes(step.after.state).queue[:, 1]].any()
        return step.fired, (step.after.state, step.units, step.unanswered)

    return decided


def looks(mechanism):
    """Look three times at a window, held from its first step on: nobody is asked at the last."""
    early = create(mechanism, condition(CELLS), replace(aim(2), looks=3))

    def decided(held, noise):
        before, fired = None, np.zeros(CELLS, np.bool_)
        for look, mask in enumerate((HELD_CELLS, HELD_CELLS, HELD_CELLS & False)):
            step = early.go_on(counted(held), before, noise, window=look, held=mask)
            before, fired = kept(step), fired | step.fired
        return fired, before.state

    return decided


WAYS = [
    *(window(name) for name in ("tslm", "ppwlm", "dppwlm")),
    window("tslm", gaussian=True),
    window("tslm", promise="false_alarms", max_fpr=BETA),
    *(run(questions=questions, put_back=back) for questions in (1, 3) for back in (False, True)),
    *(looks(name) for name in ("svt", "tslm")),
]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_depends_on_who_is_held(way):
    """Whatever held cells count: they never fire, and all answers, costs and states stay."""
    for seed in range(20):
        found = [way(held, KeyedNoise(bytes([seed]))) for held in (-(10**7), 0, 50, 90)]
        for fired, rest in found:
            assert not fired[HELD_CELLS].any()
            assert (fired.tolist(), rest) == (found[0][0].tolist(), found[0][1])


def test_levels_that_held_cells_help_to_choose_are_caught():
    """Twin: drawn for all and forgotten, what five held cells count moves what others lose."""
    operator = create("dppwlm", condition(8), aim(9))

    def told(held, seed):
        counts = ints([[20, 30, 33] + [held] * 5])
        cost = operator.decide(counts, KeyedNoise(bytes([seed]))).cost
        return list(level_costs(cost).as_array()[:3])

    assert any(told(-(10**7), seed) != told(50, seed) for seed in range(100))
