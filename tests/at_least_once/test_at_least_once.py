"""The drill, and that its verdict sees what is lost.

``make at-least-once`` runs it in full (``--full``, nine minutes) and writes its report.
"""

from __future__ import annotations

import pytest

from benchmarks.report import machine
from tests.at_least_once.drill import FULL, SHORT, run_drill
from tests.at_least_once.report import REPORT, page, servers
from tests.at_least_once.verdict import Way, wrong


@pytest.mark.integration
def test_everything_arrives_though_everybody_goes_away(own_broker, tmp_path, request):
    """Notify, mqtt, Mosquitto and Alertmanager die in turn, and Kafka hangs: nothing is lost."""
    full = request.config.getoption("--full")
    pace, about = FULL if full else SHORT, f"{machine()} {servers()}"
    outcome = run_drill(pace, own_broker, tmp_path)
    text = page(pace, outcome, about)
    print(text)
    if full:
        REPORT.write_text(text)
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
