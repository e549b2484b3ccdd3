"""Simulated replays spread over processes.

Every process has a noise source of its own, keyed by the operating system; nothing is seeded.
Ctrl-C is for the parent alone, which lets the replays at hand end and starts no other.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TYPE_CHECKING, Final

from accountant.errors import DependencyError
from operators.noise.source import NoiseSource
from stream.simulation.plays import Played
from stream.simulation.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from accountant.costs.charges import WindowKey
    from stream.model.alarms import Alarms
    from stream.simulation.history import CountedAlarm

__all__ = ["Bench", "Trier", "paying_workers", "try_out"]

_PAYS_A_PROCESS: Final = 10_000_000  # cells: what one decides while another starts and plans
_PER_WINDOW: Final = 16  # cells that deciding a window takes as long as, however few it has
_CELLS_PER_TASK: Final = 400_000
_AHEAD: Final = 4  # tasks handed out per process: none waits for the parent
_WORKER: dict[str, Trier] = {}  # a spawned process can keep what it was started with nowhere else


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """Everything that is replayed, as every process gets it once.

    Args:
        variants: of the file.
        counted: exact statistics of the alarms that are drawn, and of their panes.
        others: windows of what is not drawn and pays all the same.
    """

    variants: Sequence[Alarms]
    counted: Mapping[str, CountedAlarm]
    others: Mapping[str, Sequence[WindowKey]] = field(default_factory=dict)

    @property
    def work(self) -> int:
        """About how many cells one replay of one variant decides."""
        every = self.counted.values()
        return sum(each.windows * each.looks * (each.cells + _PER_WINDOW) for each in every)

    def tasks(self, runs: int) -> Iterator[tuple[int, int]]:
        """Yield variants, each with a number of replays: about a second's work, or one."""
        some = max(1, _CELLS_PER_TASK // self.work)
        for at in range(len(self.variants)):
            yield from ((at, min(some, runs - done)) for done in range(0, runs, some))


class Trier:
    """Replays the variants of a bench, in one process.

    Args:
        bench: what is replayed.
        noise: the cryptographic source.
    """

    def __init__(self, bench: Bench, noise: NoiseSource) -> None:
        self._bench = bench
        self._noise = noise
        self._played: dict[int, Played] = {}

    def run(self, at: int, runs: int) -> dict[str, Tally]:
        """Replay a variant so often; return what came of each of its alarms."""
        if at not in self._played:
            bench = self._bench
            self._played[at] = Played(bench.variants[at], bench.counted, bench.others)
        found: dict[str, Tally] = {}
        for _ in range(runs):
            for name, tally in self._played[at].replay(self._noise).items():
                found[name] = found.get(name, Tally()) + tally
        return found


def paying_workers(bench: Bench, runs: int, most: int) -> int:
    """Return how many processes are useful: each reads and plans everything anew.

    Args:
        bench: what is replayed.
        runs: replays of every variant.
        most: processes, >= 1.
    """
    work = runs * bench.work * len(bench.variants)
    return max(1, min(most, work // _PAYS_A_PROCESS))


def try_out(
    bench: Bench,
    runs: int,
    *,
    workers: int = 1,
    on_runs: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[dict[str, Tally]]:
    """Replay every variant ``runs`` times.

    Args:
        bench: what is replayed.
        runs: replays of each, >= 1.
        workers: processes, >= 1; one works in this process.
        on_runs: called with how many replays are done, of how many.

    Returns:
        Of every variant, in order, what came of its alarms by name.

    Raises:
        DependencyError: a process ended before its time (killed, or out of memory).
    """
    found: list[dict[str, Tally]] = [{} for _ in bench.variants]
    done, total = 0, runs * len(found)
    on_runs(done, total)
    for (at, some), tallies in _all(bench, runs, workers):
        for name, tally in tallies.items():
            found[at][name] = found[at].get(name, Tally()) + tally
        done += some
        on_runs(done, total)
    return found


_Done = tuple[tuple[int, int], dict[str, Tally]]


def _all(bench: Bench, runs: int, workers: int) -> Iterator[_Done]:
    """Yield tasks with what came of them, in any order: a pool is kept a little ahead."""
    left = bench.tasks(runs)
    if workers == 1:
        trier = Trier(bench, NoiseSource())
        yield from ((task, trier.run(*task)) for task in left)
        return
    with _uninterrupted():
        pool = ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(bench,)
        )
    running: dict[Future[dict[str, Tally]], tuple[int, int]] = {}
    try:
        while True:
            for task in islice(left, _AHEAD * workers - len(running)):
                with _uninterrupted():
                    running[pool.submit(_run, *task)] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BrokenExecutor as error:
        raise DependencyError(
            "a process of the simulation was killed",
            hint="check memory; simulate fewer windows with --limit, or use fewer --workers",
        ) from error
    finally:
        with _uninterrupted():
            pool.shutdown(cancel_futures=True)


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


def _run(at: int, runs: int) -> dict[str, Tally]:
    return _WORKER["trier"].run(at, runs)
