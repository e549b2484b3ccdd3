"""The drill in short, and that its verdict sees what is lost (in full: ``make at-least-once``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.at_least_once.drill import SHORT, Outcome, run_drill
from tests.at_least_once.load import Window, owed, rings
from tests.at_least_once.report import page
from tests.at_least_once.verdict import Way, wrong

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.kafka import Broker


@pytest.mark.integration
def test_everything_arrives_though_everybody_goes_away(own_broker: Broker, tmp_path: Path) -> None:
    """Notify, mqtt, Mosquitto and Alertmanager die in turn, and Kafka hangs: nothing is lost."""
    outcome = run_drill(SHORT, own_broker, tmp_path)
    print(page(SHORT, outcome, ""))
    assert outcome.wrong == []
    assert all(way.firsts() for way in outcome.ways)


def test_the_load_has_alarms_that_begin_last_and_end() -> None:
    """A room begins in every window; what it rings for differs."""
    begun = [set(rings(number)) for number in range(12)]
    assert all(f"room-{number}" in begun[number] for number in range(12))
    assert [sum(f"room-{room}" in each for each in begun) for room in range(8)] == [1, 2, 3, 4] * 2


def test_what_is_owed_is_said_once() -> None:
    """Firing and resolved in turn; a denied window says that, and moves nothing."""
    windows = [
        Window(("a",), denied=False, left_s=0.0),
        Window((), denied=True, left_s=1.0),
        Window(("a", "b"), denied=False, left_s=2.0),
        Window((), denied=False, left_s=3.0),
    ]
    assert owed(windows) == {
        "firing a": 0.0,
        "denied 1970-01-01T01:00:00.000Z": 1.0,
        "firing b": 2.0,
        "resolved a": 3.0,
        "resolved b": 3.0,
    }


def test_a_verdict_sees_what_is_lost_and_what_nobody_sent() -> None:
    """Whole ways are not accused; one arrival less or more is."""
    sent = {"a": 1.0, "b": 2.0}
    whole = Way("way", sent, [("b", 2.5), ("a", 3.0), ("a", 1.25)])
    assert list(wrong(whole)) == []
    assert (whole.copies, whole.delays_s()) == (1, [0.25, 0.5])
    assert list(wrong(Way("way", sent, [("a", 1.0)]))) == ["way: 1 never arrived: b"]
    more = Way("way", sent, [("a", 1.0), ("b", 2.0), ("c", 2.0)])
    assert list(wrong(more)) == ["way: 1 arrived unsent: c"]
    assert list(wrong(Way("way", {}))) == ["way: nothing was sent"]


def test_the_page_says_what_is_wrong() -> None:
    """A drill that lost something is not told of as one that did not."""
    way = Way("way", {"a": 1.0}, [("a", 1.25)])
    good = page(SHORT, Outcome([way], way), "somewhere")
    assert "| way | 1 | 1 | 0 | 0 | 250 ms | 250 ms | 250 ms |" in good
    assert "wrong" not in good
    assert "**1 things are wrong:**" in page(SHORT, Outcome([way], way, wrong=["x"]), "somewhere")
