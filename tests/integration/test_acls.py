"""The ACLs of ``docs/custodian/privacy.md``, set by its own commands, are enough and no more.

A broker that refuses whatever it was not told, everybody logged in with SASL, and the real command
lines of the custodian, a worker and an analyst.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from deploy.kafka.broker import Broker
from deploy.kafka.runtime import HOST, class_archive, fetch_jars, free_port, java
from stream.config.loading import load
from stream.kafka.topics import cautions
from stream.logs.lines import Line
from tests.support.commands import tocsin
from tests.support.processes import Command
from tests.support.scenario import Scenario
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration

PAGE = (ROOT / "docs" / "custodian" / "privacy.md").read_text(encoding="utf-8")
(SCRIPT,) = re.findall(r"```sh\n(acls\(\) .*?)```", PAGE, flags=re.DOTALL)
FEED = "building.badges"
PEOPLE = ("admin", "tocsin", "sensor-lobby", "analyst-anna", "custodian")
PASSWORD = "let-me-in"  # noqa: S105  # of a broker that lives for one test
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
TOOL_VERSION = "3.9.1"
"""Of kafka-acls, which speaks to later brokers too: later ones are not on Maven Central."""
TOOL = """\
#!/bin/sh
exec "{java}" -XX:TieredStopAtLevel=1 -Xshare:auto {classes} \\
  -cp '{libs}/*' kafka.admin.AclCommand "$@"
"""


class GuardedBroker(Broker):
    """A broker with a second listener, on which everybody logs in and may do what ACLs allow."""

    guarded_port = 0

    def _settings(self) -> dict[str, str]:
        """Return the settings of a broker, with that listener and an authorizer."""
        self.guarded_port = self.guarded_port or free_port()
        known = " ".join(f'user_{name}="{PASSWORD}"' for name in PEOPLE)
        settings = super()._settings()
        guarded = f"GUARDED://{HOST}:{self.guarded_port}"
        for key in ("listeners", "advertised.listeners"):
            settings[key] += f",{guarded}"
        settings["listener.security.protocol.map"] += ",GUARDED:SASL_PLAINTEXT"
        return {
            **settings,
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.guarded.plain.sasl.jaas.config": f"{LOGIN} {known};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "false",
            # The other listener is the broker's own, and the test's to look from.
            "super.users": "User:admin;User:ANONYMOUS",
        }


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBroker]:
    """A broker with the feed's topic and the ACLs of the page."""
    folder = tmp_path_factory.mktemp("acls")
    with GuardedBroker() as broker:
        (folder / "admin.properties").write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={LOGIN} username="admin" password="{PASSWORD}";\n',
            encoding="utf-8",
        )
        tool = folder / "kafka-acls.sh"
        libs = fetch_jars(TOOL_VERSION)
        archive = class_archive(libs)
        classes = "" if archive is None else f"-XX:SharedArchiveFile={archive}"
        text = TOOL.format(java=java(), libs=libs, classes=classes)
        tool.write_text(text, encoding="utf-8")
        tool.chmod(0o755)
        done = subprocess.run(
            ["bash", "-e", "-c", SCRIPT],
            cwd=folder,
            env={
                **os.environ,
                "PATH": f"{folder}:{os.environ['PATH']}",
                "BOOTSTRAP": f"{HOST}:{broker.guarded_port}",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        yield broker


def _login(broker: GuardedBroker, name: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": f"{HOST}:{broker.guarded_port}",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": name,
        "sasl_plain_password": PASSWORD,
    }


def _configured(broker: GuardedBroker, folder: Path, name: str) -> Path:
    """Write the configuration as one of them has it; all share the ledger."""
    scenario = Scenario(broker, folder / name, "tocsin", f"sqlite:///{folder}/l.db", topic=FEED)
    login = _login(broker, name)
    names = {"sasl_plain_username": "sasl_username", "sasl_plain_password": "sasl_password"}
    security = "".join(
        f"    {names.get(key, key)}: {value}\n"
        for key, value in login.items()
        if key != "bootstrap_servers"
    )
    text = scenario.config.read_text(encoding="utf-8").replace(
        broker.bootstrap, f"{HOST}:{broker.guarded_port}"
    )
    text = text.replace("kafka:\n", f"kafka:\n  security:\n{security}")
    scenario.config.write_text(text, encoding="utf-8")
    return scenario.config


def test_everybody_can_do_their_work_and_no_more(guarded: GuardedBroker, tmp_path: Path) -> None:
    """Topics are made, events are sent, a worker decides, an analyst watches, a feed grows."""
    custodian = str(_configured(guarded, tmp_path, "custodian"))
    made = tocsin("topics", custodian, "--apply", "--partitions", "2")
    assert made.exit_code == 0, made.output
    config = _configured(guarded, tmp_path, "tocsin")
    worker = Command.start(tmp_path / "worker", "run", config, "--log-format", "json")
    analyst = _configured(guarded, tmp_path, "analyst-anna")
    watching = None
    try:
        wait_until("the worker is ready", lambda: worker.says(Line.READY) or not worker.alive)
        assert worker.alive, worker.text()
        sensor = KafkaProducer(**_login(guarded, "sensor-lobby"), acks="all")
        for person in range(20):
            now_ms = time.time_ns() // 1_000_000
            event = {"person": f"p{person}", "event": f"e{person}", "room": "lab", "ts": now_ms}
            sensor.send(FEED, key=f"p{person}".encode(), value=json.dumps(event).encode()).get()
        sensor.close()
        wait_until("a decision leaves", lambda: _count(guarded, "tocsin.decisions") > 1)
        watching = Command.start(tmp_path / "watch", "watch", analyst, "--from-beginning", "--json")
        assert watching.process.stdout is not None
        assert b'"query"' in watching.process.stdout.readline()
        worker.process.terminate()
        assert worker.ended() == 0, worker.text()
    finally:
        worker.stop()
        if watching is not None:
            watching.stop()

    for words in (
        ("dump", custodian, "badges", str(tmp_path / "log.parquet")),
        ("ledger", custodian, "mark-spent"),
        ("ledger", custodian, "verify", "--topics"),
        ("ledger", custodian, "claim", "--yes"),
        ("grow", custodian, "badges", "--partitions", "3", "--yes"),
    ):
        done = tocsin(*words)
        assert done.exit_code == 0, (words, done.output)
    _assert_no_more(guarded)
    (caution,) = cautions(load(config, environ={}))  # workers may not ask the brokers
    assert "is not known" in caution


def _count(broker: GuardedBroker, topic: str) -> int:
    """Return how many records a topic holds, by who may see everything."""
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap)
    try:
        place = TopicPartition(topic, 0)
        return int(consumer.end_offsets([place])[place])
    finally:
        consumer.close()


def _assert_no_more(broker: GuardedBroker) -> None:
    """Nobody writes decisions but workers, and nobody else learns how many events there are."""
    for name, topic in (
        ("analyst-anna", "tocsin.decisions"),
        ("analyst-anna", FEED),
        ("custodian", "tocsin.decisions"),
        ("custodian", FEED),
        ("sensor-lobby", "tocsin.alarms"),
    ):
        with pytest.raises(KafkaError):
            _send(broker, name, topic)
    for topic in (FEED, "tocsin.ledgers", "tocsin.doorbell"):
        with pytest.raises(KafkaError):
            _end(broker, "analyst-anna", topic)
    transactional = KafkaProducer(
        **_login(broker, "sensor-lobby"), transactional_id="sensor", acks="all"
    )
    with pytest.raises(KafkaError):
        transactional.init_transactions()
    transactional.close(timeout=1)


def _send(broker: GuardedBroker, name: str, topic: str) -> None:
    producer = KafkaProducer(**_login(broker, name), acks="all", max_block_ms=5_000)
    try:
        producer.send(topic, value=b"{}").get(timeout=20)
    finally:
        producer.close(timeout=1)


def _end(broker: GuardedBroker, name: str, topic: str) -> None:
    consumer = KafkaConsumer(**_login(broker, name), request_timeout_ms=8_000)
    try:
        consumer.end_offsets([TopicPartition(topic, 0)])
    finally:
        consumer.close()
