"""What answers at ``kafka.bootstrap``, said before a client begins to try it again and again.

The clients tell a port that is closed, a listener with another protocol and a broker that is slow
apart only in their logs, if at all, after half a minute. Here one broker of the list
is asked a single question that every listener answers before anybody has proved who it is: may I
use this SASL mechanism?
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from io import BytesIO
from typing import TYPE_CHECKING, Final, NamedTuple

from aiokafka.protocol.admin import SaslHandShakeRequest_v1

from accountant.errors import DependencyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.model.alarms import KafkaSettings

__all__ = ["require_kafka_there"]

PATIENCE_S = 30.0
"""How long a broker may take to start: as long as the clients keep trying."""
SILENCE_S = 5.0
"""How long a listener may take to answer; one that is at work takes milliseconds."""

_PAUSE_S: Final = 0.25
_CORRELATION: Final = 0x746F6373
_ALLOWED, _UNKNOWN_MECHANISM, _NO_SASL_HERE = 0, 33, 34  # Kafka's error codes
_LONGEST_ANSWER: Final = 65_536
_SECURITY: Final = "correct kafka.security"


class _Found(NamedTuple):
    """What one listener is.

    Args:
        wrong: what is wrong with it, "" where it is what was configured.
        hint: what to do.
        passing: whether it may pass, as a broker that is starting.
    """

    wrong: str = ""
    hint: str = ""
    passing: bool = False


def require_kafka_there(kafka: KafkaSettings) -> None:
    """Return when one listener of the list is what the configuration says.

    Raises:
        DependencyError: none is, with what was found there.
    """
    until = time.monotonic() + PATIENCE_S
    while True:
        found = [_look(part, kafka.security) for part in kafka.bootstrap.split(",")]
        if not all(one.wrong for one in found):
            return
        if time.monotonic() >= until or not any(one.passing for one in found):
            worst = next((one for one in found if not one.passing), found[0])
            raise DependencyError(
                f"Kafka is unreachable at {kafka.bootstrap}: {worst.wrong}", hint=worst.hint
            )
        time.sleep(_PAUSE_S)


def _look(address: str, security: Mapping[str, str]) -> _Found:
    host, _, port = address.rpartition(":")
    place = host.strip("[]"), int(port)
    protocol = security.get("security_protocol", "PLAINTEXT")
    encrypted, sasl = protocol.endswith("SSL"), protocol.startswith("SASL")
    mechanism = security.get("sasl_mechanism", "PLAIN")
    try:
        answer = _asked(place, mechanism, encrypted=encrypted)
    except socket.gaierror:
        return _Found("the host is not known", "correct kafka.bootstrap, or DNS", passing=True)
    except ConnectionRefusedError:
        hint = "start the broker, or correct kafka.bootstrap"
        return _Found("connection refused", hint, passing=True)
    except (OSError, ValueError, struct.error):
        return _Found(
            f"no Kafka answer over {'TLS' if encrypted else 'plain TCP'}",
            "correct kafka.bootstrap or kafka.security; restart a broker that hangs",
            passing=True,
        )
    return _judged(answer, mechanism if sasl else "", protocol)


def _judged(answer: tuple[int, str], mechanism: str, protocol: str) -> _Found:
    """Return what a listener's answer to a SASL handshake says.

    Args:
        answer: its code, and what is known there.
        mechanism: that is configured; "" for none.
        protocol: that is configured.
    """
    (code, known), sasl = answer, bool(mechanism)
    if sasl and code == _NO_SASL_HERE:
        return _Found(
            "the listener takes no SASL",
            f"{_SECURITY}: remove security_protocol: {protocol}, or use a SASL listener's port",
        )
    if sasl and code == _UNKNOWN_MECHANISM:
        return _Found(f"the listener does not take {mechanism}", f"{_SECURITY}: {known}")
    if not sasl and code in (_ALLOWED, _UNKNOWN_MECHANISM):
        return _Found("the listener asks for SASL", f"{_SECURITY}: security_protocol, {known}")
    return _Found()


def _asked(place: tuple[str, int], mechanism: str, *, encrypted: bool) -> tuple[int, str]:
    """Return the error code of a SASL handshake, and the mechanisms that are known there.

    Raises:
        OSError: no connection, no answer, or another's.
        struct.error, ValueError: the same.
    """
    request = SaslHandShakeRequest_v1(mechanism)
    asked = request.build_request_header(_CORRELATION, "tocsin").encode() + request.encode()
    with socket.create_connection(place, SILENCE_S) as plain:
        wire = _tls(plain, place[0]) if encrypted else plain
        with wire, wire.makefile("rb") as answers:
            wire.sendall(struct.pack(">i", len(asked)) + asked)
            (length,) = struct.unpack(">i", answers.read(4))
            if not 0 < length <= _LONGEST_ANSWER:
                raise OSError("not an answer of Kafka")
            answer = BytesIO(answers.read(length))
    if struct.unpack(">i", answer.read(4)) != (_CORRELATION,):
        raise OSError("not an answer of Kafka")
    found = request.RESPONSE_TYPE.decode(answer)
    names = ", ".join(found.enabled_mechanisms or ())
    return found.error_code, f"sasl_mechanism is one of {names or 'none'} there"


def _tls(plain: socket.socket, host: str) -> ssl.SSLSocket:
    """Return an encrypted connection; whom it leads to is for the client to check."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(plain, server_hostname=host)
