"""Many seeds, side by side in processes, and the hunt for mutants."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.faults.mutants import MUTANTS, mutated
from tests.faults.scene import WINDOWS
from tests.faults.world import Outcome, simulate
from tests.support.schema import remember_the_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Found", "Total", "campaign", "first_violation", "hunt"]

_CHUNK: Final = 10


@dataclass
class Total:
    """What came of many seeds.

    Args:
        seeds: how many.
        happened: faults by kind.
        windows: published, by outcome.
        violations: by seed.
    """

    seeds: int = 0
    happened: Counter[str] = field(default_factory=Counter)
    windows: Counter[str] = field(default_factory=Counter)
    violations: dict[int, list[str]] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Take in what came of one seed."""
        self.seeds += 1
        self.happened += outcome.happened
        self.windows += outcome.windows
        if outcome.violations:
            self.violations[outcome.seed] = outcome.violations


@dataclass(frozen=True, slots=True)
class Found:
    """By which seed a mutant was found.

    Args:
        seed: the first one; ``None`` where none did.
        violation: what was seen then.
    """

    seed: int | None
    violation: str = ""


def campaign(seeds: Iterable[int]) -> Iterator[Outcome]:
    """Yield what came of every seed, in their order, from as many processes as there are cores."""
    with _processes() as pool:
        yield from pool.map(simulate, seeds, chunksize=_CHUNK)


def hunt(seeds: int) -> dict[str, Found]:
    """Return for every mutant the first seed below a number that finds it."""
    with _processes() as pool:
        found = pool.map(partial(_found, range(seeds)), MUTANTS)
        return dict(zip(MUTANTS, found, strict=True))


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


def _found(seeds: range, mutant: str) -> Found:
    outcome = first_violation(seeds, mutant)
    return Found(None) if outcome is None else Found(outcome.seed, outcome.violations[0])


def _processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(os.cpu_count(), initializer=remember_the_schema)
