"""Many seeds, side by side in processes, and the hunt for mutants."""

from __future__ import annotations

import gc
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from multiprocessing import SimpleQueue
from typing import TYPE_CHECKING

from tests.faults.mutants import MUTANTS, mutated
from tests.faults.scene import WINDOWS
from tests.faults.world import Outcome, simulate
from tests.support.schema import remember_the_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CHUNK = 10


def campaign(seeds: Iterable[int]) -> Iterator[Outcome]:
    """Yield what came of every seed, in their order, from as many processes as there are cores."""
    with _processes() as pool:
        yield from pool.map(simulate, seeds, chunksize=_CHUNK)


def hunt(seeds: int) -> Iterator[tuple[str, Outcome | None]]:
    """Yield mutants, each with the first seed below a number that finds it, as they are found."""
    with _processes() as pool:
        hunts = {pool.submit(first_violation, range(seeds), each): each for each in MUTANTS}
        for done in as_completed(hunts):
            yield hunts[done], done.result()


def first_violation(
    seeds: Iterable[int], mutant: str | None = None, *, windows: int = WINDOWS
) -> Outcome | None:
    """Return what came of the first seed at which something must not have been.

    Args:
        seeds: to try.
        mutant: how the real code is broken meanwhile.
        windows: as for ``simulate``.
    """
    with nullcontext() if mutant is None else mutated(mutant):
        outcomes = (simulate(seed, windows=windows) for seed in seeds)
        return next((one for one in outcomes if one.violations), None)


def _processes():
    cores = SimpleQueue()
    allowed = sorted(os.sched_getaffinity(0))
    for core in allowed:
        cores.put(core)
    return ProcessPoolExecutor(len(allowed), initializer=_begin, initargs=(cores,))


def _begin(cores):
    """Make ready for many seeds, on a core of its own: one thread at a time has work."""
    os.sched_setaffinity(0, {cores.get()})
    remember_the_schema()
    gc.freeze()  # what is there already is not looked through for each seed again
