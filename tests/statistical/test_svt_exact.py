"""Sparse vector by exact enumeration, then by frequencies; broken twins are caught by the same.

The law of a run's answers is computed from its definition, by summing over the threshold's noise
and multiplying along the tree of answers; the code is then shown to follow that definition noise by
noise. Losses are compared for every pair of neighbouring step counts in a box.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from accountant.units import UNITS_PER_EPSILON, to_loss_units
from operators.noise.source import KeyedNoise, NoiseSource
from operators.svt.difference import OneSided, TwoSided
from operators.svt.planning import planned_terms
from operators.svt.run import RunState, ask, open_run
from operators.svt.terms import SvtPlan
from tests.statistical.enumeration import chi_square, laplace_masses

if TYPE_CHECKING:
    from numpy.typing import NDArray

REACH = 400  # what is cut off of any threshold noise below is under exp(-120)
LOW, HIGH = -2, 3
Steps = tuple[int, ...]
Answers = tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class Rules:
    """A run as the enumeration sees it; a sound one, or a broken twin."""

    open_eps: float
    alarm_eps: float
    alarms: int
    scale: float  # of the query noise's rate over alarm_eps
    questions: int = 1
    resample: bool = False
    threshold: Literal["geometric", "laplace", "falling", "none"] = "laplace"
    query_noise: bool = True
    crashes: bool = False  # the threshold is redrawn after every question
    released: str = ""  # "value": s + v of an alarm; "gap": what it is above the noisy threshold

    def charge(self, rung: int) -> float:
        """Return what so many alarms are charged."""
        openings = min(rung + 1, self.alarms) if self.resample else 1
        return openings * self.open_eps + rung * self.alarm_eps


def rules_of(plan: SvtPlan) -> Rules:
    """Return the rules that a plan's run follows."""
    return Rules(
        open_eps=float(plan.threshold_rate),
        alarm_eps=plan.alarm_units / UNITS_PER_EPSILON,
        alarms=plan.alarms,
        scale=1.0 if plan.monotone else 0.5,
        questions=plan.questions,
        resample=plan.resample,
        threshold="geometric" if plan.one_sided else "laplace",
    )


def terms(
    alarms: int = 2,
    *,
    monotone: bool = False,
    questions: int = 1,
    correction: int = 0,
    put_back: bool = False,
    resample: bool = False,
    one_sided: bool = True,
) -> SvtPlan:
    """Return terms of a run with losses that a float resolves."""
    return SvtPlan(
        open_units=to_loss_units(Fraction(7, 10)),
        alarm_units=to_loss_units(Fraction(1, 2)),
        alarms=alarms,
        monotone=monotone,
        questions=questions,
        correction=correction,
        put_back=put_back,
        resample=resample,
        one_sided=one_sided,
    )


@cache
def law(rules: Rules, steps: Steps, orders: tuple[Steps, ...] = ()) -> dict[Answers, float]:
    """Return the probability of every transcript.

    A transcript is a sequence of (cell, answer), with the released number where there is one.

    Args:
        rules: of the run.
        steps: step count per cell.
        orders: the order in which each round asks cells; by their numbers where there is none.
    """
    natural = tuple(range(len(steps)))
    weights = threshold_law(rules)
    found: dict[Answers, float] = defaultdict(float)

    def begin(turn: int, left: int, said: Answers, mass: NDArray[np.float64]) -> None:
        rang = {cell for cell, answer in said if answer}
        order = orders[turn] if turn < len(orders) else natural
        waiting = tuple(cell for cell in order if cell not in rang)
        if turn == rules.questions or not left or not waiting:
            found[said] += float(mass.sum())
        else:
            go(turn, waiting, left, said, mass)

    def go(turn: int, waiting: Steps, left: int, said: Answers, mass: NDArray[np.float64]) -> None:
        if not waiting or not left:
            begin(turn + 1, left, said, mass)
            return
        cell, rest = waiting[0], waiting[1:]
        quiet = mass * (1 - ring_law(rules, steps[cell]))
        if rules.crashes:
            quiet = quiet.sum() * weights
        go(turn, rest, left, (*said, (cell, False)), quiet)
        for number, law_of_number in alarms_of(rules, steps[cell]):
            kept = mass * law_of_number
            if rules.resample or rules.crashes:
                kept = kept.sum() * weights
            go(turn, rest, left - 1, (*said, (cell, True), *number), kept)

    begin(0, rules.alarms, (), weights)
    return dict(found)


AT = np.arange(-REACH, REACH + 1)


def threshold_law(rules: Rules) -> NDArray[np.float64]:
    """Return the law of the threshold's noise on ``AT``."""
    rate = Fraction(rules.open_eps).limit_denominator(1000)
    if rules.threshold == "laplace":
        return laplace_masses(rate, REACH)
    if rules.threshold == "none":
        return np.asarray(AT == 0, dtype=np.float64)
    side = AT >= 0 if rules.threshold == "geometric" else AT <= 0
    return np.where(side, -math.expm1(-rate) * np.exp(-float(rate) * np.abs(AT)), 0.0)


def ring_law(rules: Rules, step: int) -> NDArray[np.float64]:
    """Return the probability that a question rings, per threshold noise."""
    needed = AT - step
    if not rules.query_noise:
        return np.asarray(needed <= 0, dtype=np.float64)
    rings: NDArray[np.float64] = np.exp(-rules.alarm_eps * rules.scale * np.maximum(needed, 0))
    return rings


def alarms_of(rules: Rules, step: int) -> list[tuple[Answers, NDArray[np.float64]]]:
    """Return the ways to ring, and the probability of each per threshold noise."""
    if not rules.released:
        return [((), ring_law(rules, step))]
    rate, needed = rules.alarm_eps * rules.scale, AT - step
    parts: list[tuple[Answers, NDArray[np.float64]]] = []
    for number in range(-2, 8):
        drawn = number + needed if rules.released == "gap" else np.full_like(AT, number - step)
        fits = (drawn >= 0) & (drawn >= needed)
        one = np.where(fits, (1 - math.exp(-rate)) * np.exp(-rate * np.maximum(drawn, 0)), 0.0)
        parts.append((((number, True),), one))
    return parts


def excess(rules: Rules, steps: Steps, moves: Steps) -> float:
    """Return by how much the worst transcript's loss exceeds its charge, one way round."""
    ours = law(rules, steps)
    theirs = law(rules, tuple(a + b for a, b in zip(steps, moves, strict=True)))
    worst = -math.inf
    for said, mass in ours.items():
        if mass < 1e-30:  # below, what was cut off could count
            continue
        rung = sum(answer for _, answer in said)
        if rules.released:
            rung //= 2
        other = theirs.get(said, 0.0)
        loss = math.log(mass / other) if other > 0 else math.inf
        worst = max(worst, loss - rules.charge(rung))
    return worst


def moves_of(cells: int, *, monotone: bool) -> list[Steps]:
    """Return how a neighbour may move the step counts of so many cells."""
    if monotone:
        return [*product((0, 1), repeat=cells), *product((0, -1), repeat=cells)]
    return list(product((-1, 0, 1), repeat=cells))


PLANS = [
    terms(alarms, monotone=monotone, questions=questions, resample=resample, one_sided=one_sided)
    for one_sided in (True, False)
    for alarms in (1, 2)
    for monotone in (False, True)
    for questions in (1, 2)
    for resample in (False, True)
]


def name_of(plan: SvtPlan) -> str:
    """Return a short name of a plan."""
    kind = "monotone" if plan.monotone else "any"
    again = "-resample" if plan.resample else ""
    side = "one" if plan.one_sided else "two"
    return f"{side}-sided-{kind}-c{plan.alarms}-k{plan.questions}{again}"


@pytest.mark.parametrize("plan", PLANS, ids=name_of)
def test_no_transcript_costs_more_than_its_alarms(plan: SvtPlan) -> None:
    """Two cells, every step counts in a box, every neighbour: ex post, loss is at most charge."""
    rules = rules_of(plan)
    worst = max(
        excess(rules, steps, moves)
        for steps in product(range(LOW, HIGH + 1), repeat=2)
        for moves in moves_of(2, monotone=plan.monotone)
    )
    assert worst < 1e-9


@pytest.mark.parametrize("plan", PLANS, ids=name_of)
def test_five_questions_attain_the_charge(plan: SvtPlan) -> None:
    """High negatives before low positives lose the charge of a spent run, and nobody loses more."""
    rules = rules_of(plan)
    patterns: list[Steps] = [
        (4, -1, 4, -1, 0),
        (0, 3, -2, 1, 2),
        (4, 4, -2, -2, 0),
        (-1, 4, -1, 4, 0),
    ]
    if plan.questions > 1:
        patterns = [each[:4] for each in patterns]
    worst = max(
        excess(rules, steps, moves)
        for steps in patterns
        for moves in moves_of(len(steps), monotone=plan.monotone)
    )
    assert abs(worst) < 1e-9


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("monotone", [False, True])
def test_a_spent_run_attains_its_whole_price(*, monotone: bool, one_sided: bool) -> None:
    """A transcript with all alarms loses eps_1 + eps_2 to 1e-6, with redrawn thresholds c eps_1."""
    for resample in (False, True):
        plan = terms(2, monotone=monotone, resample=resample, one_sided=one_sided)
        rules = rules_of(plan)
        steps = (4, -1, 4, -1)
        moves = (1, 0, 1, 0) if monotone else (1, -1, 1, -1)
        said = ((0, False), (1, True), (2, False), (3, True))
        other = tuple(a + b for a, b in zip(steps, moves, strict=True))
        loss = math.log(law(rules, steps)[said] / law(rules, other)[said])
        assert abs(loss - plan.epsilon_units / UNITS_PER_EPSILON) < 1e-6


SOUND = rules_of(terms(2))
BROKEN = {
    "threshold noise of the other sign": replace(SOUND, threshold="falling"),
    "no threshold noise": replace(SOUND, threshold="none"),
    "no query noise": replace(SOUND, query_noise=False),
    "noise not scaled by c": replace(SOUND, scale=SOUND.scale * 2),
    "released distance to the public threshold": replace(SOUND, released="value"),
    "threshold redrawn after a crash": replace(SOUND, crashes=True),
    "monotone scale with COUNT > and COUNT <": rules_of(terms(2, monotone=True)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_runs_are_caught(name: str) -> None:
    """Each of seven broken twins loses more than is charged, by the check that the code passes."""

    def worst(rules: Rules) -> float:
        return max(
            excess(rules, steps, moves)
            for steps in [(4, 4, -1), (3, -1, -1), (0, 1, -1)]
            for moves in moves_of(3, monotone=False)
        )

    assert worst(BROKEN[name]) > 0.1
    assert worst(SOUND) < 1e-9


@pytest.mark.parametrize("monotone", [False, True])
def test_a_threshold_noise_that_falls_tells_for_certain(*, monotone: bool) -> None:
    """With rho = -Geo a cell at -1 can be quiet, one at 0 cannot, and the loss has no bound."""
    rules = replace(rules_of(terms(1, monotone=monotone)), threshold="falling")
    assert excess(rules, (-1,), (1,)) == math.inf
    assert excess(rules, (-1,), (0,)) < 1e-9


def test_counts_above_and_below_in_one_run_lose_half_as_much_again() -> None:
    """COUNT > c with COUNT < c at the monotone scale: 3.0 where 2.0 is charged."""
    rules = Rules(open_eps=1.0, alarm_eps=1.0, alarms=1, scale=1.0)
    assert excess(rules, (4, -1), (1, -1)) == pytest.approx(1.0, abs=1e-9)
    assert excess(rules, (4, -1), (1, 0)) < 1e-9


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("monotone", [False, True])
def test_distance_to_the_noisy_threshold_would_be_free(*, monotone: bool, one_sided: bool) -> None:
    """The gap above the noisy threshold loses nothing more; the code releases it nonetheless not.

    Shifting the threshold's noise up never asks a question's noise to be negative: only the
    distance to the public threshold tells where the support of one-sided noise begins.
    """
    plan = terms(2, monotone=monotone, one_sided=one_sided)
    rules = replace(rules_of(plan), released="gap")
    worst = max(
        excess(rules, steps, moves)
        for steps in [(3, -1, -1), (0, 2, -1)]
        for moves in moves_of(3, monotone=monotone)
    )
    assert worst < 1e-9


class Scripted(NoiseSource):
    """Noise that was written down beforehand."""

    def __init__(
        self,
        plan: SvtPlan,
        thresholds: list[int],
        questions: list[int],
        keys: list[int] | None = None,
    ) -> None:
        """Take thresholds, questions' noises and keys in the order of drawing."""
        super().__init__()
        self.plan = plan
        self.thresholds, self.questions = list(thresholds), list(questions)
        self.keys = keys

    def threshold(self) -> int:
        """Return the next threshold."""
        return self.thresholds.pop(0)

    def discrete_laplace(self, t: Fraction, n: int) -> NDArray[np.int64]:
        """Return the next threshold, which such noise is for."""
        assert not self.plan.one_sided
        assert (t, n) == (self.plan.threshold_rate, 1)
        return np.array([self.threshold()], dtype=np.int64)

    def geometric(self, t: Fraction, n: int) -> NDArray[np.int64]:
        """Return the next threshold, or the next questions' noises, by the rate."""
        if t == self.plan.threshold_rate:
            assert (self.plan.one_sided, n) == (True, 1)
            return np.array([self.threshold()], dtype=np.int64)
        assert t == self.plan.query_rate
        drawn, self.questions = self.questions[:n], self.questions[n:]
        assert len(drawn) == n
        return np.array(drawn, dtype=np.int64)

    def uint64(self, n: int) -> NDArray[np.uint64]:
        """Return the first keys, of every round; in order of place where there are none."""
        return np.array(self.keys[:n] if self.keys else range(n), dtype=np.uint64)


def outcomes(
    rules: Rules, steps: Steps, orders: tuple[Steps, ...] = ()
) -> dict[tuple[Steps, int], float]:
    """Return the law of which cells ring and how many were asked."""
    found: dict[tuple[Steps, int], float] = defaultdict(float)
    for said, mass in law(rules, steps, orders).items():
        rang = tuple(sorted(cell for cell, answer in said if answer))
        found[rang, len({cell for cell, _ in said})] += mass
    return found


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("alarms", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_every_noise_is_answered_as_defined(
    alarms: int, *, monotone: bool, one_sided: bool
) -> None:
    """Run over all noises of two cells, the code's answers add up to the law, all tails folded."""
    plan = terms(alarms, monotone=monotone, one_sided=one_sided)
    plan = replace(plan, open_units=to_loss_units(Fraction(4)))
    far, most = 5, 6
    rate, steps = float(plan.query_rate), (1, -1)
    found: dict[tuple[Steps, int], float] = defaultdict(float)
    masses = threshold_law(rules_of(plan))[REACH - far : REACH + far + 1]
    tails = [math.exp(-rate * k) - math.exp(-rate * (k + 1)) for k in range(most)]
    tails.append(math.exp(-rate * most))  # no threshold as near as these can tell these apart
    for z, *drawn in product(range(-far, far + 1), range(most + 1), range(most + 1)):
        if not masses[z + far]:
            continue
        noise = Scripted(plan, [z], drawn)
        decided = ask(plan, open_run(plan, noise), np.array(steps), noise)
        rang = tuple(np.flatnonzero(decided.fired).tolist())
        mass = masses[z + far] * tails[drawn[0]] * tails[drawn[1]]
        found[rang, int(decided.answered.sum())] += mass
    # The enumeration leaves out the threshold's tails.
    for outcome, mass in outcomes(rules_of(plan), steps).items():
        assert found[outcome] == pytest.approx(mass, abs=3 * math.exp(-4 * far))


def simulated(
    plan: SvtPlan, steps: list[int], noise: Scripted, rounds: list[list[int]]
) -> tuple[set[int], set[int], int]:
    """Ask one question after the other, as the definition has it; return rang, asked, left."""
    threshold, left = noise.threshold(), plan.alarms
    rang: set[int] = set()
    asked: set[int] = set()
    for order in rounds:
        waiting = [cell for cell in range(len(steps)) if cell not in rang]
        if not left or not waiting:
            break
        drawn = noise.geometric(plan.query_rate, len(waiting))
        for at in sorted(range(len(waiting)), key=lambda at: (order[at], at)):
            if not left:
                break
            asked.add(waiting[at])
            if steps[waiting[at]] + drawn[at] >= threshold + plan.correction:
                rang.add(waiting[at])
                left -= 1
                if left and plan.resample:
                    threshold = noise.threshold()
    return rang, asked, left


@pytest.mark.parametrize("resample", [False, True])
def test_whole_windows_answer_as_single_questions_do(*, resample: bool) -> None:
    """On 800 random windows, with ties of the order: one by one and all at once agree."""
    rng = np.random.default_rng(5)
    for _ in range(800):
        cells, questions = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        plan = terms(
            int(rng.integers(1, 6)),
            questions=questions,
            correction=int(rng.integers(-3, 4)),
            resample=resample,
            one_sided=bool(rng.integers(2)),
        )
        steps = rng.integers(-6, 4, cells).tolist()
        thresholds = rng.integers(-4, 5, plan.alarms).tolist()
        drawn = rng.integers(0, 6, cells * questions).tolist()
        keys = rng.integers(0, 5, cells).tolist()
        ours = Scripted(plan, thresholds, drawn, keys)
        decided = ask(plan, open_run(plan, ours), np.array(steps, dtype=np.int64), ours)
        theirs = Scripted(plan, thresholds, drawn)
        rang, asked, left = simulated(plan, steps, theirs, [keys] * questions)
        assert set(np.flatnonzero(decided.fired).tolist()) == rang
        assert set(np.flatnonzero(decided.answered).tolist()) == asked
        assert decided.state.left == left
        assert decided.rung == plan.alarms - left


def test_stored_run_goes_on_with_its_threshold() -> None:
    """Written and read back between windows, a run answers as one that was never stored."""
    plan = terms(5, questions=2, put_back=True)
    windows = np.random.default_rng(3).integers(-8, 3, (6, 4))
    answers = []
    for stored in (False, True):
        noise = KeyedNoise(b"one")
        state = open_run(plan, noise)
        told = []
        for at, steps in enumerate(windows):
            decided = ask(plan, state, steps, noise, window=at)
            state = decided.state
            if stored:
                state = RunState.from_bytes(state.to_bytes())
            told.append((decided.fired.tolist(), decided.answered.tolist(), decided.late))
        answers.append((told, state))
    assert answers[0] == answers[1]


def frequencies(plan: SvtPlan, steps: Steps, runs: int, key: bytes) -> dict[tuple[Steps, int], int]:
    """Return how often each outcome came."""
    noise = KeyedNoise(key)
    counts: dict[tuple[Steps, int], int] = defaultdict(int)
    values = np.array(steps, dtype=np.int64)
    for _ in range(runs):
        decided = ask(plan, open_run(plan, noise), values, noise)
        rang = tuple(np.flatnonzero(decided.fired).tolist())
        counts[rang, int(decided.answered.sum())] += 1
    return counts


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("resample", [False, True])
def test_frequencies_follow_the_law(*, resample: bool, one_sided: bool) -> None:
    """2,000 runs over three cells in random order agree with the law; twice the noise does not."""
    plan = terms(2, questions=2, resample=resample, one_sided=one_sided)
    steps = (1, 0, -2)
    expected: dict[tuple[Steps, int], float] = defaultdict(float)
    for orders in product(permutations(range(3)), repeat=2):
        for outcome, mass in outcomes(rules_of(plan), steps, orders).items():
            expected[outcome] += mass / 36
    keys = sorted(expected)
    masses = np.array([expected[key] for key in keys])
    counts = frequencies(plan, steps, 2_000, b"law")
    assert set(counts) <= set(keys)
    assert chi_square(np.array([counts[key] for key in keys]), masses) > 1e-4
    weaker = replace(plan, alarm_units=plan.alarm_units // 2)
    counts = frequencies(weaker, steps, 2_000, b"law")
    assert chi_square(np.array([counts[key] for key in keys]), masses) < 1e-6


@pytest.mark.parametrize(
    ("fast", "slow"), [("0.3", "0.7"), ("0.7", "0.3"), ("1/2", "1/2"), ("2", "3"), ("40", "41")]
)
def test_difference_follows_its_definition(fast: str, slow: str) -> None:
    """Closed forms of both laws, float and certified, meet the sum over both noises."""
    rates = Fraction(fast), Fraction(slow)
    for one_sided in (True, False):
        of = (OneSided if one_sided else TwoSided)(*rates)
        masses = np.where(AT < 0, 0.0, 1.0) if one_sided else np.ones(AT.size)
        masses *= np.exp(-float(rates[1]) * np.abs(AT))
        masses /= masses.sum()
        for m in (-9, -1, 0, 1, 2, 17):
            direct = float(masses @ np.exp(-float(rates[0]) * np.maximum(AT + m, 0)))
            assert of.at_least(m) == pytest.approx(direct, rel=1e-9, abs=1e-15)
            assert of.at_least(m) + of.below(m) == pytest.approx(1, abs=1e-15)
            if isinstance(of, OneSided):
                lo, hi = of.bounds(m)
                assert 0 <= lo <= hi <= 1
                assert hi - lo < Fraction(1, 10**60)
                assert of.at_least(m) == pytest.approx(float(lo), rel=1e-12)
                assert of.below(m) == pytest.approx(float(1 - lo), rel=1e-12)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("steps", "max_fpr", "alarms"), [(1, "0.05", 3), (41, "1e-5", 10)])
def test_planned_errors_follow_the_law(
    steps: int, max_fpr: str, alarms: int, *, monotone: bool
) -> None:
    """By summing over the threshold's noise, a plan's misses and false alarms meet its promise.

    They come within a millionth of it, from below: nothing is given away. The paper's noise of
    the same losses breaks the promise with every correction.
    """
    alpha, beta = Fraction(max_fpr), Fraction(1, 20)
    plan = planned_terms(steps, alpha, beta, alarms=alarms, questions=2, monotone=monotone)
    at = np.arange(-20_000, 20_001)
    opening = np.exp(-float(plan.threshold_rate) * np.abs(at))

    def rings(weights: NDArray[np.float64], step: int, r: int) -> float:
        """Return how often a cell with this step count rings at its first question."""
        needed = np.maximum(at + r - step, 0)
        return float(weights @ np.exp(-float(plan.query_rate) * needed)) / float(weights.sum())

    one_sided = np.where(at < 0, 0.0, opening)
    missed = 1 - rings(one_sided, 0, plan.correction)
    rung = rings(one_sided, -steps, plan.correction)
    assert 1 - 1e-6 < missed / float(beta) < 1 + 1e-9
    assert 1 - 1e-6 < rung / float(alpha / 2) < 1 + 1e-9
    for r in range(-steps - 20, steps + 20):
        missed, rung = 1 - rings(opening, 0, r), rings(opening, -steps, r)
        assert missed > float(beta) or rung > float(alpha / 2)
