"""The ACLs of ``docs/how-to/secure.md``, set by its own commands, are enough and no more.

A broker with the settings of ``docker-compose.yml``, which refuses whatever it was not told,
everybody logged in with SASL on a listener of their own, and the real command lines of the
custodian, a worker and an analyst.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
)

from deploy.kafka.broker import Broker
from deploy.kafka.runtime import HOST, free_port
from deploy.kafka.secured import acl_tool, listeners, login_settings
from stream.logs.lines import Line
from tests.support.boarded import Boarded
from tests.support.commands import tocsin
from tests.support.hostile import event_of
from tests.support.processes import Command
from tests.support.procs import ran
from tests.support.scenario import Scenario
from tests.support.targets import Inbox
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration

DEPLOY = ROOT / "deploy"
FEED = "building.badges"
LISTENERS = {
    "admin": "WORKERS",
    "tocsin": "WORKERS",
    "custodian": "CUSTODIAN",
    "sensor-lobby": "SENSORS",
    "mqtt": "HOST_SENSORS",
    "analyst-anna": "ANALYSTS",
    "notify": "HOST_ANALYSTS",
}


class GuardedBroker(Broker):
    """A broker that takes from the composed one who may log in where, and who may do what.

    Args:
        secrets: the folder of passwords.
    """

    def __init__(self, secrets: Path) -> None:
        super().__init__()
        self.secrets = secrets
        self.guarded: dict[str, int] = {}

    def _settings(self) -> dict[str, str]:
        """Return the settings of a broker, and those listeners beside the one of tests."""
        settings = super()._settings()
        for name, protocol in listeners(self.secrets).items():
            port = self.guarded.setdefault(name, free_port())
            for key in ("listeners", "advertised.listeners"):
                settings[key] += f",{name}://{HOST}:{port}"
            settings["listener.security.protocol.map"] += f",{name}:{protocol}"
        return {**settings, **login_settings(self.secrets)}

    def password(self, name: str) -> Path:
        """Return the file of somebody's password."""
        return self.secrets / f"kafka_{name}"

    def address(self, name: str) -> str:
        """Return where somebody connects."""
        return f"{HOST}:{self.guarded[LISTENERS[name]]}"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBroker]:
    """A broker with the ACLs of the page, set by the composed administrator's command."""
    folder = tmp_path_factory.mktemp("acls")
    secrets = folder / "secrets"
    ran("sh", DEPLOY / "secrets.sh", secrets)
    for name in ("sensor-lobby", "analyst-anna"):
        (secrets / f"kafka_{name}").write_text("letMeIn\n")
    with GuardedBroker(secrets) as broker:
        tool = acl_tool(folder / "kafka-acls.sh", broker.version)
        kafka = DEPLOY / "kafka"
        ran(
            "sh",
            kafka / "admin.sh",
            "sh",
            kafka / "acls.sh",
            env={
                **os.environ,
                "ADMIN": str(folder / "admin.properties"),
                "SECRETS": str(secrets),
                "KAFKA_ACLS": str(tool),
                "BOOTSTRAP": broker.address("admin"),
            },
        )
        yield broker


def _login(broker: GuardedBroker, name: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.address(name),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": name,
        "sasl_plain_password": broker.password(name).read_text().strip(),
    }


def _configured(broker: GuardedBroker, folder: Path, name: str) -> Path:
    """Write the configuration as one of them has it; all share the ledger."""
    scenario = Scenario(
        broker,
        folder / name,
        "tocsin",
        f"sqlite:///{folder}/l.db",
        topic=FEED,
        budget='  privacy_unit: event\n  epsilon_max: "10"\n',
        window="HOP(ts, INTERVAL '1' SECOND, INTERVAL '2' SECOND)",
        having="COUNT(*) > 5",
        tolerance="2\n    mechanism: {panes: {release: counts}}",
    )
    security = (
        "    security_protocol: SASL_PLAINTEXT\n    sasl_mechanism: PLAIN\n"
        f"    sasl_username: {name}\n    sasl_password: ${{file:{broker.password(name)}}}\n"
    )
    text = scenario.config.read_text().replace(broker.bootstrap, broker.address(name))
    text = text.replace("kafka:\n", f"kafka:\n  security:\n{security}")
    scenario.config.write_text(text)
    return scenario.config


def test_everybody_can_do_their_work_and_no_more(guarded: GuardedBroker, tmp_path: Path) -> None:
    """Topics are made, events are sent, a worker decides, an analyst watches, a feed grows."""
    custodian = str(_configured(guarded, tmp_path, "custodian"))
    tocsin("topics", "create", custodian, "--partitions", "2", code=0)
    config = _configured(guarded, tmp_path, "tocsin")
    worker = Command.start(tmp_path / "worker", "run", config, "--log-format", "json")
    analyst = _configured(guarded, tmp_path, "analyst-anna")
    watching = None
    try:
        wait_until("the worker is ready", lambda: worker.says(Line.READY) or not worker.alive)
        assert worker.alive, worker.text()
        sensor = KafkaProducer(**_login(guarded, "sensor-lobby"), acks="all")
        for person in range(20):
            key, value = event_of(f"p{person}", "lab")
            sensor.send(FEED, key=key.encode(), value=value).get()
        sensor.close()
        _send(guarded, "mqtt", FEED)
        wait_until("a decision leaves", lambda: _count(guarded, "tocsin.decisions") > 1)
        wait_until("a count leaves", lambda: _count(guarded, "tocsin.counts") > 1)
        assert _end(guarded, "analyst-anna", "tocsin.counts") > 1
        words = ("--from-beginning", "--json", "--group", "analyst-watch")
        watching = Command.start(tmp_path / "watch", "watch", analyst, *words)
        assert b'"alarm"' in watching.process.stdout.readline()
        _assert_delivered(guarded, tmp_path)
        _assert_shown(guarded, tmp_path)
        worker.process.terminate()
        assert worker.ended() == 0, worker.text()
    finally:
        worker.stop()
        if watching is not None:
            watching.stop()

    for words in (
        ("export", custodian, "badges", str(tmp_path / "log.parquet")),
        ("ledger", custodian, "reconcile"),
        ("ledger", custodian, "verify", "--topics"),
        ("ledger", custodian, "take-ownership", "--yes"),
        ("topics", "add-partitions", custodian, "badges", "--partitions", "3", "--yes"),
    ):
        tocsin(*words, code=0)
    _assert_alarms_are_handed_on(guarded)
    _assert_no_more(guarded)


def _assert_delivered(broker: GuardedBroker, folder: Path) -> None:
    """An analyst delivers alarms from a file of their own, which names no feed and no ledger."""
    with Inbox() as inbox:
        config = folder / "notify.yaml"
        config.write_text(
            f"kafka: {_analysts(broker)}\n"
            f"notify: {{webhooks: {{own: {{url: {inbox.url}, secret: {'s' * 32}}}}}}}\n",
        )
        process = Command.start(folder / "notify", "notify", config, "--from-beginning")
        try:
            wait_until("an alarm is delivered", lambda: inbox.letters or not process.alive)
            assert process.alive, process.text()
        finally:
            process.stop()


def _assert_shown(broker: GuardedBroker, folder: Path) -> None:
    """An analyst's board reads both topics, and asks for no group."""
    board = Boarded(folder, _analysts(broker))
    try:
        board.start()
        assert "Last decision: " in board.text()
    finally:
        board.stop()


def _analysts(broker: GuardedBroker) -> str:
    """Return how an analyst reaches the topics, as YAML on one line."""
    login = _login(broker, "analyst-anna")
    password = broker.password("analyst-anna")
    return (
        f'{{bootstrap: "{login["bootstrap_servers"]}", security: {{'
        f"security_protocol: {login['security_protocol']}, sasl_mechanism: PLAIN, "
        f'sasl_username: analyst-anna, sasl_password: "${{file:{password}}}"}}}}'
    )


def _assert_alarms_are_handed_on(broker: GuardedBroker) -> None:
    """Notify reads both topics in its own group and keeps its place; nobody takes the other's."""
    with closing(_subscribed(broker, "notify", "notify")) as consumer:
        wait_until("a decision is read", lambda: consumer.poll(timeout_ms=500))
        consumer.commit()
    for name, group in (
        ("notify", "analyst-anna"),
        ("notify", "tocsin-decide"),
        ("analyst-anna", "notify"),
    ):
        consumer = _subscribed(broker, name, group)
        try:
            with pytest.raises(GroupAuthorizationFailedError):
                consumer.poll(timeout_ms=20_000)
        finally:
            consumer.close(autocommit=False)


def _subscribed(broker: GuardedBroker, name: str, group: str) -> KafkaConsumer:
    return KafkaConsumer(
        "tocsin.alarms",
        "tocsin.decisions",
        **_login(broker, name),
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )


def _count(broker: GuardedBroker, topic: str) -> int:
    """Return how many records a topic holds, by who may see everything."""
    with closing(KafkaConsumer(bootstrap_servers=broker.bootstrap)) as consumer:
        place = TopicPartition(topic, 0)
        return int(consumer.end_offsets([place])[place])


def _assert_no_more(broker: GuardedBroker) -> None:
    """Nobody writes decisions but workers, and nobody else learns how many events there are."""
    for name, topic in (
        ("analyst-anna", "tocsin.decisions"),
        ("analyst-anna", FEED),
        ("analyst-anna", "tocsin.counts"),
        ("custodian", "tocsin.decisions"),
        ("custodian", FEED),
        ("sensor-lobby", "tocsin.alarms"),
        ("mqtt", "tocsin.decisions"),
        ("notify", "tocsin.alarms"),
        ("notify", FEED),
        ("tocsin", FEED),
    ):
        with pytest.raises(KafkaError):
            _send(broker, name, topic)
    for name in ("analyst-anna", "notify"):
        for topic in (FEED, "tocsin.ownership", "tocsin.wakeup"):
            with pytest.raises(KafkaError):
                _end(broker, name, topic)
    with pytest.raises(KafkaError):
        _end(broker, "notify", "tocsin.counts")
    for name in ("sensor-lobby", "mqtt"):
        # Kafka lets whoever may write to a topic ask for its offsets: the page on privacy says so.
        assert _end(broker, name, FEED) == _count(broker, FEED)
        for topic in ("tocsin.alarms", "tocsin.decisions", "tocsin.counts", "tocsin.ownership"):
            with pytest.raises(KafkaError):
                _end(broker, name, topic)
        transactional = KafkaProducer(**_login(broker, name), transactional_id="sensor", acks="all")
        with pytest.raises(KafkaError):
            transactional.init_transactions()
        transactional.close(timeout=1)
        consumer = KafkaConsumer(**_login(broker, name), request_timeout_ms=8_000)
        consumer.assign([TopicPartition(FEED, 0)])
        consumer.seek(TopicPartition(FEED, 0), 0)
        with pytest.raises(TopicAuthorizationFailedError):
            consumer.poll(timeout_ms=20_000)
        consumer.close()
    for name in LISTENERS:
        strangers: tuple[dict[str, Any], ...] = (
            {"security_protocol": "PLAINTEXT"},
            {**_login(broker, name), "sasl_plain_password": "letMeOut"},
        )
        for stranger in strangers:
            with pytest.raises(KafkaError):
                KafkaAdminClient(
                    **{**stranger, "bootstrap_servers": broker.address(name)},
                    bootstrap_timeout_ms=1_500,
                )


def _send(broker: GuardedBroker, name: str, topic: str) -> None:
    producer = KafkaProducer(**_login(broker, name), acks="all", max_block_ms=5_000)
    try:
        producer.send(topic, value=b"{}").get(timeout=20)
    finally:
        producer.close(timeout=1)


def _end(broker: GuardedBroker, name: str, topic: str) -> int:
    """Return how many records a topic holds, by somebody who may ask."""
    with closing(KafkaConsumer(**_login(broker, name), request_timeout_ms=8_000)) as consumer:
        return sum(consumer.end_offsets([TopicPartition(topic, 0)]).values())
