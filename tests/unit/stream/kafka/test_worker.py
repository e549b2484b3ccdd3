"""Tasks of a worker: tried again while a dependency is away, else the end of the process."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from aiokafka.errors import KafkaConnectionError

from accountant.errors import DependencyError, LedgerError
from stream.kafka import worker

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ended(BaseException):
    """The process would have ended with this code."""

    def __init__(self, code: int) -> None:
        self.code = code


class Tasks(worker._Tasks):
    """Tasks without a runtime, whose end can be seen."""

    def __init__(self) -> None:
        """Hold nothing."""

    def _end(self, error: BaseException, code: int) -> None:
        raise Ended(code) from error


class Task:
    """A task that takes so long and then fails or ends, time after time."""

    def __init__(self, *runs: tuple[float, BaseException | None]) -> None:
        self.now_s = 1000.0
        self.starts_s: list[float] = []
        self._runs: Iterator[tuple[float, BaseException | None]] = iter(runs)

    async def __call__(self) -> None:
        """Run once more."""
        self.starts_s.append(self.now_s)
        took_s, error = next(self._runs)
        self.now_s += took_s
        if error is not None:
            raise error

    async def sleep(self, pause_s: float) -> None:
        """Wait without waiting."""
        self.now_s += pause_s


def guarded(task: Task, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """Run a task to its end; return the exit code, if the process ends."""

    async def run() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "sleep", task.sleep)
            patched.setattr(time, "monotonic", lambda: task.now_s)
            await Tasks().guarded(task)

    try:
        asyncio.run(run())
    except Ended as ended:
        return ended.code
    return None


@pytest.mark.parametrize("away", [DependencyError("away"), KafkaConnectionError("away")])
def test_a_task_is_tried_again_every_second(
    monkeypatch: pytest.MonkeyPatch, away: Exception
) -> None:
    """What is away for a moment costs a second each time."""
    task = Task((0, away), (0, away), (0, None))
    assert guarded(task, monkeypatch) is None
    assert task.starts_s == [1000, 1001, 1002]


@pytest.mark.parametrize("away", [DependencyError("away"), KafkaConnectionError("away")])
def test_a_dependency_that_stays_away_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, away: Exception
) -> None:
    """A minute after the first failure, with the code of a dependency."""
    task = Task(*[(0.0, away)] * 99)
    assert guarded(task, monkeypatch) == DependencyError.exit_code
    assert task.starts_s[-1] == 1061


def test_the_minute_starts_anew_after_a_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that ran for longer than a minute may fail for another one; a shorter run counts."""
    away = DependencyError("away")
    once = [(0.0, away)] * 30
    task = Task(*once, (61.0, away), *once, (0.0, None))
    assert guarded(task, monkeypatch) is None
    assert guarded(Task(*once, (59.0, away)), monkeypatch) == DependencyError.exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [(LedgerError("changed"), 2), (ZeroDivisionError(), 70), (asyncio.CancelledError(), 70)],
)
def test_anything_else_ends_the_process_at_once(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    """Also a task that somebody else cancelled: Faust would go on without it."""
    task = Task((0, error))
    assert guarded(task, monkeypatch) == code
    assert len(task.starts_s) == 1


def test_a_cancelled_task_just_ends() -> None:
    """Faust cancels its services when it stops."""

    async def run() -> None:
        running = asyncio.create_task(Tasks().guarded(lambda: asyncio.sleep(60)))
        await asyncio.sleep(0)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
