"""One set of security settings, in the words of each Kafka client; and how each says "away".

The configuration's ``kafka.security`` may hold ``security_protocol``, ``sasl_mechanism``,
``sasl_username``, ``sasl_password``, ``ssl_cafile``, ``ssl_certfile`` and ``ssl_keyfile``.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from functools import partial
from ssl import create_default_context
from typing import TYPE_CHECKING, Any, Final

from aiokafka.errors import KafkaError
from aiokafka.helpers import create_ssl_context
from faust.auth import SASLCredentials, SSLCredentials
from kafka.errors import KafkaError as AdminError
from kafka.net.compat import KafkaNetClient

from accountant.errors import DependencyError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

    from aiokafka import AIOKafkaConsumer

    from stream.model.alarms import KafkaSettings

__all__ = [
    "FETCH",
    "KAFKA_AWAY",
    "admin_arguments",
    "aiokafka_arguments",
    "faust_credentials",
    "mqtt_arguments",
    "no_mqtt",
    "reaching",
    "stop_consumer",
]

FETCH: Final = {"max_partition_fetch_bytes": 8 << 20}
"""How whoever reads whole logs fetches: arguments of aiokafka's consumer."""

_MQTT_S: Final = 10.0
_RENAMED: Final = {"sasl_username": "sasl_plain_username", "sasl_password": "sasl_plain_password"}

KAFKA_AWAY: Final = (KafkaError, AdminError, ConnectionError, TimeoutError)
"""What the clients raise where Kafka cannot be reached, or refuses."""


@contextmanager
def reaching(
    missed: str, hint: str, errors: tuple[type[Exception], ...] = (*KAFKA_AWAY, OSError)
) -> Iterator[None]:
    """Say in one sentence what could not be done because Kafka is away, or refuses.

    Args:
        missed: what could not be done; the kind of the error is added.
        hint: what to check.
        errors: that say so.

    Raises:
        DependencyError: whatever Kafka's clients raised.
    """
    try:
        yield
    except errors as error:
        raise DependencyError(f"{missed} ({type(error).__name__})", hint=hint) from error


def aiokafka_arguments(kafka: KafkaSettings) -> dict[str, Any]:
    """Return keyword arguments for aiokafka's clients."""
    return {
        "bootstrap_servers": kafka.bootstrap,
        "ssl_context": _ssl_context(kafka.security),
        **{key: text for key, text in _named(kafka).items() if not key.startswith("ssl_")},
    }


def admin_arguments(kafka: KafkaSettings) -> dict[str, Any]:
    """Return keyword arguments for kafka-python's clients."""
    return {
        "bootstrap_servers": kafka.bootstrap.split(","),
        # Its loop warns wherever a busy machine lets it wait for a tenth of a second.
        "kafka_client": partial(KafkaNetClient, slow_task_threshold_secs=0),
        **_named(kafka),
    }


def faust_credentials(kafka: KafkaSettings) -> SASLCredentials | SSLCredentials | None:
    """Return Faust's credentials object, ``None`` for plaintext."""
    security, context = kafka.security, _ssl_context(kafka.security)
    if "sasl_mechanism" in security:
        return SASLCredentials(
            mechanism=security["sasl_mechanism"],
            username=security.get("sasl_username"),
            password=security.get("sasl_password"),
            ssl_context=context,
        )
    return SSLCredentials(context=context) if context else None


async def stop_consumer(consumer: AIOKafkaConsumer) -> None:
    """Stop a consumer of aiokafka.

    Its fetcher cancels a request that waits to be tried again, waits for it, and hands its
    cancellation on as if it were ours: then its connections stay open, and whoever stops it ends.
    """
    try:
        await consumer.stop()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        await consumer._client.close()  # noqa: SLF001  # what `stop` had still to do


def mqtt_arguments(
    address: tuple[str, int], username: str, password: str, cafile: str
) -> dict[str, Any]:
    """Return keyword arguments for the client of MQTT.

    Args:
        address: ``(host, port)`` of the broker.
        username: empty for none.
        password: empty for none.
        cafile: authorities of the broker's certificate, for TLS; empty for none.
    """
    return {
        "hostname": address[0],
        "port": address[1],
        "username": username or None,
        "password": password or None,
        "tls_context": create_default_context(cafile=cafile) if cafile else None,
        "timeout": _MQTT_S,
    }


def no_mqtt() -> DependencyError:
    """Return what is said where the client of MQTT, which is an extra, is not installed."""
    return DependencyError(
        "MQTT needs a client that is not installed", hint="pip install 'tocsin[mqtt]'"
    )


def _named(kafka: KafkaSettings) -> dict[str, str]:
    """Return what the configuration says, as aiokafka and kafka-python call it."""
    return {_RENAMED.get(key, key): text for key, text in kafka.security.items()}


def _ssl_context(security: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return how the clients encrypt; ``None`` where they do not."""
    if not security.get("security_protocol", "").endswith("SSL"):
        return None
    context: ssl.SSLContext = create_ssl_context(
        cafile=security.get("ssl_cafile"),
        certfile=security.get("ssl_certfile"),
        keyfile=security.get("ssl_keyfile"),
    )
    return context
