"""What listens at ``kafka.bootstrap`` is named; ``test_badinputs.py`` asks through the commands."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager
from socketserver import BaseRequestHandler, TCPServer

import pytest
from aiokafka.protocol.admin import SaslHandShakeRequest_v1

from accountant.errors import DependencyError
from stream.kafka import reach
from stream.model.alarms import KafkaSettings

HANG_GUARD_S = 60.0
SASL = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-256"}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    """Nothing is waited for: what may pass is said at once, too."""
    monkeypatch.setattr(reach, "PATIENCE_S", 0.0)


def _broker(code, *mechanisms, correlation=None):
    """Return a listener that answers a SASL handshake, and hangs up on whatever else comes."""

    def serve(wire):
        (size,) = struct.unpack(">i", wire.recv(4, socket.MSG_WAITALL))
        if 0 < size < 1_000:
            head = wire.recv(size, socket.MSG_WAITALL)[:8]
            key, version, asked = struct.unpack(">hhi", head)
            assert (key, version) == (17, 1)
            answer = struct.pack(">i", correlation or asked)
            answer += SaslHandShakeRequest_v1.RESPONSE_TYPE(code, mechanisms).encode()
            wire.sendall(struct.pack(">i", len(answer)) + answer)

    return serve


def _boasts(wire):
    wire.recv(64)
    wire.sendall(struct.pack(">i", 2**31 - 1))


@contextmanager
def listening(serve):
    """Yield the address of a listener that serves one connection after another."""

    class Handler(BaseRequestHandler):
        def handle(self):
            self.request.settimeout(HANG_GUARD_S)
            serve(self.request)

    with TCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _kafka(bootstrap, security=None):
    topics = ("alarms", "decisions", "doorbell", "ledgers")
    return KafkaSettings(bootstrap, "tocsin", *topics, security or {})


def _closed():
    """Return the address of a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("serve", "security"),
    [
        (_broker(34), {}),
        (_broker(0, "SCRAM-SHA-256"), SASL),
        (_broker(0, "SCRAM-SHA-256", "PLAIN"), SASL),
    ],
)
def test_a_listener_that_is_what_the_file_says_is_taken(serve, security):
    """Without SASL where none is configured, with its mechanism where one is.

    Others of a list may be down.
    """
    with listening(serve) as address:
        reach.require_kafka_there(_kafka(f"{_closed()},{address}", security))


@pytest.mark.parametrize(
    ("serve", "security", "said", "hint"),
    [
        (_broker(33, "PLAIN", "GSSAPI"), {}, "asks for SASL", "is one of PLAIN, GSSAPI there"),
        (_broker(0), {}, "asks for SASL", "is one of none there"),
        (_broker(33, "PLAIN"), SASL, "does not take SCRAM-SHA-256", "is one of PLAIN there"),
        (_broker(34), SASL, "takes no SASL", "remove security_protocol: SASL_PLAINTEXT"),
        (_broker(34), {"security_protocol": "SSL"}, "no Kafka answer over TLS", "kafka.security"),
        (_boasts, {}, "no Kafka answer over plain TCP", "correct kafka.bootstrap"),
        (_broker(34, correlation=1), {}, "no Kafka answer", "correct kafka.bootstrap"),
    ],
)
def test_whoever_else_listens_is_named(serve, security, said, hint):
    """With the address, what was found there, and what to correct."""
    with listening(serve) as address, pytest.raises(DependencyError) as refused:
        reach.require_kafka_there(_kafka(address, security))
    assert f"Kafka is unreachable at {address}: " in refused.value.message
    assert said in refused.value.message
    assert hint in refused.value.hint


def test_what_waiting_does_not_mend_is_told_first():
    """Of a closed port and a broker that asks for SASL the second is what is wrong."""
    with listening(_broker(0)) as address, pytest.raises(DependencyError, match="SASL"):
        reach.require_kafka_there(_kafka(f"{_closed()},{address}"))


def test_a_broker_that_is_starting_is_waited_for(monkeypatch):
    """Nobody listens at first; before patience is over somebody does."""
    monkeypatch.setattr(reach, "PATIENCE_S", HANG_GUARD_S)
    found = [reach._Found("connection refused", passing=True)] * 2 + [reach._Found()]
    monkeypatch.setattr(reach, "_look", lambda *_: found.pop(0))
    monkeypatch.setattr(reach, "_PAUSE_S", 0.0)
    reach.require_kafka_there(_kafka("broker:9092"))
    assert found == []
