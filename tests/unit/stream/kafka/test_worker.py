"""Tasks of a worker: tried again while a dependency is away, else the end of the process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock
from unittest.mock import Mock, call

import pytest
from aiokafka.errors import CommitFailedError, KafkaConnectionError
from kafka.errors import KafkaConnectionError as AdminConnectionError

from accountant.errors import BudgetError, DependencyError, LedgerError
from stream.config.loading import load
from stream.kafka import worker
from stream.kafka.connectivity import Dependencies
from stream.logs.lines import Line
from tests.support.commands import HOUR_MS, configuration
from tests.support.files import edit
from tests.support.measured import fresh_metrics
from tests.support.said import Said


class Ended(BaseException):
    """The process would have ended with this code."""


class Tasks(worker._Tasks):
    """Tasks without a runtime, on a clock of their own, whose end can be seen."""

    def __init__(self):
        """Hold a log and nothing else."""
        self.said, self.now_s = Said(), 1000.0
        self.log = self.said.log
        self.dependencies = Dependencies(self.log, lambda: self.now_s)
        self.starts_s = []

    def _end(self, error, code):
        raise Ended(code) from error

    async def run(self, *runs, found=True):
        """Guard a task to its end; return the exit code, if the process ends.

        Args:
            runs: how long it takes and how it ends, time after time.
            found: whether others find the dependencies whenever it runs for longer than a moment.
        """
        left = iter(runs)

        async def task():
            self.starts_s.append(self.now_s)
            took_s, error = next(left)
            await sleep(took_s)
            if took_s and found:
                self.dependencies.kafka.found()
                self.dependencies.ledger.found()
            if error is not None:
                raise error

        async def sleep(pause_s):
            self.now_s += pause_s

        with mock.patch("asyncio.sleep", sleep):
            try:
                await self.guarded(task)
            except Ended as ended:
                return int(ended.args[0])
        return None


LEDGER_AWAY, KAFKA_AWAY = DependencyError("x", ledger=True), KafkaConnectionError("x")


@pytest.mark.parametrize(
    ("old", "new", "begins"),
    [
        ("", "", 9 * 24),
        ("    history: {from: 1970-01-01, until: 1970-01-02}\n", "", 9 * 24),
        ("    history:", "    clock: watermarks\n    watermarks: WATERMARKS\n    history:", 0),
    ],
    ids=["history", "live", "loaded"],
)
def test_a_new_alarm_begins_with_the_next_window(old, new, begins, tmp_path):
    """And with the history of a topic that is loaded; of a live feed it is for replays alone."""
    path = Path(configuration(tmp_path))
    new = new.replace("WATERMARKS", "{interval: 1m, key: 0123456789abcdef}")
    edit(path, old, new)
    found = worker._first_starts_ms(load(path, environ={}), 9 * 24 * HOUR_MS)
    assert found == {"crowd": begins * HOUR_MS}


@pytest.mark.parametrize("away", [LEDGER_AWAY, KAFKA_AWAY, asyncio.CancelledError()])
async def test_what_is_away_is_tried_again_for_a_minute(away):
    """Every second; a client that gave up cancels the task. Every outage has its own minute.

    ::

        away   |--40 s--|    |--40 s--|    |--40 s--|
        found            10 s          10 s          10 s
    """
    again, gone, back = Tasks(), Tasks(), Tasks()
    assert await again.run((0, away), (0, away), (0, None)) is None
    assert again.starts_s == [1000, 1001, 1002]
    assert await gone.run(*[(0.0, away)] * 99) == DependencyError.exit_code
    assert gone.starts_s[-1] == 1061
    outage = [(0.0, away)] * 40
    runs = [*outage, (10.0, away), *outage, (10.0, away), *outage, (10.0, None)]
    assert await back.run(*runs) is None


async def test_a_long_attempt_is_no_proof_that_it_is_back():
    """Only what was found is back: clients may wait for long before they say that it is away."""
    tasks = Tasks()
    assert await tasks.run(*[(20.0, KAFKA_AWAY)] * 99, found=False) == DependencyError.exit_code
    assert len(tasks.starts_s) == 4


async def test_what_is_away_is_named():
    """The ledger by its errors, Kafka by the rest; whoever reaches them says that they are back."""
    tasks = Tasks()
    assert await tasks.run((0, LEDGER_AWAY), (0, KAFKA_AWAY), (1, None)) is None
    assert [(line["event"], line["dependency"]) for line in tasks.said.lines] == [
        (Line.UNREACHABLE, "ledger"),
        (Line.UNREACHABLE, "kafka"),
        (Line.BACK, "kafka"),
        (Line.BACK, "ledger"),
    ]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LedgerError("changed"), 2),
        (BudgetError("full"), 3),
        (LEDGER_AWAY, 4),
        (KAFKA_AWAY, 4),
        (CommitFailedError("away"), 4),
        (AdminConnectionError("away"), 4),
        (ConnectionResetError("away"), 4),
        (TimeoutError("away"), 4),
        (asyncio.CancelledError(), 4),
        (RuntimeError("p17 in room 3"), 70),
        (AssertionError("p17 in room 3"), 70),
        (MemoryError(), 70),
    ],
)
async def test_what_faust_does_not_survive_ends_the_process(error, code):
    """Kafka away is one thing, whatever its clients raise; the rest is not waited for."""
    tasks = Tasks()
    with pytest.raises(Ended, match=str(code)):
        tasks.lost(error)
    if code != DependencyError.exit_code:
        assert (await tasks.run((0, error)), len(tasks.starts_s)) == (code, 1)


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ValueError("p17 in room 3"), "unexpected", {"error": "ValueError", "code": 7}),
        (LedgerError("changed"), "LedgerError", {"message": "changed", "code": 7}),
    ],
)
def test_the_last_line_says_why_and_quotes_nothing(monkeypatch, error, kind, said):
    """Type, place and exit code: the text of an unknown error may be an event."""
    noted, exits, tasks, metrics = Mock(), Mock(side_effect=Ended), Tasks(), fresh_metrics()
    monkeypatch.setattr(worker, "note", noted)
    monkeypatch.setattr(os, "_exit", exits)
    tasks.runtime = Mock(ledger="ledger", metrics=metrics)
    with pytest.raises(Ended):
        worker._Tasks._end(tasks, error, 7)
    (line,) = tasks.said.lines
    assert {"event": Line.FATAL, **said}.items() <= line.items()
    assert "p17" not in tasks.said.text
    assert (noted.mock_calls, exits.mock_calls) == ([call("ledger", kind)], [call(7)])
    assert metrics.custodian.get_sample_value("tocsin_stopping_timestamp_seconds") > 0


NO_THREADS = """
import asyncio, os, resource, sys
from types import SimpleNamespace
from stream.kafka.connectivity import Dependencies
from stream.kafka.worker import _Tasks
from stream.logs.lines import Log
from tests.support.measured import fresh_metrics
log = Log(sys.stderr)
runtime = SimpleNamespace(ledger=None, metrics=fresh_metrics())
tasks = _Tasks(runtime, None, 1.0, log=log, dependencies=Dependencies(log))
if not os.getuid():
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
asyncio.run(tasks.guarded(lambda: asyncio.to_thread(print)))
"""


def test_what_fails_ends_the_process_where_no_thread_can_be_had():
    """Under a limit of processes the refusal cannot be noted, and the exit code is there."""
    told = subprocess.run(
        [sys.executable, "-c", NO_THREADS], capture_output=True, text=True, timeout=120, check=False
    )
    assert told.returncode == worker.UNKNOWN_ERROR, told.stderr
    assert Line.FATAL in told.stderr
    assert "Traceback" not in told.stderr


async def test_a_cancelled_task_just_ends():
    """Faust cancels its services when it stops."""
    running = asyncio.create_task(Tasks().guarded(lambda: asyncio.sleep(60)))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
