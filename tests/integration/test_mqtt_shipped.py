"""The MQTT broker as it is shipped: each login does its own and no more, and is its own session."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from paho.mqtt import client as mqtt

from deploy.kafka.runtime import HOST, free_port
from tests.support.procs import ran
from tests.support.targets import Mosquitto
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration

SHIPPED = ROOT / "deploy" / "mosquitto"
ROLES = ("sensor", "mqtt", "notify", "analyst")
TOPICS = ("office/hall/badge", "tocsin/alarms/a/b", "homeassistant/sensor/a/config", "other/topic")
MAY = {
    ("sensor", "office/hall/badge", "mqtt"),
    ("notify", "tocsin/alarms/a/b", "analyst"),
    ("notify", "homeassistant/sensor/a/config", "analyst"),
}
"""Who publishes on which topic to whom; nobody else does to anybody."""


@dataclass
class Shipped(Mosquitto):
    """Runs the file that is shipped: other ports, other folders, and nothing else."""

    analysts: int = 0

    def command(self):
        """Return the command line."""
        secrets, passwords = self.folder / "secrets", self.folder / "passwords"
        if not passwords.exists():
            secrets.mkdir()
            for role in ROLES:
                (secrets / f"mqtt_{role}").write_text(f"{role}-secret")
            script = ["sh", str(SHIPPED / "passwords.sh"), str(passwords)]
            ran(*script, env={"SECRETS": str(secrets), "PATH": "/usr/bin:/bin"})
        self.analysts = self.analysts or free_port()
        text = (SHIPPED / "mosquitto.conf").read_text()
        for old, new in (
            ("listener 1883", f"listener {self.port} {HOST}"),
            ("listener 1884", f"listener {self.analysts} {HOST}"),
            ("/tmp/passwords", str(passwords)),  # noqa: S108  what is replaced
            ("/tmp/acl", str(SHIPPED / "acl")),  # noqa: S108
            ("/mosquitto/data/", f"{self.folder}/"),
        ):
            assert text.count(old) == 1
            text = text.replace(old, new)
        settings = self.folder / "mosquitto.conf"
        settings.write_text(f"{text}user root\n")
        return ["/usr/sbin/mosquitto", "-c", str(settings)]


class Party:
    """A client that has logged in, and keeps what it hears."""

    def __init__(self, port, role, name="", *, clean=True):
        self.heard = []
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, name, clean_session=clean)
        self.client.username_pw_set(role, f"{role}-secret")
        self.client.on_message = self._hear
        self.client.on_subscribe = self._subscribed
        self.subscribed = 0
        self.client.connect(HOST, port)
        self.client.loop_start()
        wait_until(f"{role} is in", self.client.is_connected)

    def _hear(self, _client, _data, message):
        self.heard.append((message.topic, message.payload))

    def _subscribed(self, *_):
        self.subscribed += 1

    def listen(self, topic):
        """Subscribe; the broker has done then whatever it was sent before."""
        before = self.subscribed
        self.client.subscribe(topic, qos=1)
        wait_until("the subscription is answered", lambda: self.subscribed > before)

    def publish(self, topic, payload):
        """Publish at QoS 1, and wait until it is acknowledged, as MQTT 3.1.1 has it in any case."""
        sent = self.client.publish(topic, payload, qos=1)
        sent.wait_for_publish(PATIENCE_S)
        assert sent.is_published()

    def leave(self):
        """Part from the broker."""
        self.client.disconnect()
        self.client.loop_stop()


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """One broker for all of them."""
    server = Shipped(tmp_path_factory.mktemp("mqtt") / "mosquitto")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def log_in(shipped):
    """How a role logs in, where it may; all leave with the test."""
    parties = []

    def party(role, name="", *, clean=True):
        port = shipped.analysts if role == "analyst" else shipped.port
        parties.append(Party(port, role, name, clean=clean))
        return parties[-1]

    yield party
    for each in parties:
        each.leave()


def test_each_role_does_its_own_and_no_more(log_in):
    """Everybody listens to all there is; everybody publishes everywhere."""
    parties = {role: log_in(role) for role in ROLES}
    for party in parties.values():
        party.listen("#")
    for role, party in parties.items():
        for topic in TOPICS:
            party.publish(topic, f"{role} {topic}".encode())
    wanted = {(f"{role} {topic}".encode(), to) for role, topic, to in MAY}

    def heard():
        return {(said, who) for who, party in parties.items() for _, said in party.heard}

    wait_until("what may be heard is", lambda: heard() >= wanted)
    assert heard() == wanted


def test_nobody_gets_in_without_a_login(shipped):
    """Neither where sensors are, nor where analysts are."""
    for port in (shipped.port, shipped.analysts):
        said = ran("mosquitto_pub", "-h", HOST, "-p", port, "-t", "office/x", "-m", "x", code=None)
        assert said.returncode != 0


def test_an_analyst_does_not_take_over_the_mqtt_source(log_in):
    """By whatever name, while the MQTT source is there and while it is away: 70 of 70 arrive."""
    sensor = log_in("sensor")
    heard = []
    for there in (True, False):
        source = log_in("mqtt", "tocsin-mqtt", clean=False)
        source.listen("office/#")
        if not there:
            source.leave()
        for name in ("tocsin-mqtt", "mqtt"):
            log_in("analyst", name).leave()
        for number in range(35):
            sensor.publish("office/hall/badge", b"%d" % number)
        if not there:
            source = log_in("mqtt", "tocsin-mqtt", clean=False)
        wait_until("all have come", lambda of=source: len(of.heard) == 35)
        source.leave()
        heard += source.heard
    assert [said for _, said in heard] == [b"%d" % number for number in range(35)] * 2


def test_the_broker_lets_through_what_an_event_may_be(log_in):
    """To the byte; what is larger goes no further."""
    source, sensor = log_in("mqtt"), log_in("sensor")
    source.listen("office/#")
    for size in (500_001, 500_000):
        sensor.publish("office/hall/badge", bytes(size))
    wait_until("one arrives", lambda: source.heard)
    assert [len(said) for _, said in source.heard] == [500_000]
