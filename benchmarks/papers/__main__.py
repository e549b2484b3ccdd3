"""Reproduce the papers' figures: ``python -m benchmarks.papers``.

The data are read from the folder that ``--data`` or ``TOCSIN_DATA`` names; what is absent is left
out. ``--write`` replaces each paper's report and its plots beside the code that makes them. The
numbers in their text are those just measured; the words are ours, and want reading again when the
numbers move.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from benchmarks import report
from benchmarks.papers.averages import report as averages_report
from benchmarks.papers.averages import study as averages
from benchmarks.papers.data import LOADERS, load
from benchmarks.papers.mide import report as mide_report
from benchmarks.papers.mide import study as mide
from benchmarks.papers.onenoise import study as onenoise
from benchmarks.papers.pqd import data as pqd_data
from benchmarks.papers.pqd import run as pqd_run
from benchmarks.papers.probe import report as probe_report
from benchmarks.papers.probe import study as probe
from benchmarks.papers.regime import report as regime_report
from benchmarks.papers.regime import study as regime
from benchmarks.papers.svt import data as svt_data
from benchmarks.papers.svt import report as svt_report
from benchmarks.papers.svt import study as svt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["NAMES", "main"]

_HERE = Path(__file__).parent

_Loader: TypeAlias = "tuple[tuple[str, ...], object]"
"""The files of a data set, and the function that reads them."""


def _mide(source: Path, runs: int, folder: Path) -> Iterator[str]:
    data = load(source)
    found = mide.by_query(data, runs)
    varied = mide.by_tolerance(data["taxi"], runs) if "taxi" in data else {}
    return mide_report.lines_of(data, found, varied, folder)


def _probe(source: Path, runs: int, folder: Path) -> Iterator[str]:
    data = load(source)
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


def _onenoise(_source: Path, _runs: int, _folder: Path) -> Iterator[str]:
    return onenoise.lines_of(onenoise.measured())


def _averages(source: Path, runs: int, folder: Path) -> Iterator[str]:
    data = load(source)
    found = averages.scenes(data)
    return averages_report.lines_of(data, found, averages.by_size(found, runs), folder)


def _regime(source: Path, runs: int, folder: Path) -> Iterator[str]:
    data = load(source)
    cases = list(
        regime.scenes(regime.grown({name: data[name] for name in data if name != "retail"}))
    )
    last = cases[-1]
    found = regime_report.Found(
        cases,
        regime.by_query(cases, runs),
        regime.by_tolerance(last, runs),
        regime.by_last_tolerance(data, runs),
    )
    return regime_report.lines_of(found, folder)


def _svt(source: Path, runs: int, folder: Path) -> Iterator[str]:
    data, rng = svt_data.load(source), np.random.default_rng()
    return svt_report.lines_of(data, svt.measured(data, runs, rng), folder)


_REPORTS: Mapping[
    str, tuple[str, Callable[[Path, int, Path], Iterator[str]], Mapping[str, _Loader]]
] = {
    "mide": ("MIDE, Figures 6 to 8", _mide, LOADERS),
    "probe": ("ProBE, Figures 6 to 9", _probe, LOADERS),
    "onenoise": ("One noise for a whole condition, beside ProBE by name", _onenoise, {}),
    "averages": ("ProBE, Figure 10", _averages, LOADERS),
    "regime": ("MIDE and ProBE at the papers' scale", _regime, LOADERS),
    "svt": ("SVT-Exp, Table 5 and Figures 3 to 5, 7 and 8", _svt, svt_data.LOADERS),
    "pqd": ("DP-PQD, Figures 5 to 10", pqd_run.reproduced, pqd_data.LOADERS),
}
NAMES = tuple(_REPORTS)
"""What can be reproduced."""


def main() -> None:
    """Measure, print, and write the reports where asked."""
    parser = argparse.ArgumentParser(description="The papers' figures on other data.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all")
    parser.add_argument("--write", action="store_true", help="write reports and plots")
    parser.add_argument("--runs", type=int, default=mide.RUNS)
    parser.add_argument("--data", type=Path, default=os.environ.get("TOCSIN_DATA"), metavar="PATH")
    options = parser.parse_args()
    for name in options.names:
        if name not in NAMES:
            parser.error(f"unknown name {name!r}; write some of: {', '.join(NAMES)}")
    if not _present(LOADERS, options.data):
        parser.error("no data found: name their folder with --data or TOCSIN_DATA")
    with TemporaryDirectory() as scratch:
        for name in options.names or NAMES:
            title, lines, loaders = _REPORTS[name]
            note, began_s = report.machine(), time.perf_counter()
            folder = _HERE / name if options.write else Path(scratch)
            body = "\n".join(lines(options.data, options.runs, folder))
            head = _head(options.runs, time.perf_counter() - began_s, loaders, options.data)
            other = ", on other data" if loaders else ""
            text = f"# {title}{other}\n\n{note}\n\n{head}\n\n{body.rstrip()}\n"
            print(text)
            if options.write:
                (folder / "README.md").write_text(text, encoding="utf-8")


def _present(loaders: Mapping[str, _Loader], source: Path | None) -> list[str]:
    return [
        name
        for name, (files, _) in loaders.items()
        if source is not None and all((source / each).is_file() for each in files)
    ]


def _head(runs: int, spent_s: float, loaders: Mapping[str, _Loader], source: Path) -> str:
    if not loaders:
        return f"`python -m benchmarks.papers --write`: one replay, in {spent_s:.0f} s."
    present = _present(loaders, source)
    absent = ", ".join(name for name in loaders if name not in present)
    found = ", ".join(present)
    return (
        f"`python -m benchmarks.papers --write`: {runs} runs of each mechanism on each query,"
        f" in {spent_s:.0f} s."
        f" Data: {found}{f'; absent, left out: {absent}' if absent else ''}."
    )


if __name__ == "__main__":
    main()
