"""Planning and asking of sparse-vector runs; privacy is checked by exact enumeration elsewhere."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from accountant.errors import ConfigError, LedgerCorruptError
from accountant.units import UNITS_PER_EPSILON
from operators import (
    MECHANISMS,
    RUN_MECHANISMS,
    Aim,
    Comparison,
    Condition,
    Formula,
    IntegerTest,
    RunState,
    Svt,
    SvtPlan,
    ThresholdAtom,
    create,
    price,
    svt_correction,
)
from operators.noise.source import KeyedNoise
from operators.svt import (
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    accuracy,
    ask,
    integer_correction,
    open_run,
    optimal_split,
)
from operators.svt.difference import OneSided
from operators.svt.planning import planned_terms
from operators.svt.variants import discrete_gaussian, gaussian_epsilon, laplace_questions
from tests.statistical.enumeration import chi_square

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from operators.svt.correction import Noise
    from operators.svt.split import QueryNoise

RATE = Fraction(1, 20)


def condition(cells: int = 3, *, sensitivity: int = 1, monotone: bool = True) -> Condition:
    """Return COUNT > 50 in so many cells."""
    test = IntegerTest(Comparison.GT, np.full(cells, 50, dtype=np.int64), sensitivity)
    return replace(Condition.single(test), monotone=monotone)


def aim(tolerance: int = 5, *, alarms: int = 10, questions: int = 1) -> Aim:
    """Return an aim of the usual rates."""
    return Aim(RATE, (tolerance,), alarms=alarms, questions=questions)


def plan(alarms: int = 3, **changes: Any) -> SvtPlan:
    """Return terms of a run."""
    given = SvtPlan(open_units=UNITS_PER_EPSILON, alarm_units=UNITS_PER_EPSILON, alarms=alarms)
    return replace(given, **changes)


@pytest.mark.parametrize("noise", ["exp", "lap", "gum"])
@pytest.mark.parametrize(("monotone", "resample"), [*product([False, True], repeat=2)])
def test_split_has_the_least_variance(noise: QueryNoise, *, monotone: bool, resample: bool) -> None:
    """The formula's w is where a search over all splits ends."""
    unit = {"exp": 1.0, "lap": 2.0, "gum": math.pi**2 / 6}[noise]
    for alarms in (1, 7, 50):
        openings = alarms if resample else 1
        scale = alarms if monotone else 2 * alarms

        def variance(log_w: float, o: int = openings, s: int = scale) -> float:
            first = 1 / (o + math.exp(log_w))
            return 2 / first**2 + unit * (s / (first * math.exp(log_w))) ** 2

        best = minimize_scalar(variance, bounds=(-5, 15), method="bounded", options={"xatol": 1e-9})
        w = optimal_split(alarms, monotone=monotone, noise=noise, resample=resample)
        assert float(w) == pytest.approx(math.exp(best.x), rel=1e-4)
    with pytest.raises(ValueError, match="at least one alarm"):
        optimal_split(0, monotone=True)


def test_split_is_the_papers() -> None:
    """Section 4's closed forms for a run of 50."""
    for noise, any_way, one_way in (
        ("exp", 50 * math.sqrt(2), 50 / math.sqrt(2)),
        ("lap", 100, 50),
        ("gum", 50 * math.pi / math.sqrt(3), 50 * math.pi / math.sqrt(12)),
    ):
        for monotone, base in ((False, any_way), (True, one_way)):
            w = optimal_split(50, monotone=monotone, noise=noise)  # type: ignore[arg-type]
            assert float(w) == pytest.approx(base ** (2 / 3), abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("scales", [(1, 1), (3, 1), (1, 7), (40, 1)])
def test_both_corrections_agree(scales: tuple[float, float]) -> None:
    """Closed form and transform, to 1e-6 in proportion."""
    for threshold in (Laplace, Exponential):
        noises = Exponential(scales[0]), threshold(scales[1])
        cases = ((1, 0), (50, 1.5), (1e4, 0.3)) if threshold is Laplace else ((1e4, 0.3),)
        for negatives, tolerance in cases:
            exact = svt_correction(*noises, negatives, tolerance)
            by_fft = svt_correction(*noises, negatives, tolerance, "fft")
            assert by_fft == pytest.approx(exact, 1e-6, 1e-6)


def test_correction_without_tolerance_is_a_quantile() -> None:
    """At a = 0, Gamma(r) = k / (k + 1), for pairs whose law is known: scipy's integral says so."""
    for scale, negatives in ((1.0, 5), (3.0, 50), (0.2, 1)):
        r = svt_correction(Exponential(scale), Laplace(1), negatives)
        at = np.linspace(-60, 60, 2_000_001)
        weights = np.exp(-np.abs(at)) / 2 * (at[1] - at[0])
        above = float(weights @ np.exp(-np.maximum(r + at, 0) / scale))
        assert 1 - above == pytest.approx(negatives / (negatives + 1), abs=1e-7)
        r = svt_correction(Exponential(scale), Exponential(1), negatives)
        weights = np.where(at < 0, 0.0, 2 * weights)
        weights /= weights.sum()
        above = float(weights @ np.exp(-np.maximum(r + at, 0) / scale))
        assert 1 - above == pytest.approx(negatives / (negatives + 1), abs=1e-4)
    r = svt_correction(Gaussian(3), Gaussian(4), 3, method="fft")
    assert r == pytest.approx(5 * 0.6744897501960817, rel=1e-6)  # the normal law's third quartile


def test_correction_is_the_maximum() -> None:
    """No r near it does better, for any pair and tolerance."""
    sample = np.linspace(-40, 60, 200_001)
    weights = np.exp(-np.abs(sample)) / 2 * (sample[1] - sample[0])

    def objective(query: Noise, r: float) -> float:
        high, low = (float(weights @ query.survival(at + sample)) for at in (r + 0.7, r - 0.7))
        return 20 * math.log(1 - high) + math.log(low)

    for query in (Exponential(2), Laplace(2), Gumbel(2), Gaussian(2)):
        r = svt_correction(query, Laplace(1), 20, 0.7, "fft")
        best = objective(query, r)
        assert all(objective(query, r + move) < best for move in (-0.1, -0.03, 0.03, 0.1))


def test_correction_refuses_what_it_cannot_do() -> None:
    """Numbers out of range, pairs without closed form, tails out of sight, unknown methods."""
    exp, lap = Exponential(1), Laplace(1)
    for negatives, tolerance in ((0, 0), (-1, 0), (math.inf, 0), (1, -1), (1, math.nan)):
        with pytest.raises(ValueError, match="above 0"):
            svt_correction(exp, lap, negatives, tolerance)
    with pytest.raises(ValueError, match="above 0"):
        svt_correction(Exponential(0), lap, 1)
    with pytest.raises(ValueError, match="closed form"):
        svt_correction(lap, exp, 1)
    with pytest.raises(ValueError, match="cannot see"):
        svt_correction(exp, lap, 1e300, method="fft")
    with pytest.raises(ValueError, match="method"):
        svt_correction(exp, lap, 1, 0, "guess")  # type: ignore[arg-type]


@pytest.mark.parametrize("one_sided", [False, True])
def test_whole_correction_is_best_on_integers(*, one_sided: bool) -> None:
    """Against all whole r around it, by a direct sum over both noises."""
    at = np.arange(0 if one_sided else -900, 900)
    for rates, negatives, tolerance in (((8, 3), 5, 0), ((1, 1), 100, 2), ((20, 2), 1, 0)):
        terms = plan(
            1,
            alarm_units=rates[0] * 10**11,
            open_units=rates[1] * 10**11,
            one_sided=one_sided,
        )
        masses = np.exp(-np.abs(at) * float(terms.threshold_rate))
        masses /= masses.sum()

        def rings(r: int, law: SvtPlan = terms, weights: NDArray[np.float64] = masses) -> float:
            needed = np.maximum(at + r, 0)
            return float(weights @ np.exp(-needed * float(law.query_rate)))

        def right(
            r: int,
            above: Callable[[int], float] = rings,
            k: int = negatives,
            a: int = tolerance,
        ) -> float:
            return (1 - above(r + a + 1)) ** k * above(r - a)

        best = max(range(-20, 110), key=right)
        assert integer_correction(terms, negatives, tolerance) == best


def errors(
    r: NDArray[np.int64], opening: NDArray[np.float64], asking: NDArray[np.float64], steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P[v - rho < r] and P[v - rho >= r + steps] of two geometrics, by their definition."""

    def at_least(m: NDArray[np.int64]) -> NDArray[np.float64]:
        both = -np.expm1(-opening - asking)
        above = np.exp(-asking * np.maximum(m, 0)) * -np.expm1(-opening) / both
        below = np.exp(-opening * np.maximum(1 - m, 0)) * -np.expm1(-asking) / both
        result: NDArray[np.float64] = np.where(m >= 0, above, 1 - below)
        return result

    return 1 - at_least(r), at_least(r + steps)


def cheaper_runs(terms: SvtPlan, steps: int, alpha: float, beta: float) -> int:
    """Count runs that keep a promise for less, over a grid of losses, splits and corrections."""
    rs = np.unique(np.concatenate([np.arange(-min(steps, 120) - 4, 6), [1 - steps, -steps]]))
    rs = np.unique(np.concatenate([rs, terms.correction + np.arange(-4, 5)]))
    whole = terms.epsilon_units / UNITS_PER_EPSILON
    ours = math.log(terms.alarms * terms.alarm_units / terms.open_units)
    theirs = math.log(optimal_split(terms.alarms, monotone=terms.monotone))
    far = np.linspace(-9, 9, 120)
    w = np.exp(np.concatenate([ours + far / 20, ours + far, [ours, theirs]]))
    # A promise in whole loss units may cost each price a unit more than one in real numbers.
    least = 1 - max(1e-9, 2 * (terms.alarms + 1) / terms.epsilon_units)
    losses = whole * least * np.array([1, 1 - 1e-6, 0.9999, 0.999, 0.99, 0.9, 0.7, 0.4])
    r, loss, split = (each.ravel() for each in np.meshgrid(rs, losses, w))
    opening = loss / (1 + split)
    asking = (loss - opening) / (terms.alarms * (1 if terms.monotone else 2))
    missed, rung = errors(r.astype(np.int64), opening, asking, steps)
    return int(np.count_nonzero((missed <= beta) & (rung <= alpha)))


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(
    ("tolerance", "alarms", "questions"),
    [(0, 1, 1), (1, 10, 1), (5, 10, 3), (40, 50, 1), (30_000, 2, 1)],
)
def test_plan_keeps_its_promise_for_the_least(
    tolerance: int, alarms: int, questions: int, *, monotone: bool
) -> None:
    """Certified errors; a unit less breaks the promise, and no other split or r keeps it for less.

    Among the other splits is the one that has the least variance.
    """
    made = Svt.planned(
        condition(monotone=monotone), aim(tolerance, alarms=alarms, questions=questions)
    )
    terms, steps = made.terms, condition().test("a").steps(tolerance)
    assert terms.one_sided

    def kept(given: SvtPlan) -> bool:
        law = OneSided(given.query_rate, given.threshold_rate)
        rung = law.bounds(given.correction + steps)[1]
        return 1 - law.bounds(given.correction)[0] <= RATE and rung <= RATE / questions

    assert kept(terms)
    assert not kept(replace(terms, open_units=terms.open_units - 1))
    assert not kept(replace(terms, alarm_units=terms.alarm_units - 1))
    assert not kept(replace(terms, correction=terms.correction + 1))
    assert cheaper_runs(terms, steps, float(RATE) / questions, float(RATE)) == 0
    assert made.plan.epsilon * UNITS_PER_EPSILON == terms.epsilon_units
    assert made.plan.epsilon > made.plan.limit


def test_random_promises_are_kept_for_the_least() -> None:
    """Odd rates, from nearly a guess to one in a million millions; all in all 60 of them."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        beta = Fraction(float(10 ** rng.uniform(-10, -0.1))).limit_denominator(10**12)
        alpha = Fraction(float(10 ** rng.uniform(-12, -0.1))).limit_denominator(10**15)
        if alpha + beta >= 1:
            alpha = (1 - beta) * Fraction(99, 100)
        steps, alarms = int(rng.integers(1, 30)), int(rng.choice([1, 2, 10, 1_000, 10**4]))
        terms = planned_terms(
            steps, alpha, beta, alarms=alarms, questions=1, monotone=bool(rng.integers(2))
        )
        r, law = terms.correction, OneSided(terms.query_rate, terms.threshold_rate)
        assert -steps < r <= 0
        assert 1 - law.bounds(r)[0] <= beta
        assert law.bounds(r + steps)[1] <= alpha
        assert cheaper_runs(terms, steps, float(alpha), float(beta)) == 0


def test_a_promise_that_is_nearly_a_guess_costs_next_to_nothing() -> None:
    """Rates that add up to nearly 1 are kept for less than a millionth, soon found."""
    for missed, short, most in (
        (Fraction(1, 2), Fraction(1, 10**9), 10**6),
        (Fraction(1, 2), Fraction(1, 10**30), 100),
        (Fraction(1, 3), Fraction(1, 10**12), 10**6),
        (Fraction(31, 97), Fraction(1, 10**11), 10**6),
    ):
        rung = 1 - missed - short
        terms = planned_terms(50, rung, missed, alarms=3, questions=1, monotone=True)
        law = OneSided(terms.query_rate, terms.threshold_rate)
        assert terms.epsilon_units < most
        assert 1 - law.bounds(terms.correction)[0] <= missed
        assert law.bounds(terms.correction + 50)[1] <= rung


def test_planning_checks_its_numbers() -> None:
    """No steps, alarms or questions; rates too fine, or met by guessing."""
    good: dict[str, Any] = {"steps": 3, "alpha": RATE, "beta": RATE}
    counts: dict[str, Any] = {"alarms": 1, "questions": 1, "monotone": True}
    for wrong in (
        {"steps": 0},
        {"alarms": 0},
        {"questions": 0},
        {"alpha": Fraction(0)},
        {"beta": Fraction(1, 10**50)},
        {"alpha": Fraction(19, 20)},
    ):
        with pytest.raises(ValueError, match="at least"):
            planned_terms(**(good | counts | wrong))
    assert planned_terms(**good, **counts) is planned_terms(**good, **counts)


def test_one_sided_noise_is_never_below_zero() -> None:
    """What is drawn for the threshold has the plan's law: geometric where planned so."""
    noise = KeyedNoise(b"sides")
    for one_sided, low in ((True, 0), (False, -30)):
        terms = plan(1, one_sided=one_sided)
        drawn = np.array([open_run(terms, noise).threshold_noise for _ in range(4_000)])
        at = np.arange(low, 31)
        masses = np.exp(-np.abs(at))
        assert drawn.min() >= low
        counts = np.bincount(drawn - low, minlength=at.size)
        assert chi_square(counts, masses / masses.sum()) > 1e-4


def test_what_cannot_be_planned_is_refused() -> None:
    """Several literals, numbers out of range, guessing."""
    atoms = {name: ThresholdAtom(0, np.array([c])) for name, c in (("a", 5), ("b", 9))}
    both = Condition(Formula.parse("a AND b"), atoms, (1,))
    with pytest.raises(ConfigError, match="one comparison"):
        create("svt", both, Aim(RATE, (1, 1)))
    for wrong in (aim(alarms=0), aim(questions=0), aim(alarms=10**5), aim(questions=10**4)):
        with pytest.raises(ConfigError, match=r"a run has|a cell is asked"):
            price("svt", condition(), wrong)
    with pytest.raises(ConfigError, match="add up to 1"):
        price("svt", condition(), replace(aim(), max_fnr=Fraction(1, 2)))
    with pytest.raises(ConfigError, match="at most"):
        price("svt", condition(), aim(10**6))


def test_registry_knows_runs() -> None:
    """Runs are made and priced by name, without counting as a mechanism of single windows."""
    assert RUN_MECHANISMS == ("svt",)
    assert not set(RUN_MECHANISMS) & set(MECHANISMS)
    made = create("svt", condition(), aim())
    assert isinstance(made, Svt)
    assert made.plan == price("svt", condition(), aim())
    assert made.plan.mechanism == "svt"


def test_user_in_every_window_is_charged_for_alarms_only() -> None:
    """Over 10,000 windows a run costs eps_1 and its alarms; every window alone would pay again."""
    made = Svt.planned(condition(2), aim(5, alarms=10))
    alone = price("tslm", condition(2), aim(5))
    noise = KeyedNoise(b"user")
    state = made.open(noise)
    quiet, loud = np.full((1, 2), -400), np.array([[400, -400]])
    charged = rung = 0
    for window in range(10_000):
        decided = made.ask(loud if window % 2_500 == 0 else quiet, state, noise, window)
        state = RunState.from_bytes(decided.state.to_bytes())
        charged += made.cost_units(window == 0, decided.rung)
        rung += decided.rung
    assert rung == state.rung == 4
    assert charged == made.terms.open_units + 4 * made.terms.alarm_units
    assert charged < made.terms.epsilon_units < 10 * alone.epsilon * UNITS_PER_EPSILON


def test_spent_run_answers_nothing() -> None:
    """After its alarms nothing is asked; the window that spends it answers as far as it asked."""
    made = Svt.planned(condition(100), aim(5, alarms=3))
    noise = KeyedNoise(b"spent")
    loud = np.full((1, 100), 10_000)
    first = made.ask(loud, made.open(noise), noise)
    assert first.rung == first.answered.sum() == 3
    assert (first.fired == first.answered).all()
    assert (first.state.left, first.state.rung) == (0, 3)
    second = made.ask(loud, first.state, noise)
    assert not second.fired.any()
    assert not second.answered.any()
    assert second.state == first.state
    decision = made.decide(loud, noise)
    assert decision.fired.sum() == 3
    assert decision.cost.worst_units == made.terms.epsilon_units


def test_order_of_asking_is_fair() -> None:
    """Every cell is as likely to be among the alarms that a run has."""
    terms = plan(2)
    noise = KeyedNoise(b"fair")
    counts = np.zeros(5, dtype=np.int64)
    for _ in range(2_000):
        counts += ask(terms, open_run(terms, noise), np.full(5, 1_000), noise).fired
    assert counts.sum() == 4_000
    assert chi_square(counts, np.full(5, 0.2)) > 1e-4


def test_cells_put_back_are_asked_with_later_windows() -> None:
    """A negative cell is asked ``questions`` times in all, names its own window, then is let go."""
    terms = plan(4, questions=3, put_back=True)
    noise = KeyedNoise(b"back")
    state = RunState(0, 4, 0, terms.open_units)
    silent = ask(terms, state, np.array([-(10**6), -(10**6)]), noise, window=7)
    assert silent.state.queue.tolist() == [[7, 0, -(10**6), 1], [7, 1, -(10**6), 1]]
    loud = silent.state.queue.copy()
    loud[0, 2] = 10**6  # what a lucky draw would do
    state = replace(silent.state, queue=loud)
    second = ask(terms, state, np.array([-(10**6)]), noise, window=8)
    assert second.late == ((7, 0),)
    assert second.rung == 1
    assert not second.fired.any()
    assert second.state.queue.tolist() == [[7, 1, -(10**6), 2], [8, 0, -(10**6), 1]]
    third = ask(terms, second.state, np.array([-(10**6)]), noise, window=9)
    assert [row[:2] for row in third.state.queue.tolist()] == [[8, 0], [9, 0]]
    assert (third.state.left, third.state.rung) == (3, 1)


def test_state_survives_storage() -> None:
    """Bytes give back an equal state, show nothing in a repr, and bad ones are refused."""
    queue = np.array([[1 << 40, 2, -(1 << 60), 1]])
    state = RunState(-(1 << 50), 2, 1, 10**12, queue)
    again = RunState.from_bytes(state.to_bytes())
    assert again == state
    assert hash(again) == hash(state)
    assert again != replace(state, left=1)
    assert again != 5
    assert str(1 << 50) not in repr(state)
    assert str(1 << 60) not in repr(state)
    with pytest.raises(ValueError, match="read-only"):
        again.queue[0, 0] = 1
    newer = state.to_bytes().replace(b"\x96\x01", b"\x96\x02", 1)
    for bad in (b"", b"\xc0", newer, state.to_bytes()[:-1], state.to_bytes() + b"\x00"):
        with pytest.raises(LedgerCorruptError) as caught:
            RunState.from_bytes(bad)
        assert caught.value.__cause__ is None
        assert str(1 << 50) not in str(caught.value)


def test_state_of_other_terms_is_refused() -> None:
    """A threshold drawn for other terms, other alarms, a queue where none is kept, odd arrays."""
    noise, steps = KeyedNoise(b""), np.zeros(2, dtype=np.int64)
    state = open_run(plan(3), noise)
    queued = replace(state, queue=np.zeros((1, 4), dtype=np.int64))
    for terms, of in ((plan(2), state), (plan(3, open_units=5), state), (plan(3), queued)):
        with pytest.raises(ValueError, match="other terms"):
            ask(terms, of, steps, noise)
    odd: Any
    for odd in (np.zeros(2), np.zeros((1, 2), dtype=np.int64)):
        with pytest.raises(ValueError, match="int64"):
            ask(plan(3), state, odd, noise)
    with pytest.raises(ValueError, match="one row per statistic"):
        Svt.planned(condition(), aim()).ask(np.zeros((1, 2), dtype=np.int64), state, noise)
    for left, rung in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="no fewer than 0"):
            RunState(0, left, rung, 1)
    with pytest.raises(ValueError, match="four int64"):
        RunState(0, 1, 0, 1, np.zeros((2, 3), dtype=np.int64))


@pytest.mark.parametrize("resample", [False, True])
def test_costs_of_windows_add_up(*, resample: bool) -> None:
    """However alarms fall into windows, the increments sum to the run's loss, to the unit."""
    terms = plan(4, open_units=7, alarm_units=3, resample=resample)
    for parts in product(range(5), repeat=3):
        if sum(parts) > 4:
            with pytest.raises(ValueError, match="rings"):
                terms.cost_units(opening=True, rung=sum(parts))
            continue
        spent = before = 0
        for at, rung in enumerate(parts):
            spent += terms.cost_units(opening=at == 0, rung=rung, before=before)
            before += rung
        openings = min(before + 1, 4) if resample else 1
        assert spent == openings * 7 + before * 3
    assert terms.epsilon_units == (4 if resample else 1) * 7 + 12
    for wrong in ((True, -1, 0), (False, 1, 4), (True, 0, 1)):
        with pytest.raises(ValueError, match="rings"):
            terms.cost_units(*wrong)


def test_terms_split_a_budget() -> None:
    """Never above it, below by less than one unit per alarm, at the optimal w."""
    for units, alarms, resample in ((10**12, 50, False), (10**12 + 7, 3, True), (5, 1, False)):
        terms = SvtPlan.of_budget(units, alarms, resample=resample)
        assert 0 <= units - terms.epsilon_units < alarms
        if units > 100:
            w = float(optimal_split(alarms, monotone=False, resample=resample))
            assert alarms * terms.alarm_units / terms.open_units == pytest.approx(w, rel=1e-6)
    with pytest.raises(ValueError, match="loss unit"):
        SvtPlan.of_budget(3, 50)
    for field, least in (("open_units", 1), ("alarm_units", 2), ("alarms", 1), ("questions", 1)):
        below: dict[str, Any] = {field: least - 1}
        with pytest.raises(ValueError, match="a run"):
            replace(plan(), **below)
    with pytest.raises(ValueError, match="correction"):
        plan(1, correction=1 << 61)


@pytest.mark.parametrize("one_sided", [False, True])
def test_accuracy_is_that_of_runs(*, one_sided: bool) -> None:
    """Cells alpha steps off are all answered right at least as often as said, one less is not."""
    terms = plan(2, correction=3, one_sided=one_sided)
    negatives, beta = 30, 0.2
    alpha = int(accuracy(terms, negatives, beta))
    noise = KeyedNoise(b"accurate")

    def right(steps: int) -> float:
        cells = np.array([-steps] * negatives + [steps] * 2)
        expected = cells > 0
        good = 0
        for _ in range(1_000):
            decided = ask(
                replace(terms, alarms=32),
                RunState(open_run(terms, noise).threshold_noise, 32, 0, terms.open_units),
                cells,
                noise,
            )
            good += bool((decided.fired == expected).all())
        return good / 1_000

    assert right(alpha) > 1 - beta - 0.03
    assert right(alpha - 1) < 1 - beta + 0.03
    assert accuracy(terms, negatives, 1e-300) > 100
    assert accuracy(terms, 0, beta) <= alpha <= accuracy(replace(terms, questions=5), 30, beta)
    for wrong in ((-1, 0.1), (1, 0.0), (1, 1.0)):
        with pytest.raises(ValueError, match="accuracy"):
            accuracy(terms, *wrong)


def test_accuracy_meets_the_papers_theorem() -> None:
    """For one alarm at even halves of epsilon, alpha is at most 4 (ln k + ln(2 / beta)) / eps."""
    for epsilon, negatives in ((0.1, 50), (1.0, 500)):
        half = round(epsilon * UNITS_PER_EPSILON / 2)
        terms = SvtPlan(open_units=half, alarm_units=half, alarms=1)
        terms = replace(terms, correction=integer_correction(terms, negatives))
        bound = 4 * (math.log(negatives) + math.log(2 / 0.1)) / epsilon
        assert accuracy(terms, negatives, 0.1) <= bound


def test_extreme_counts_are_answered() -> None:
    """Statistics at the ends of int64 saturate and ring, or don't."""
    made = Svt.planned(condition(2), aim())
    noise = KeyedNoise(b"far")
    ends = np.array([[np.iinfo(np.int64).max, np.iinfo(np.int64).min]])
    assert made.ask(ends, made.open(noise), noise).fired.tolist() == [True, False]


def test_discrete_gaussian_follows_its_law() -> None:
    """40,000 draws against exp(-z^2 / 2 sigma^2), scaled; twice the variance fails."""
    noise = KeyedNoise(b"gauss")
    for variance in (Fraction(1, 3), Fraction(25, 2)):
        at = np.arange(-60, 61)
        masses = np.exp(-(at**2) / (2 * float(variance)))
        drawn = discrete_gaussian(noise, variance, 40_000)
        counts = np.bincount(drawn + 60, minlength=121)
        assert chi_square(counts, masses / masses.sum()) > 1e-4
        wider = np.exp(-(at**2) / (4 * float(variance)))
        assert chi_square(counts, wider / wider.sum()) < 1e-9
    assert discrete_gaussian(noise, Fraction(1), 0).size == 0
    with pytest.raises(ValueError, match="above 0"):
        discrete_gaussian(noise, Fraction(0), 1)


def test_variants_ask_with_their_noise() -> None:
    """Laplace questions are drawn at the plan's rate; Gaussian losses grow as they should."""
    terms, noise = plan(3), KeyedNoise(b"variants")
    state = open_run(terms, noise)
    decided = ask(terms, state, np.full(50, -3), noise, draw=laplace_questions(terms, noise))
    assert decided.rung <= 3
    losses = [gaussian_epsilon(terms, variance, 100, 1e-6) for variance in (10.0, 100.0, 1000.0)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] > float(terms.threshold_rate)
    assert gaussian_epsilon(replace(terms, monotone=True), 10.0, 100, 1e-6) < losses[0]
    with pytest.raises(ValueError, match="delta"):
        gaussian_epsilon(terms, 1.0, 1, 0.0)
