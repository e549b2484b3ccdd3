"""Reproduce MIDE's and ProBE's figures: ``python -m benchmarks.papers``.

The data are read from the folder that ``--data`` or ``TOCSIN_DATA`` names; what is absent is left
out. ``--write`` replaces the reports and their plots in this folder. The numbers in their text are
those just measured; the words are ours, and want reading again when the numbers move.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.papers import mide, mide_report, probe, probe_report
from benchmarks.papers.data import LOADERS, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.papers.data import Events

__all__ = ["NAMES", "main"]

_HERE = Path(__file__).parent


def _mide(data: Mapping[str, Events], runs: int, folder: Path) -> Iterator[str]:
    found = mide.by_query(data, runs)
    varied = mide.by_tolerance(data["taxi"], runs) if "taxi" in data else {}
    return mide_report.lines_of(data, found, varied, folder)


def _probe(data: Mapping[str, Events], runs: int, folder: Path) -> Iterator[str]:
    workers = os.cpu_count() or 1
    sizes = probe.by_size(data, runs, workers=workers)
    retail: tuple[probe.Results, probe.Results] = ({}, {})
    taxi: tuple[probe.Results, probe.Results] = ({}, {})
    if "retail" in data:
        shop = data["retail"]
        retail = (
            probe.by_naive_tolerance(shop, runs, workers=workers),
            probe.by_tree(shop, runs, workers=workers),
        )
    if "taxi" in data:
        taxi = probe.by_bound(data["taxi"], runs, workers=workers)
    return probe_report.lines_of(data, sizes, retail, taxi, folder)


_REPORTS: Mapping[str, tuple[str, Callable[[Mapping[str, Events], int, Path], Iterator[str]]]] = {
    "mide": ("MIDE, Figures 6 to 8", _mide),
    "probe": ("ProBE, Figures 6 to 9", _probe),
}
NAMES = tuple(_REPORTS)
"""What can be reproduced."""


def main() -> None:
    """Measure, print, and write the reports where asked."""
    parser = argparse.ArgumentParser(description="MIDE's and ProBE's figures on other data.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all")
    parser.add_argument("--write", action="store_true", help="write reports and plots")
    parser.add_argument("--runs", type=int, default=mide.RUNS)
    parser.add_argument("--data", type=Path, default=os.environ.get("TOCSIN_DATA"), metavar="PATH")
    options = parser.parse_args()
    for name in options.names:
        if name not in NAMES:
            parser.error(f"unknown name {name!r}; write some of: {', '.join(NAMES)}")
    data = load(options.data)
    if not data:
        parser.error("no data found: name their folder with --data or TOCSIN_DATA")
    with TemporaryDirectory() as scratch:
        for name in options.names or NAMES:
            title, lines = _REPORTS[name]
            note, began_s = report.machine(), time.perf_counter()
            folder = _HERE if options.write else Path(scratch)
            body = "\n".join(lines(data, options.runs, folder))
            head = _head(options.runs, time.perf_counter() - began_s, data)
            text = f"# {title}, on other data\n\n{note}\n\n{head}\n\n{body.rstrip()}\n"
            print(text)
            if options.write:
                (_HERE / f"{name}.md").write_text(text, encoding="utf-8")


def _head(runs: int, spent_s: float, data: Mapping[str, Events]) -> str:
    absent = ", ".join(name for name in LOADERS if name not in data)
    found = ", ".join(data)
    return (
        f"`python -m benchmarks.papers --write`: {runs} runs of each mechanism on each query, in"
        f" {spent_s:.0f} s. Data: {found}{f'; absent, left out: {absent}' if absent else ''}."
    )


if __name__ == "__main__":
    main()
