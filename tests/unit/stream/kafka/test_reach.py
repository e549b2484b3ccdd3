"""What listens at ``kafka.bootstrap`` is named; ``test_badinputs.py`` asks through the commands."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from accountant.errors import DependencyError
from stream.kafka import reach
from stream.model.alarms import KafkaSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

HANG_GUARD_S = 60.0
SASL = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-256"}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for: what may pass is said at once, too."""
    monkeypatch.setattr(reach, "PATIENCE_S", 0.0)


def _broker(code: int, *mechanisms: str, correlation: int | None = None) -> Callable[..., None]:
    """Return a listener that answers a SASL handshake, and hangs up on whatever else comes."""

    def serve(wire: socket.socket) -> None:
        (size,) = struct.unpack(">i", wire.recv(4, socket.MSG_WAITALL))
        if not 0 < size < 1_000:
            return
        body = wire.recv(size, socket.MSG_WAITALL)
        key, version, asked = struct.unpack(">hhi", body[:8])
        assert (key, version) == (17, 1)
        answer = struct.pack(">ihi", correlation or asked, code, len(mechanisms))
        answer += b"".join(struct.pack(">h", len(one)) + one.encode() for one in mechanisms)
        wire.sendall(struct.pack(">i", len(answer)) + answer)

    return serve


def _boasts(wire: socket.socket) -> None:
    wire.recv(64)
    wire.sendall(struct.pack(">i", 2**31 - 1))


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Yield the address of a listener that serves one connection after another."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(HANG_GUARD_S)

        def accept() -> None:
            while True:
                wire, _ = server.accept()
                with wire:
                    wire.settimeout(HANG_GUARD_S)
                    if wire.recv(1, socket.MSG_PEEK) == b"":
                        return
                    serve(wire)

        thread = threading.Thread(target=accept)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        try:
            yield address
        finally:
            socket.create_connection(server.getsockname()).close()  # ends the loop
            thread.join(HANG_GUARD_S)


def _kafka(bootstrap: str, security: Mapping[str, str] | None = None) -> KafkaSettings:
    topics = ("alarms", "decisions", "doorbell", "ledgers")
    return KafkaSettings(bootstrap, "tocsin", *topics, security or {})


def _closed() -> str:
    """Return the address of a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("code", "mechanisms", "security"),
    [
        (34, (), {}),
        (0, ("SCRAM-SHA-256",), SASL),
        (0, ("SCRAM-SHA-256", "PLAIN"), SASL),
    ],
)
def test_a_listener_that_is_what_the_file_says_is_taken(
    code: int, mechanisms: tuple[str, ...], security: dict[str, str]
) -> None:
    """Without SASL where none is configured, with its mechanism where one is."""
    with listening(_broker(code, *mechanisms)) as address:
        reach.require_kafka_there(_kafka(address, security))


@pytest.mark.parametrize(
    ("serve", "security", "said", "hint"),
    [
        (_broker(33, "PLAIN", "GSSAPI"), {}, "asks for SASL", "is one of PLAIN, GSSAPI there"),
        (_broker(0), {}, "asks for SASL", "is one of none there"),
        (_broker(34), {"security_protocol": "SSL"}, "no Kafka answer over TLS", "kafka.security"),
        (_boasts, {}, "no Kafka answer over plain TCP", "correct kafka.bootstrap"),
        (_broker(34, correlation=1), {}, "no Kafka answer", "correct kafka.bootstrap"),
    ],
)
def test_whoever_else_listens_is_named(
    serve: Callable[[socket.socket], None], security: dict[str, str], said: str, hint: str
) -> None:
    """With the address, what was found there, and what to correct."""
    with listening(serve) as address, pytest.raises(DependencyError) as refused:
        reach.require_kafka_there(_kafka(address, security))
    assert f"Kafka is unreachable at {address}: " in refused.value.message
    assert said in refused.value.message
    assert hint in refused.value.hint


def test_one_broker_of_a_list_is_enough() -> None:
    """Others may be down."""
    with listening(_broker(34)) as address:
        reach.require_kafka_there(_kafka(f"{_closed()},{address}"))


def test_what_waiting_does_not_mend_is_told_first() -> None:
    """Of a closed port and a broker that asks for SASL the second is what is wrong."""
    with listening(_broker(0)) as address, pytest.raises(DependencyError, match="SASL"):
        reach.require_kafka_there(_kafka(f"{_closed()},{address}"))


def test_a_broker_that_is_starting_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens at first; before patience is over somebody does."""
    monkeypatch.setattr(reach, "PATIENCE_S", HANG_GUARD_S)
    found = [reach._Found("connection refused", passing=True)] * 2 + [reach._Found()]
    monkeypatch.setattr(reach, "_look", lambda *_: found.pop(0))
    monkeypatch.setattr(reach, "_PAUSE_S", 0.0)
    reach.require_kafka_there(_kafka("broker:9092"))
    assert found == []
