"""Tasks of a worker: tried again while a dependency is away, else the end of the process."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock
from unittest.mock import Mock, call

import pytest
from aiokafka.errors import CommitFailedError, KafkaConnectionError
from kafka.errors import KafkaConnectionError as AdminConnectionError

from accountant.errors import BudgetError, DependencyError, LedgerError
from stream.config.loading import load
from stream.kafka import worker
from stream.kafka.connectivity import Dependencies
from stream.logs.lines import Line, Log
from stream.logs.settings import Form, Level, LogSettings
from tests.support.commands import HOUR_MS, configuration
from tests.support.measured import fresh_metrics, sample_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Ended(BaseException):
    """The process would have ended with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Tasks(worker._Tasks):
    """Tasks without a runtime, whose end can be seen."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Hold a log and nothing else."""
        self.stream = io.StringIO()
        self.log = Log(self.stream, LogSettings(Level.INFO, Form.JSON))
        self.dependencies = Dependencies(self.log, clock_s)

    def lines(self) -> list[dict[str, Any]]:
        """Return what was said."""
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def _end(self, error: BaseException, code: int) -> None:
        raise Ended(code) from error


class Task:
    """A task that takes so long and then fails or ends, time after time.

    Args:
        runs: how long each takes and how it ends.
        found: whether others find the dependency whenever it runs for longer than a moment.
    """

    def __init__(self, *runs: tuple[float, BaseException | None], found: bool = True) -> None:
        self.now_s = 1000.0
        self.starts_s: list[float] = []
        self.tasks = Tasks(lambda: self.now_s)
        self._found = found
        self._runs: Iterator[tuple[float, BaseException | None]] = iter(runs)

    async def __call__(self) -> None:
        """Run once more."""
        self.starts_s.append(self.now_s)
        took_s, error = next(self._runs)
        self.now_s += took_s
        if took_s and self._found:
            self.tasks.dependencies.kafka.found()
            self.tasks.dependencies.ledger.found()
        if error is not None:
            raise error

    async def sleep(self, pause_s: float) -> None:
        """Wait without waiting."""
        self.now_s += pause_s


async def guarded(task: Task) -> int | None:
    """Run a task to its end; return the exit code, if the process ends."""
    try:
        with mock.patch("asyncio.sleep", task.sleep):
            await task.tasks.guarded(task)
    except Ended as ended:
        return ended.code
    return None


AWAY = [DependencyError("x", ledger=True), KafkaConnectionError("x"), asyncio.CancelledError()]


@pytest.mark.parametrize(
    ("feed", "begins"),
    [("history", 9 * 24), ("loaded", 0), ("live", 9 * 24)],
)
def test_a_new_alarm_begins_with_the_next_window(feed: str, begins: int, tmp_path: Path) -> None:
    """And with the history of a topic that is loaded; of a live feed it is for replays alone."""
    path = Path(configuration(tmp_path))
    text = path.read_text(encoding="utf-8")
    if feed == "live":
        text = re.sub(r" +history: .*\n", "", text)
    if feed == "loaded":
        text = text.replace(
            "    history:",
            "    clock: watermarks\n"
            "    watermarks: {interval: 1m, key: 0123456789abcdef}\n    history:",
        )
    path.write_text(text, encoding="utf-8")
    now_ms = 9 * 24 * HOUR_MS
    found = worker._first_starts_ms(load(path, environ={}), now_ms)
    assert found == {"crowd": begins * HOUR_MS}


@pytest.mark.parametrize("away", AWAY)
async def test_what_is_away_is_tried_again_for_a_minute(away: BaseException) -> None:
    """Every second; a client that gave up cancels the task. Every outage has its own minute.

    ::

        away   |--40 s--|    |--40 s--|    |--40 s--|
        found            10 s          10 s          10 s
    """
    task = Task((0, away), (0, away), (0, None))
    assert await guarded(task) is None
    assert task.starts_s == [1000, 1001, 1002]
    task = Task(*[(0.0, away)] * 99)
    assert await guarded(task) == DependencyError.exit_code
    assert task.starts_s[-1] == 1061
    outage = [(0.0, away)] * 40
    task = Task(*outage, (10.0, away), *outage, (10.0, away), *outage, (10.0, None))
    assert await guarded(task) is None


async def test_a_long_attempt_is_no_proof_that_it_is_back() -> None:
    """Only what was found is back: clients may wait for long before they say that it is away."""
    away = KafkaConnectionError("x")
    task = Task(*[(20.0, away)] * 99, found=False)
    assert await guarded(task) == DependencyError.exit_code
    assert len(task.starts_s) == 4


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LedgerError("changed"), 2),
        (BudgetError("full"), 3),
        (DependencyError("away", ledger=True), 4),
        (KafkaConnectionError("away"), 4),
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
async def test_what_faust_does_not_survive_ends_the_process(
    error: BaseException, code: int
) -> None:
    """Kafka away is one thing, whatever its clients raise; the rest is not waited for."""
    with pytest.raises(Ended) as ended:
        Tasks().lost(error)
    assert ended.value.code == code
    if code != DependencyError.exit_code:
        task = Task((0, error))
        assert (await guarded(task), len(task.starts_s)) == (code, 1)


def test_the_last_line_says_why_and_quotes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Type, place and exit code: the text of an unknown error may be an event."""
    noted = Mock()

    def close(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(worker, "note", noted)
    monkeypatch.setattr(os, "_exit", close)
    tasks, metrics = Tasks(), fresh_metrics()
    needed: Any = SimpleNamespace(ledger="ledger", metrics=metrics)
    tasks.runtime = needed
    for error, code in ((ValueError("p17 in room 3"), 70), (LedgerError("changed"), 2)):
        with pytest.raises(Ended, match=str(code)):
            worker._Tasks._end(tasks, error, code)
    unknown, known = tasks.lines()
    assert (unknown["event"], unknown["error"], unknown["code"]) == (Line.FATAL, "ValueError", 70)
    assert (known["message"], known["code"]) == ("changed", 2)
    assert "p17" not in tasks.stream.getvalue()
    assert noted.mock_calls == [call("ledger", "unexpected"), call("ledger", "LedgerError")]
    assert sample_value(metrics.custodian, "tocsin_stopping_timestamp_seconds") > 0


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


def test_what_fails_ends_the_process_where_no_thread_can_be_had() -> None:
    """Under a limit of processes the refusal cannot be noted, and the exit code is there."""
    told = subprocess.run(
        [sys.executable, "-c", NO_THREADS], capture_output=True, text=True, timeout=120, check=False
    )
    assert told.returncode == worker.UNKNOWN_ERROR, told.stderr
    assert Line.FATAL in told.stderr
    assert "Traceback" not in told.stderr


async def test_what_is_away_is_named() -> None:
    """The ledger by its errors, Kafka by the rest; whoever reaches them says that they are back."""
    task = Task((0, AWAY[0]), (0, AWAY[1]), (0, None))
    assert await guarded(task) is None
    dependencies = task.tasks.dependencies
    for one in (dependencies.kafka, dependencies.ledger):
        one.found()
    assert [(line["event"], line["dependency"]) for line in task.tasks.lines()] == [
        (Line.UNREACHABLE, "ledger"),
        (Line.UNREACHABLE, "kafka"),
        (Line.BACK, "kafka"),
        (Line.BACK, "ledger"),
    ]


async def test_a_cancelled_task_just_ends() -> None:
    """Faust cancels its services when it stops."""
    running = asyncio.create_task(Tasks().guarded(lambda: asyncio.sleep(60)))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
