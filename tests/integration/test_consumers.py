"""The consumers of the guide, as printed, but for the broker's address and the topics' prefix."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from stream.decisions.records import encode
from tests.support.boarded import Topics
from tests.support.published import alarm_of
from tests.support.tree import text_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

PAGE = text_of("docs/reference/records.md")
CONSUMERS = PAGE.partition("\n## Consumers")[2]
BLOCKS = re.findall(r"```(python|sh)\n(.*?)```", CONSUMERS, flags=re.DOTALL)
ALARM = "crowd hall 1970-01-01T01:00:00.000Z"
DENIAL = "crowd denied: budget 1970-01-01T02:00:00.000Z"


def test_every_consumer_prints_what_was_published(broker, tmp_path):
    """One window, twice on the topics, and one denial; that of panes is left out."""
    topics = Topics(broker, "consumers")
    topics.publish(1, [], denied=True, alarm="panes-0123abcd")
    topics.publish(0, ["hall"], copies=2)
    topics.publish(1, [], denied=True)
    topics.close()
    assert [kind for kind, _ in BLOCKS] == ["python", "python", "sh"]
    running = []
    try:
        for number, (kind, block) in enumerate(BLOCKS):
            text = block.replace("localhost:9092", broker.bootstrap)
            text = text.replace("tocsin.", "consumers.")
            python = kind == "python"
            words = [sys.executable, "-c", text] if python else ["sh", "-c", f"exec {text}"]
            with (tmp_path / str(number)).open("wb") as out:
                running.append(subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL))

        def printed(number):
            return (tmp_path / str(number)).read_text().splitlines()

        wait_until("kafka-python prints", lambda: sorted(printed(0)) == [DENIAL, ALARM])
        wait_until("aiokafka prints", lambda: printed(1) == [ALARM, ALARM])
        wait_until("kcat prints", lambda: len(printed(2)) == 6)
        assert f"crowd {encode(alarm_of(0, {'room': 'hall'})).decode()}" in printed(2)
    finally:
        for process in running:
            process.kill()
            process.wait()
