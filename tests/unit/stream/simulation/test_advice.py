"""What is recommended, and what never is."""

from __future__ import annotations

from stream.simulation.advice import advice_on
from tests.support.simulated import alarm, near_the_threshold, simulated


def test_advice_is_the_cheapest_that_fits_and_asks_for_no_less() -> None:
    """What is recommended keeps tolerance and max_fnr; the cheaper, wider one is said apart."""
    simulation = simulated(alarm(10), near_the_threshold(5, 10))
    (results,) = simulation.results
    advice = advice_on(results)
    assert advice.best is not None
    assert advice.wider is not None
    assert advice.best.setting.configured
    assert advice.wider.setting.aim.tolerances == (36,)
    assert advice.wider.setting.mechanism == "tslm"
    assert "Your own setting" in advice.text
    assert "asking for less" in advice.text
    cheapest = [one for one in results.measured if one.setting.mechanism != "nlm"]
    assert min(one.losses.mean for one in cheapest) == advice.wider.losses.mean


def test_advice_where_little_or_nothing_fits() -> None:
    """Settings that the budget does not carry are never recommended."""
    statistics = near_the_threshold(5, 10)
    (results,) = simulated(alarm(10), statistics, fits=0.13).results
    advice = advice_on(results)
    assert advice.best is None
    assert advice.wider is not None
    assert "No setting that asks for as much" in advice.text
    (results,) = simulated(alarm(10), statistics, fits=0.0).results
    assert "None of these settings fits" in advice_on(results).text


def test_baselines_are_never_recommended() -> None:
    """NLM costs as little as TSLM, and breaks the promise: it is shown and not advised."""
    (results,) = simulated(alarm(10), near_the_threshold(5, 10), mechanisms=["nlm"]).results
    assert len(results.measured) == 4
    assert advice_on(results).wider is None
