"""``tocsin board`` with a real broker: it is killed, and so is the broker; the page goes on."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from stream.logs.lines import Line
from tests.support.boarded import Boarded, Topics
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration

AWAY = "Kafka does not answer"


def test_the_page_goes_on_though_board_and_broker_are_killed(
    own_broker: Broker, tmp_path: Path
) -> None:
    """What fired, did not fire and was denied is shown, and what comes."""
    topics = Topics(own_broker, "tocsin")
    board = Boarded(tmp_path, topics.kafka)
    try:
        topics.publish(0, ["lab"])
        topics.publish(1, [], denied=True)
        topics.publish(2, ["lab", "<b>hall</b>"])
        process = board.start()
        said = board.text()
        for words in (
            "Firing now 2",
            "crowd room <b>hall</b> since 1970-01-01 02:00 UTC",
            "2 windows with an alarm; 0 without an alarm; 1 denied, without any answer.",
        ):
            assert words in said
        board.until("Firing now 2")
        topics.publish(3, ["lab"])
        board.until("Firing now 1")

        process.tell(signal.SIGKILL)
        assert process.ended() == -signal.SIGKILL
        topics.publish(4, ["lab", "attic"])
        process = board.start()
        before = board.text()
        assert "crowd room lab since 1970-01-01 00:00 UTC" in before
        assert "Firing now 2" in before

        own_broker.kill()
        board.until(AWAY)
        assert board.get("/readyz") == "not ready: kafka\n"
        assert "Firing now 2" in board.text()
        own_broker.restart()
        topics.publish(5, ["attic"])
        board.until("Firing now 1")
        wait_until("it is ready again", board.ready)
        assert AWAY not in board.text()
        assert "5 windows with an alarm; 0 without an alarm; 1 denied" in board.text()

        process.tell(signal.SIGTERM)
        assert process.ended() == 0, process.text()
        assert process.says(Line.SHOWING)
        assert process.says(Line.UNREACHABLE, dependency="kafka")
        assert process.says(Line.BACK, dependency="kafka")
    finally:
        board.stop()
        topics.close()
