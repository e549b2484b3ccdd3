"""The reproduction of DP-PQD from end to end: rows, copies, errors, times, report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.papers.pqd.data import FILE, load
from benchmarks.papers.pqd.report import lines_of
from benchmarks.papers.pqd.study import COPIES, measured
from benchmarks.papers.pqd.synthetic import synthetic
from operators.noise.source import KeyedNoise

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["reproduced"]

_KEY: Final = b"tocsin"
_SEED: Final = 1


def reproduced(source: Path, runs: int, folder: Path) -> Iterator[str]:
    """Yield the report's lines, and write its plots.

    Args:
        source: where the data are; without Adult there is nothing to report.
        runs: of each decider at each point.
        folder: where the plots go.
    """
    if not (source / FILE).is_file():
        yield "Adult is absent: nothing was measured."
        return
    private = load(source)
    rows = {copies: private.times(copies) for copies in COPIES}
    synthesised = {
        copies: synthetic(table, KeyedNoise(_KEY), _SEED) for copies, table in rows.items()
    }
    found = measured(private, synthesised, runs)
    yield from lines_of(found, runs, folder)
