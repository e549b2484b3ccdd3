"""The drill in short, and that its verdict sees what is lost (in full: ``make at-least-once``)."""

from __future__ import annotations

import pytest

from tests.at_least_once.drill import SHORT, run_drill
from tests.at_least_once.report import page
from tests.at_least_once.verdict import Way, wrong


@pytest.mark.integration
def test_everything_arrives_though_everybody_goes_away(own_broker, tmp_path):
    """Notify, mqtt, Mosquitto and Alertmanager die in turn, and Kafka hangs: nothing is lost."""
    outcome = run_drill(SHORT, own_broker, tmp_path)
    print(page(SHORT, outcome, ""))
    assert outcome.wrong == []
    assert all(way.firsts() for way in outcome.ways)


def test_a_verdict_sees_what_is_lost_and_what_nobody_sent():
    """Whole ways are not accused; one arrival less or more is."""
    sent = {"a": 1.0, "b": 2.0}
    whole = Way("way", sent, [("b", 2.5), ("a", 3.0), ("a", 1.25)])
    assert list(wrong(whole)) == []
    assert (whole.copies, whole.delays_s()) == (1, [0.25, 0.5])
    assert list(wrong(Way("way", sent, [("a", 1.0)]))) == ["way: 1 never arrived: b"]
    more = Way("way", sent, [("a", 1.0), ("b", 2.0), ("c", 2.0)])
    assert list(wrong(more)) == ["way: 1 arrived unsent: c"]
    assert list(wrong(Way("way", {}))) == ["way: nothing was sent"]
