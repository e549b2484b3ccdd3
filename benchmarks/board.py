"""What a board costs: processor time of the process ``tocsin board``, seen from outside.

It reads windows of many alarms, of which some fire, from a real broker. What one record costs is
what a start over many takes more than one over few. Then a window a second is published, and what
the process takes more than in idleness is a page each. Viewers ask for the page, over HTTP.

``python -m benchmarks.board ALARMS GROUPS`` prints the figures.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka import KafkaProducer

from benchmarks.checkouts import ROOT, apart, processor_s
from deploy.kafka.broker import Broker
from stream.build import wall_clock_ms
from stream.decisions.records import encode
from tests.support.boarded import Boarded, Topics
from tests.support.published import HOUR_MS, alarm_of, decision_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FEW: Final = 2  # windows of each alarm
MANY: Final = 40
FIRING: Final = 50  # alarms, one group each
PAGES: Final = 12
PAGE_S: Final = 1.2  # the board waits half a second between two
ASKED: Final = 200


@cache
def measured(alarms: int, groups: int) -> Mapping[str, float]:
    """Return the figures by name, in a process of its own."""
    found: dict[str, float] = apart(ROOT, __file__, alarms, groups)
    return found


def main() -> None:
    """Measure."""
    alarms, groups = map(int, sys.argv[2:])
    with Broker() as broker, tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rooms.txt").write_text("".join(f"room-{at}\n" for at in range(groups)))
        names = [f"alarm-{at}" for at in range(alarms)]
        listed = "".join(f"  {name}: {{groups: {{room: rooms.txt}}}}\n" for name in names)
        topics = Topics(broker, "board")
        board = Boarded(Path(folder), topics.kafka, f"alarms:\n{listed}")
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
        newest = wall_clock_ms() // HOUR_MS

        def publish(number: int, among: list[str]) -> int:
            for at, alarm in enumerate(among):
                room = {"room": f"room-{number * at % groups}"}
                fired = [alarm_of(number, room, alarm=alarm)] if at < FIRING else []
                decision = decision_of(number, alarms=fired, alarm=alarm)
                producer.send(topics.decisions, key=alarm.encode(), value=encode(decision))
                for one in fired:
                    producer.send(topics.alarms, key=alarm.encode(), value=encode(one))
            producer.flush()
            return len(among) + min(FIRING, len(among))

        def spent_ms(call: Callable[[], object]) -> float:
            before_s = processor_s(process)
            call()
            return 1000 * (processor_s(process) - before_s)

        started = []
        for first, last in ((MANY, MANY - FEW), (MANY - FEW, 0)):
            records = sum(publish(newest - back, names) for back in range(first, last, -1))
            command = board.start()
            process = command.pid
            started.append(processor_s(process))
            if last:
                command.stop()
        idle_ms = spent_ms(lambda: time.sleep(PAGES * PAGE_S))

        def change() -> None:
            for at in range(PAGES):
                publish(newest + at, names[:1])
                time.sleep(PAGE_S)

        changed_ms = spent_ms(change)
        view_ms = spent_ms(lambda: [board.get("/view") for _ in range(ASKED)])
        command.stop()
        figures = {
            "record_us": 1e6 * (started[1] - started[0]) / records,
            "idle_percent": idle_ms / (PAGES * PAGE_S * 10),
            "page_ms": (changed_ms - idle_ms) / PAGES,
            "view_ms": view_ms / ASKED,
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
