"""The consumers of the guide, as printed, but for the broker's address and the topics' prefix."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from kafka import KafkaProducer

from stream.decisions.records import encode
from tests.support.published import alarm_of, decision_of
from tests.support.tree import text_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

PAGE = text_of("docs/reference/records.md")
CONSUMERS = PAGE.partition("\n## Consumers")[2]
BLOCKS = re.findall(r"```(python|sh)\n(.*?)```", CONSUMERS, flags=re.DOTALL)
ALARM = "crowd hall 1970-01-01T01:00:00.000Z"
DENIAL = "crowd denied: budget 1970-01-01T02:00:00.000Z"


def test_every_consumer_prints_what_was_published(broker, tmp_path):
    """One alarm, twice on the topic, and one denial; that of panes is left out."""
    for topic in ("consumers.alarms", "consumers.decisions"):
        broker.create_topic(topic, 1)
    alarm = alarm_of(0, {"room": "hall"})
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, acks="all")
    denial = decision_of(1, denied=True)
    pane = decision_of(1, denied=True, alarm="panes-0123abcd")
    said = ((pane, []), (decision_of(0, alarms=[alarm]), [alarm] * 2), (denial, []))
    for decision, alarms in said:
        producer.send("consumers.decisions", key=b"crowd", value=encode(decision)).get()
        for one in alarms:
            producer.send("consumers.alarms", key=b"crowd", value=encode(one)).get()
    producer.close()
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
        wait_until("kcat prints", lambda: len(printed(2)) == 5)
        assert f"crowd {encode(alarm).decode()}" in printed(2)
    finally:
        for process in running:
            process.kill()
            process.wait()
