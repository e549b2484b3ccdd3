"""A cluster that names no broker for a moment: who looks for a coordinator asks again.

A broker that misses its heartbeats (a pause, a busy machine) is fenced, and until it is let in
again it answers that there is none, itself included. A client of aiokafka that starts at that
moment asserts that there is one, and the task that keeps its consumer in the group dies of it.
"""

from __future__ import annotations

from typing import Any, Final

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import NodeNotReadyError

__all__ = ["tolerate_no_broker"]

_lookup: Final = AIOKafkaClient.coordinator_lookup


def tolerate_no_broker() -> None:
    """Let every aiokafka client of this process wait for a broker; idempotent.

    The client has no setting for it, so its method is replaced.
    """
    AIOKafkaClient.coordinator_lookup = _once_there_is_one


async def _once_there_is_one(client: Any, coordinator_type: Any, coordinator_key: Any) -> Any:
    """Look a coordinator up.

    Raises:
        NodeNotReadyError: no broker is known; the caller asks for metadata and tries again.
    """
    if client.get_random_node() is None:
        raise NodeNotReadyError("the cluster names no broker")
    return await _lookup(client, coordinator_type, coordinator_key)
