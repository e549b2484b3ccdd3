"""`tocsin test` compares with the law of the alarm's mechanism, enumerated here in another way.

From the file of tests to the verdict: what it computes is the table of tslm, the lattice of ppwlm's
levels and every order of svt's questions; and an expectation that is wrong by a millionth fails.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from operators.base import Promise
from operators.registry import create
from operators.single.tslm import Tslm
from operators.svt import endurance
from operators.svt.mechanism import Svt
from stream.config.loading import examine
from tests.statistical.chain_law import ladder_law
from tests.statistical.enumeration import ONE
from tests.statistical.svt_law import at_once, law, terms
from tests.support.commands import configuration, json_lines, tocsin

COUNTS = {"lab": 33, "hall": 29}
CLOSE = 1e-9


def alarm(folder, *lines, tolerance=3):
    """Write an alarm over two rooms with further keys, and return it."""
    path = configuration(folder, unit="user", epsilon_max="900", tolerance=tolerance)
    with (folder / "alarms.yaml").open("a") as file:
        file.writelines(f"    {line}\n" for line in lines)
    report = examine(folder / "alarms.yaml", environ={})
    assert report.alarms is not None, (path, report.errors)
    return report.alarms.by_name["crowd"]


def tried(folder, fires, code=0):
    """Return what comes of a test of ``COUNTS``, by predicate."""
    text = f"alarms: alarms.yaml\ntests: [{{name: t, counts: {COUNTS}, fires: {fires}}}]\n"
    (folder / "cases.yaml").write_text(text)
    (found, _) = json_lines(tocsin("test", str(folder / "cases.yaml"), "--json"), code)
    return {check["about"]: check for check in found["checks"]}


def holds_to_a_millionth(folder, exact, close=CLOSE):
    """Compare least and most with what the command found, and let expectations lie on both sides.

    Each expectation meets its worse: at least so much by the least, at most so much by the most.
    """
    found, little = tried(folder, dict.fromkeys(exact, ">= 0")), 1e-6
    for side in (0, 1):
        wanted = {name: both[side] for name, both in exact.items()}
        at = {name: check[("least", "most")[side]] for name, check in found.items()}
        assert at == pytest.approx(wanted, abs=close)
        sign, by = ("<=", little) if side else (">=", -little)
        tried(folder, {name: f"{sign} {chance + by:.12f}" for name, chance in wanted.items()})
        for name, chance in wanted.items():
            tried(folder, {name: f"{sign} {chance - by:.12f}"}, code=1)


def test_tslm_is_its_table(tmp_path):
    """The table of 64-bit numbers that a decision draws against."""
    query = alarm(tmp_path)
    test = query.condition.test(query.condition.formula.literals[0])
    operator = Tslm.planned(test, Promise(query.aim.max_fnr, query.aim.tolerances[0]))
    law = operator.law(np.array(list(COUNTS.values()))) / ONE
    assert 0.01 < law.min() < law.max() < 1
    holds_to_a_millionth(tmp_path, {name: (p, p) for name, p in zip(COUNTS, law, strict=True)})


def test_ppwlm_is_the_sum_over_its_noise(tmp_path):
    """Level by level on a lattice, by the noise of every level; one level less is told apart."""
    levels = '{first: "0.4", rounds: 2, refinement: 2, finest_share: "0.1"}'
    query = alarm(tmp_path, f"mechanism: {{ppwlm: {{levels: {levels}}}}}")
    ladder = create(query.mechanism, query.condition, query.aim).operator.ladder
    law = {name: ladder_law(ladder, count - 31) for name, count in COUNTS.items()}
    fires = {name: sum(fire for fire, _ in one) for name, one in law.items()}
    holds_to_a_millionth(tmp_path, {name: (p, p) for name, p in fires.items()})
    assert len(law["lab"]) == 3
    assert min(fire for fire, _ in law["lab"]) > 100 * CLOSE


def in_order(plan, steps, cell, order):
    """Return how likely a cell fires in a fresh run whose questions come in an order.

    All questions about a cell are one, which rings if any of them does.
    """
    once = at_once(plan, 1 if plan.put_back else None)
    asked = law(once, tuple(steps[at] for at in order))
    return sum(mass for said, mass in asked.items() if (order.index(cell), True) in said)


@pytest.mark.parametrize("alarms", [1, 2])
@pytest.mark.parametrize("put_back", [False, True])
def test_the_worst_order_is_asked_last(alarms, put_back, monkeypatch):
    """Of all orders of four cells; twins that forget the others, or what is shared, are caught."""
    at = (0, 1, -2, 0)
    steps = np.array(at)
    for questions, cell in product((1, 3), (0, 2)):
        plan = terms(alarms, questions=questions, correction=-1, put_back=put_back)
        orders = [in_order(plan, at, cell, order) for order in permutations(range(4))]
        said = endurance.asked_last(plan, steps, cell)
        assert said == pytest.approx(min(orders), abs=CLOSE)
        assert max(orders) <= plan.first_ring(at[cell]) + CLOSE
        assert abs(endurance.asked_last(replace(plan, alarms=4), steps, cell) - said) > 1e-3
    shared = endurance.threshold_law

    def unshared(of):
        noise, masses = shared(of)
        return np.array([noise @ masses]), np.ones(1)

    monkeypatch.setattr(endurance, "threshold_law", unshared)
    assert endurance.asked_last(plan, steps, cell) != pytest.approx(said, rel=1e-2)


def test_svt_lies_between_last_and_first(tmp_path):
    """The bounds of the command are those over all orders, and each expectation meets its worse."""
    query = alarm(tmp_path, "mechanism: {svt: {max_alarms: 1}}")
    plan = Svt.planned(query.condition, query.aim).terms
    steps = [count - 31 for count in COUNTS.values()]
    exact = {}
    for cell, name in enumerate(COUNTS):
        last, first = sorted(in_order(plan, steps, cell, order) for order in ((0, 1), (1, 0)))
        assert first - last > 1e-3
        exact[name] = last, first
    holds_to_a_millionth(tmp_path, exact, 1e-7)
