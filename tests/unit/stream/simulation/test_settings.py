"""Which mechanisms and tolerances are tried."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from operators.conditions.condition import Aim
from stream.model.queries import FirstTolerances
from stream.simulation.settings import settings_of
from tests.support.simulated import alarm


def test_own_setting_is_among_what_is_tried() -> None:
    """By default every mechanism is tried at four tolerances, the own setting marked once."""
    for mechanism in ("tslm", "probe"):
        query = alarm(3, tolerance=4, mechanism=mechanism)
        if mechanism == "probe":
            aim = replace(query.aim, first_tolerances=(12,))
            query = replace(query, aim=aim, first=FirstTolerances((12,)))
        settings, untried = settings_of(query)
        assert not untried
        assert [each.mechanism for each in settings if each.configured] == [mechanism]
        assert {each.aim.tolerances for each in settings} == {(2,), (4,), (8,), (16,)}
        assert len({(each.mechanism, each.aim) for each in settings}) == len(settings) == 20
        for each in settings:
            if each.mechanism.startswith("probe"):
                assert each.aim.first_tolerances[0] >= each.aim.tolerances[0]
            else:
                assert each.aim.first_tolerances == ()
        configured = next(each for each in settings if each.configured)
        assert configured.aim == query.aim


def test_tolerances_beyond_the_threshold_are_left_out() -> None:
    """A factor that would let an empty cell ring is not tried, and it is said why."""
    settings, untried = settings_of(alarm(3, tolerance=20), mechanisms=["tslm"])
    assert [each.aim.tolerances for each in settings] == [(10,), (20,), (40,)]
    assert [each.setting.aim.tolerances for each in untried] == [(80,)]
    assert "larger than the threshold" in untried[0].reason


def test_equal_settings_are_tried_once() -> None:
    """Tolerances that round to the same number, and no tolerance at all, are not repeated."""
    settings, _ = settings_of(
        alarm(3, tolerance=0), mechanisms=["tslm", "tslm"], rates=[Fraction(1, 10)] * 2
    )
    assert [each.aim for each in settings] == [Aim(Fraction(1, 10), (0,))]
