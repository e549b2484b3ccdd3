"""What a file may ask of a Gaussian budget, and what is refused where it stands."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from accountant.errors import ConfigError
from accountant.loss.gaussian import Gaussian
from accountant.units import from_loss_units, to_loss_units
from operators.formulas.mirrored import Mirrored
from operators.noise.source import KeyedNoise
from operators.panes.windows import PaneWindows
from operators.registry import ALL, create, price
from operators.single.adapter import Scored
from operators.single.pure import gaussian_units
from stream.decisions.mechanisms import operator_of, panes_of, plans_of, price_of
from stream.model.fingerprints import fingerprint
from tests.unit.stream.config.given import examined, loaded

CONFIG = """\
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [hall, lab]}}
      age: {{type: integer, clip: [0, 110]}}
      ts: timestamp
budget: {{privacy_unit: {unit}, epsilon_max: "20"{more}}}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, {window}
      HAVING {having}
    max_fnr: 0.05
    {keys}
"""
GDP = ', privacy: gdp, delta: "1e-6"'
HOP = "HOP(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)"
TUMBLE = "TUMBLE(ts, INTERVAL '1' HOUR)"


def crowd(folder, text):
    """Return the alarm of a file without errors."""
    return loaded(folder, text).by_name["crowd"]


def written(
    *,
    having="COUNT(*) > 30",
    keys="tolerance: 9",
    window=TUMBLE,
    unit="user",
    promise=GDP,
):
    """Return a file of one alarm."""
    more = (", period: 1d" if unit == "user" else "") + promise
    return CONFIG.format(unit=unit, more=more, window=window, having=having, keys=keys)


@pytest.mark.parametrize("unit", ["user", "event"])
@pytest.mark.parametrize(
    ("having", "window", "tolerance"),
    [
        ("COUNT(DISTINCT person) < 3", TUMBLE, "9"),
        ("SUM(age) >= 900", HOP, "9"),
        ("COUNT(*) > 30 AND NOT COUNT(*) FILTER (WHERE age > 60) > 3", TUMBLE, "9"),
        ("2 * COUNT(*) + SUM(age) > 4000", TUMBLE, "200"),
        ("AVG(age) > 70 OR SUM(age) < 40", TUMBLE, '{"AVG(age) > 70": 200, "SUM(age) < 40": 300}'),
    ],
)
def test_comparisons_are_paid(tmp_path, unit, having, window, tolerance):
    """Of counts and sums, under both units; its price and its fingerprint are others than pure."""
    asked = {"having": having, "window": window, "unit": unit, "keys": f"tolerance: {tolerance}"}
    alarms = loaded(tmp_path, written(**asked))
    budget, query = alarms.budget, alarms.by_name["crowd"]
    assert budget.gaussian == Gaussian(Fraction(20), Fraction(1, 10**6))
    assert budget.wall_units == budget.gaussian.wall_units
    before = crowd(tmp_path, written(**asked, promise=""))
    assert operator_of(query).plan.epsilon != operator_of(before).plan.epsilon
    assert query.fingerprint == fingerprint(query, budget) != before.fingerprint


@pytest.mark.parametrize("first", ["fnr", "fpr"])
def test_formulas_are_paid_with_both_rates(tmp_path, first):
    """Whichever is promised first; what is priced is what is planned, by one noise for all."""
    for tolerance in (0, 9):
        how = f"{{tslm: {{max_fpr: 0.01, bounded_error: {first}}}}}"
        keys = f"tolerance: {tolerance}\n    mechanism: {how}"
        having = "COUNT(*) > 30 AND COUNT(*) < 90 OR COUNT(*) FILTER (WHERE age > 60) > 50"
        query = crowd(tmp_path, written(having=having, keys=keys))
        operator = operator_of(query)
        decides = operator.negation if isinstance(operator, Mirrored) else operator
        assert isinstance(operator, Mirrored) is (first == "fpr")
        assert isinstance(decides, Scored)
        assert operator.plan == price_of(query)
        assert operator.plan.ratio == pytest.approx(1, abs=1e-3)


CUMULATE = "CUMULATE(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)"
BAND = 'mechanism: {decider: {reference: 40, epsilon: "0.5"}}'
BOTH = "COUNT(*) > 30 AND COUNT(*) < 90"
TURNED = "{probe: {max_fpr: 0.01, bounded_error: fpr}}"


def by(mechanism, **more):
    """Return a file whose alarm a mechanism decides."""
    return written(keys=f"tolerance: 9\n    mechanism: {mechanism}", **more)


CONVERTED = {
    "ppwlm": by("ppwlm"),
    "dppwlm": by("dppwlm", unit="event"),
    "probe": by("probe", having=BOTH),
    "probe-ent": by("probe-ent", having=BOTH),
    "probe-ent of one": by("probe-ent"),
    "turned round": by(TURNED, having=BOTH),
    "band": written(having="ABS(COUNT(*) - REFERENCE) >= 9", keys=BAND),
    "early runs": by("svt", window=CUMULATE, unit="event"),
    "a run an event": by("svt", unit="event"),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_what_is_pure_is_paid_at_its_worst(tmp_path, name):
    """Its price is that of all it could lose, certified, whatever it gives back otherwise."""
    texts = (CONVERTED[name], CONVERTED[name].replace(GDP, ""))
    query, before = (crowd(tmp_path, text) for text in texts)
    operator, alone = operator_of(query), operator_of(before)
    beyond = query.aim.alarms if name == "a run an event" else 0
    whole = gaussian_units(alone.plan.epsilon) + beyond
    assert to_loss_units(operator.plan.epsilon) == whole
    assert price_of(query) == operator.plan
    assert 0 < operator.plan.limit <= float(operator.plan.epsilon)
    assert query.fingerprint != before.fingerprint
    if query.aim.looks == 1 or query.panes:
        statistics = np.full((query.condition.statistics, 2), 31, dtype=np.int64)
        decided = operator.decide(statistics, KeyedNoise(bytes(32)))
        again = alone.decide(statistics, KeyedNoise(bytes(32)))
        assert decided.cost.worst_units == decided.cost.largest_sum_units(1) == whole
        assert decided.cost.largest_sum_units(2) == 2 * whole
        assert decided.fired.tolist() == again.fired.tolist()
        laws = (one.chances(0, statistics[:, :1]) for one in (operator, alone))
        assert len({None if law is None else law.item() for law in laws}) == 1


def test_every_look_is_a_gaussian_decision(tmp_path):
    """Each step is decided by tslm: as many tables as looks, and their rho adds up."""
    query = crowd(tmp_path, written(window=CUMULATE, unit="event"))
    early = operator_of(query)
    once = replace(query.aim, looks=1, max_fpr=query.aim.max_fnr / 6)
    each = price("tslm", query.condition, once)
    assert early.plan.epsilon == 6 * each.epsilon
    assert price_of(query) == early.plan
    pure = replace(query.aim, gaussian=False)
    converted = gaussian_units(price("tslm", query.condition, pure).epsilon)
    assert to_loss_units(early.plan.epsilon) * 4 < converted


@pytest.mark.parametrize(
    ("window", "having", "times"),
    [(HOP, "COUNT(*) > 30", 1), (CUMULATE, "COUNT(DISTINCT person) > 30", 2)],
)
def test_noise_of_panes_is_the_same_under_both_promises(tmp_path, window, having, times):
    """It follows from epsilon; what a pane is charged is its price, of each pane that is moved."""
    text = by("panes", window=window, having=having, unit="event")
    paid, pure = (loaded(tmp_path, each) for each in (text, text.replace(GDP, "")))
    (panes,), (before,) = (one.panes.values() for one in (paid, pure))
    assert panes.aim.pane_units == before.aim.pane_units
    charged = plans_of(paid)
    assert to_loss_units(charged[panes.id].epsilon) == times * gaussian_units(
        from_loss_units(panes.aim.pane_units)
    )
    assert charged["crowd"].epsilon == 0
    operator = panes_of(panes)
    assert isinstance(operator, PaneWindows)
    assert operator.panes.units == panes.aim.pane_units


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ppwlm", "mechanism ppwlm costs rho 0.07719; tslm costs 0.01499"),
        ("probe", "mechanism probe costs rho 0.07719; tslm costs 0.01499"),
        ("a run an event", "mechanism svt costs rho"),
        ("band", ""),
        ("early runs", ""),
    ],
)
def test_a_worst_case_that_is_dearer_than_tslm_is_told(tmp_path, name, told):
    """As a warning that names both prices of rho; nothing is said where there is no choice."""
    report = examined(tmp_path, CONVERTED[name])
    said = [one.message for one in report.warnings if "; tslm costs" in one.message]
    assert [told in each for each in said] == [True] * bool(told)


def test_keys_left_to_the_plan_are_refused(tmp_path):
    """By the file's reader, in one sentence; the same file passes under a pure promise."""
    text = written(keys="tolerance: auto\n    baseline: 5\n    false_alarms: 1 per week")
    (error,) = examined(tmp_path, text).errors
    assert error.message == "`tocsin lock` cannot choose with privacy: gdp"
    assert "write a mechanism and a tolerance" in error.hint
    assert not examined(tmp_path, text.replace(GDP, "")).errors


def test_no_mechanism_is_planned_that_it_does_not_pay(tmp_path):
    """Also not by who plans without a file: a pure law is never charged as if it were another."""
    query = crowd(tmp_path, written())
    paid = {each for each, one in ALL.items() if one.gaussian or one.converted or one.bands}
    assert paid >= {"tslm", "ppwlm", "dppwlm", "probe", "probe-ent", "svt", "panes", "decider"}
    assert "nlm" not in paid
    for name in ALL.keys() - paid:
        with pytest.raises(ConfigError, match="does not support privacy: gdp"):
            create(name, query.condition, query.aim, experimental=True)
