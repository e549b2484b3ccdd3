"""Trials spread over processes.

Every process has a noise source of its own, keyed by the operating system; nothing is seeded.
Ctrl-C is for the parent alone, which lets the tasks at hand end (about a second) and starts no
other.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar

from accountant.errors import DependencyError
from operators.noise.source import NoiseSource
from stream.simulation.draws.tally import Tally
from stream.simulation.trials import Task, Trier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from operators.base import Plan
    from stream.simulation.trials import Bench

__all__ = ["Tried", "paying_workers", "try_out"]

_WORTH_A_PROCESS: Final = 10_000_000  # cells: what one decides while another starts and plans
_PER_WINDOW: Final = 16  # cells that deciding a window takes as long as, however few it has
_AHEAD: Final = 4  # tasks handed out per process: none waits for the parent
_WORKER: dict[str, Trier] = {}  # a spawned process can keep what it was started with nowhere else

T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one setting.

    Args:
        plan: its worst case, or why it could not be planned.
        tally: of all draws; empty where there is no plan.
    """

    plan: Plan | str
    tally: Tally


def paying_workers(bench: Bench, runs: int, most: int) -> int:
    """Return how many processes are worth their start: each reads and plans everything anew.

    Args:
        bench: what is tried out.
        runs: draws per window and setting.
        most: processes, >= 1.
    """
    tried = [bench.counted[setting.alarm] for setting in bench.settings]
    work = sum(runs * each.windows * each.looks * (each.cells + _PER_WINDOW) for each in tried)
    return max(1, min(most, work // _WORTH_A_PROCESS))


def try_out(
    bench: Bench,
    runs: int,
    *,
    workers: int = 1,
    on_draws: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Tried]:
    """Plan every setting and decide every window ``runs`` times.

    Args:
        bench: what is tried out.
        runs: draws per window and setting, >= 1.
        workers: processes, >= 1; one works in this process.
        on_draws: told how many windows were decided, of how many.

    Returns:
        One entry per setting, in order.

    Raises:
        DependencyError: a process ended before its time (killed, or out of memory).
    """
    if runs < 1 or workers < 1:
        raise ValueError("there is at least one run and one worker")
    if workers == 1:
        _WORKER["trier"] = Trier(bench, NoiseSource())
        try:
            return _all(_Crew(), bench, runs, on_draws)
        finally:
            del _WORKER["trier"]
    with _uninterrupted():
        pool = ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(bench,)
        )
    try:
        return _all(_Crew(pool, workers), bench, runs, on_draws)
    except BrokenExecutor as error:
        raise DependencyError(
            "a process of the simulation ended before its time",
            hint="memory may be short: simulate fewer windows with --limit, or use fewer --workers",
        ) from error
    finally:
        with _uninterrupted():
            pool.shutdown(cancel_futures=True)


def _all(crew: _Crew, bench: Bench, runs: int, on_draws: Callable[[int, int], None]) -> list[Tried]:
    plans = dict(crew.each(_plan, range(len(bench.settings))))
    tasks = [
        task
        for at in range(len(bench.settings))
        if not isinstance(plans[at], str)
        for task in bench.tasks(at, runs)
    ]
    tallies = [Tally() for _ in bench.settings]
    done, total = 0, sum(task.draws for task in tasks)
    on_draws(done, total)
    for task, tally in crew.each(_run, tasks):
        tallies[task.setting].add(tally)
        done += task.draws
        on_draws(done, total)
    return [Tried(plans[at], tally) for at, tally in enumerate(tallies)]


@dataclass(frozen=True, slots=True)
class _Crew:
    """Works in this process, or hands work to those of a pool, a little ahead of them."""

    pool: ProcessPoolExecutor | None = None
    workers: int = 1

    def each(self, work: Callable[[A], T], arguments: Iterable[A]) -> Iterator[tuple[A, T]]:
        """Yield arguments with what came of them, in any order."""
        if self.pool is None:
            yield from ((argument, work(argument)) for argument in arguments)
            return
        left = iter(arguments)
        running: dict[Future[T], A] = {}
        while True:
            for argument in islice(left, _AHEAD * self.workers - len(running)):
                with _uninterrupted():
                    running[self.pool.submit(work, argument)] = argument
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Put Ctrl-C off until the block is done.

    A process started in it inherits the mask, until it ignores Ctrl-C. For this process the mask is
    not enough: any other thread (a progress bar's) takes the signal, and this one is interrupted.
    """
    came: list[int] = []  # no frame, which would keep the pool
    handler = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if came and callable(handler):
            handler(came[0], None)


def _begin(bench: Bench) -> None:
    """Prepare a process; an interrupt of the terminal, or its end, is for its parent."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _WORKER["trier"] = Trier(bench, NoiseSource())


def _end_with_parent() -> None:
    """End this process when its parent is gone: it holds private counts."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _plan(setting: int) -> Plan | str:
    return _WORKER["trier"].plan(setting)


def _run(task: Task) -> Tally:
    return _WORKER["trier"].run(task)
