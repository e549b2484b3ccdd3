"""The ACLs of ``docs/how-to/secure.md``, set by its own commands, are enough and no more.

A broker with the settings of ``docker-compose.yml``, which refuses whatever it was not told,
everybody logged in with SASL on a listener of their own, and the real command lines of the
custodian, a worker and an analyst.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING

import pytest
import yaml
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
    from collections.abc import Callable

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

    def __init__(self, secrets):
        super().__init__()
        self.secrets = secrets
        self.guarded = {}

    def _settings(self):
        """Return the settings of a broker, and those listeners beside the one of tests."""
        settings = super()._settings()
        for name, protocol in listeners(self.secrets).items():
            port = self.guarded.setdefault(name, free_port())
            for key in ("listeners", "advertised.listeners"):
                settings[key] += f",{name}://{HOST}:{port}"
            settings["listener.security.protocol.map"] += f",{name}:{protocol}"
        return {**settings, **login_settings(self.secrets)}

    def password(self, name):
        """Return the file of somebody's password."""
        return self.secrets / f"kafka_{name}"

    def address(self, name):
        """Return where somebody connects."""
        return f"{HOST}:{self.guarded[LISTENERS[name]]}"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
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


def _login(broker, name):
    return {
        "bootstrap_servers": broker.address(name),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": name,
        "sasl_plain_password": broker.password(name).read_text().strip(),
    }


def _kafka(broker, name):
    """Return how somebody reaches the topics, as YAML on one line."""
    return (
        f'bootstrap: "{broker.address(name)}", security: {{security_protocol: SASL_PLAINTEXT, '
        f"sasl_mechanism: PLAIN, sasl_username: {name}, "
        f'sasl_password: "${{file:{broker.password(name)}}}"}}'
    )


def _configured(broker, folder, name):
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
    keys = yaml.safe_load(scenario.config.read_text())
    keys["kafka"] |= yaml.safe_load(f"{{{_kafka(broker, name)}}}")
    scenario.config.write_text(yaml.safe_dump(keys))
    return scenario.config


def test_everybody_can_do_their_work_and_no_more(guarded, tmp_path):
    """Topics are made, events are sent, a worker decides, analysts read, a feed grows."""
    custodian = _configured(guarded, tmp_path, "custodian")
    assert "tocsin topics create FILE" in tocsin("topics", "check", custodian, code=2).stderr
    tocsin("topics", "create", custodian, "--partitions", "2", code=0)
    config = _configured(guarded, tmp_path, "tocsin")
    with ExitStack() as stack:

        def start(name, *arguments):
            command = Command.start(tmp_path / f"{name}.err", *arguments)
            stack.callback(command.stop)
            return command

        worker = start("worker", "run", config, "--json", "--log-format", "json")
        fcntl.fcntl(worker.process.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)  # is read at the end
        wait_until("the worker is ready", lambda: worker.says(Line.READY) or not worker.alive)
        assert worker.alive, worker.text()
        _send(guarded, "sensor-lobby", FEED, *(event_of(f"p{at}", "lab") for at in range(20)))
        _send(guarded, "mqtt", FEED)
        wait_until("a decision leaves", lambda: _count(guarded, "tocsin.decisions") > 1)
        wait_until("a count leaves", lambda: _end(guarded, "analyst-anna", "tocsin.counts") > 1)
        analyst = _configured(guarded, tmp_path, "analyst-anna")
        words = ("--from-beginning", "--json", "--group", "analyst-watch")
        watching = start("watch", "watch", analyst, *words)
        assert b'"alarm"' in watching.process.stdout.readline()

        # An analyst delivers alarms from a file of their own, which names no feed and no ledger.
        inbox, notify = stack.enter_context(Inbox()), tmp_path / "notify.yaml"
        notify.write_text(
            f"kafka: {{{_kafka(guarded, 'analyst-anna')}}}\n"
            f"notify: {{webhooks: {{own: {{url: {inbox.url}, secret: {'s' * 32}}}}}}}\n",
        )
        start("notify", "notify", notify, "--from-beginning")
        wait_until("an alarm is delivered", lambda: inbox.letters)
        # Their board reads both topics, and asks for no group.
        board = Boarded(tmp_path, f"{{{_kafka(guarded, 'analyst-anna')}}}")
        stack.callback(board.stop)
        board.start()
        assert "Last decision: " in board.text()
        worker.process.terminate()
        assert worker.ended() == 0, worker.text()
        printed = [json.loads(line) for line in worker.process.stdout]
    decisions = [one for one in printed if one["alarm"] == "crowd" and "outcome" in one]
    assert [one["sequence"] for one in decisions] == list(range(1, len(decisions) + 1))
    assert any(one["alarms"] for one in decisions)

    export = tmp_path / "log.parquet"
    for words in (
        ("export", custodian, "badges", export),
        ("ledger", custodian, "reconcile"),
        ("ledger", custodian, "verify", "--topics"),
        ("ledger", custodian, "take-ownership", "--yes"),
        ("topics", "add-partitions", custodian, "badges", "--partitions", "3", "--yes"),
    ):
        tocsin(*words, code=0)
    assert export.stat().st_mode & 0o777 == 0o600
    since, until = decisions[0]["window_start"], decisions[-1]["window_end"]
    times = ("--since", since, "--until", until)
    counted = tocsin("inspect", custodian, "--replay", export, *times, "--json", code=0)
    assert '"statistics"' in counted.stdout
    _assert_groups_are_apart(guarded)
    _assert_no_more(guarded)
    _assert_strangers_stay_out(guarded)


def _assert_groups_are_apart(broker):
    """Notify reads both topics in its own group and keeps its place; nobody takes the other's."""
    topics = ("tocsin.alarms", "tocsin.decisions")
    keys = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    for name, group, allowed in (
        ("notify", "notify", True),
        ("notify", "analyst-anna", False),
        ("notify", "tocsin-decide", False),
        ("analyst-anna", "notify", False),
    ):
        consumer = KafkaConsumer(*topics, **_login(broker, name), group_id=group, **keys)
        try:
            if allowed:
                wait_until("a decision is read", partial(consumer.poll, timeout_ms=500))
                consumer.commit()
            else:
                with pytest.raises(GroupAuthorizationFailedError):
                    consumer.poll(timeout_ms=20_000)
        finally:
            consumer.close(autocommit=False)


MAY_NOT_WRITE = {
    "analyst-anna": ("tocsin.decisions", FEED, "tocsin.counts"),
    "custodian": ("tocsin.decisions", FEED),
    "sensor-lobby": ("tocsin.alarms",),
    "mqtt": ("tocsin.decisions",),
    "notify": ("tocsin.alarms", FEED),
    "tocsin": (FEED,),
}
PUBLIC = ("tocsin.alarms", "tocsin.decisions", "tocsin.counts", "tocsin.ownership")
MAY_NOT_COUNT = {
    "analyst-anna": (FEED, "tocsin.ownership", "tocsin.wakeup"),
    "notify": (FEED, "tocsin.ownership", "tocsin.wakeup", "tocsin.counts"),
    "sensor-lobby": PUBLIC,
    "mqtt": PUBLIC,
}


def _assert_no_more(broker):
    """Nobody writes decisions but workers, and nobody else learns how many events there are."""
    ask: Callable[[GuardedBroker, str, str], object]
    for ask, denied in ((_send, MAY_NOT_WRITE), (_end, MAY_NOT_COUNT)):
        for name, topics in denied.items():
            for topic in topics:
                with pytest.raises(KafkaError):
                    ask(broker, name, topic)
    for name in ("sensor-lobby", "mqtt"):
        # Kafka lets whoever may write to a topic ask for its offsets: the page on privacy says so.
        assert _end(broker, name, FEED) == _count(broker, FEED)
        transactional = KafkaProducer(**_login(broker, name), transactional_id="sensor", acks="all")
        with pytest.raises(KafkaError):
            transactional.init_transactions()
        transactional.close(timeout=1)
        with closing(KafkaConsumer(**_login(broker, name), request_timeout_ms=8_000)) as consumer:
            consumer.assign([TopicPartition(FEED, 0)])
            consumer.seek_to_beginning()
            with pytest.raises(TopicAuthorizationFailedError):
                consumer.poll(timeout_ms=20_000)


def _assert_strangers_stay_out(broker):
    """Neither without a login nor with another password, wherever somebody logs in."""
    for name in LISTENERS:
        for stranger in (
            {"security_protocol": "PLAINTEXT"},
            {**_login(broker, name), "sasl_plain_password": "letMeOut"},
        ):
            address = {"bootstrap_servers": broker.address(name)}
            with pytest.raises(KafkaError):
                KafkaAdminClient(**{**stranger, **address}, bootstrap_timeout_ms=1_500)


def _send(broker, name, topic, *events):
    producer = KafkaProducer(**_login(broker, name), acks="all", max_block_ms=5_000)
    try:
        for person, value in events or [("somebody", b"{}")]:
            producer.send(topic, key=person.encode(), value=value).get(timeout=20)
    finally:
        producer.close(timeout=1)


def _end(broker, name, topic):
    """Return how many records a topic holds, by somebody who may ask."""
    return _ask(topic, **_login(broker, name))


def _count(broker, topic):
    """Return the same by who may see everything."""
    return _ask(topic, bootstrap_servers=broker.bootstrap)


def _ask(topic, **login):
    with closing(KafkaConsumer(**login, request_timeout_ms=8_000)) as consumer:
        return sum(consumer.end_offsets([TopicPartition(topic, 0)]).values())
