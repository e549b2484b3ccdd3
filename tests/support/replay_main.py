"""A replay to Kafka that dies in the middle of a transaction.

``python -m tests.support.replay_main CONFIG FILE COUNT``. The process kills itself once ``COUNT``
records were handed to the producer and have reached the broker, uncommitted.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from aiokafka import AIOKafkaProducer

from stream.config.loading import load
from stream.kafka.history import replay


def main() -> None:
    """Replay, and die."""
    config, file, count = sys.argv[1:]
    send, left = AIOKafkaProducer.send, int(count)

    async def counted(self, *args, **kwargs):
        nonlocal left
        sent = await send(self, *args, **kwargs)
        left -= 1
        if left == 0:
            await self.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        return sent

    AIOKafkaProducer.send = counted
    replay(load(Path(config), environ=os.environ), "badges", [Path(file)])


if __name__ == "__main__":
    main()
