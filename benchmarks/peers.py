"""Counting with other stream processors, in an environment of their own: what ours stands beside.

``make bench`` installs ``requirements/peers.lock`` into ``.cache/peers``. Each reads the topic from
the beginning to its end, parses JSON and counts events by room in a dictionary: the least that a
pipeline of theirs can do, without windows, state that outlives a crash, or distinct people.

``python peers.py NAME BOOTSTRAP TOPIC EVENTS`` prints processor seconds, and the kernel's of them.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import uuid
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

PYTHON = Path(__file__).resolve().parents[1] / ".cache" / "peers" / "bin" / "python"


def bytewax(bootstrap: str, topic: str, _events: int) -> Counter[str]:
    """Count with Bytewax: its own source of Kafka, which ends with the topic."""
    operators, kafka = import_module("bytewax.operators"), import_module("bytewax.connectors.kafka")
    loads = import_module("orjson").loads
    flow = import_module("bytewax.dataflow").Dataflow("count")
    source = kafka.KafkaSource([bootstrap], [topic], tail=False, batch_size=10_000)
    rooms: Counter[str] = Counter()

    def counted(messages: list[Any]) -> list[Any]:
        rooms.update(loads(message.value)["room"] for message in messages)
        return []

    stream = operators.flat_map_batch("count", operators.input("read", flow, source), counted)
    operators.output("nothing", stream, import_module("bytewax.testing").TestingSink([]))
    import_module("bytewax.testing").run_main(flow)
    return rooms


def quixstreams(bootstrap: str, topic: str, events: int) -> Counter[str]:
    """Count with Quix Streams: one function over its values."""
    rooms: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        application = import_module("quixstreams").Application(
            broker_address=bootstrap,
            consumer_group=uuid.uuid4().hex,
            auto_offset_reset="earliest",
            loglevel="WARNING",
            state_dir=folder,
        )
        frame = application.dataframe(application.topic(topic, value_deserializer="json"))
        frame.update(lambda value: rooms.update((value["room"],)))
        application.run(count=events)
    return rooms


NAMES = {"Bytewax": bytewax, "Quix Streams": quixstreams}
"""By what they are called in the report."""


def main() -> None:
    """Count, and print what it took of the processor."""
    name, bootstrap, topic, events = sys.argv[1:]
    began_s, kernel_s = time.process_time(), os.times().system
    rooms = NAMES[name](bootstrap, topic, int(events))
    took_s, kernel_s = time.process_time() - began_s, os.times().system - kernel_s
    if rooms.total() != int(events):
        raise RuntimeError(f"{name} counted {rooms.total()} of {events} events")
    print(took_s, kernel_s)


if __name__ == "__main__":
    main()
