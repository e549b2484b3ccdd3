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
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

from benchmarks import report
from benchmarks.papers.data import LOADERS
from benchmarks.papers.mide.study import RUNS
from benchmarks.papers.pqd import data as pqd_data
from benchmarks.papers.svt import data as svt_data

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE = Path(__file__).parent

_Loader: TypeAlias = "tuple[tuple[str, ...], object]"
"""The files of a data set, and the function that reads them."""


_REPORTS: Mapping[str, tuple[str, Mapping[str, _Loader]]] = {
    "mide": ("MIDE, Figures 6 to 8", LOADERS),
    "probe": ("ProBE, Figures 6 to 9", LOADERS),
    "onenoise": ("One noise for a whole condition, beside ProBE by name", {}),
    "averages": ("ProBE, Figure 10", LOADERS),
    "regime": ("MIDE and ProBE at the papers' scale", LOADERS),
    "svt": ("SVT-Exp, Table 5 and Figures 3 to 5, 7 and 8", svt_data.LOADERS),
    "pqd": ("DP-PQD, Figures 5 to 10", pqd_data.LOADERS),
}
"""By the folder that a report stands in, whose ``report.reproduced`` makes it."""
NAMES = tuple(_REPORTS)
"""What can be reproduced."""


def main() -> None:
    """Measure, print, and write the reports where asked."""
    parser = argparse.ArgumentParser(description="The papers' figures on other data.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all")
    parser.add_argument("--write", action="store_true", help="write reports and plots")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--data", type=Path, default=os.environ.get("TOCSIN_DATA"), metavar="PATH")
    options = parser.parse_args()
    for name in options.names:
        if name not in NAMES:
            parser.error(f"unknown name {name!r}; write some of: {', '.join(NAMES)}")
    if not _present(LOADERS, options.data):
        parser.error("no data found: name their folder with --data or TOCSIN_DATA")
    with TemporaryDirectory() as scratch:
        for name in options.names or NAMES:
            title, loaders = _REPORTS[name]
            note, began_s = report.machine(), time.perf_counter()
            folder = _HERE / name if options.write else Path(scratch)
            study = import_module(f"benchmarks.papers.{name}.report")
            body = "\n".join(study.reproduced(options.data, options.runs, folder))
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
