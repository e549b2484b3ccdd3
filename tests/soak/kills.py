"""What one fault leaves behind, again and again: twenty kills of the broker under two workers.

``python -m tests.soak.kills [FOLDER] [--write]``; a folder that was kept is judged again. A soak
judges what a fault adds on the average of three or four; whether that ends, it cannot tell.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from tests.soak.growth import MOST_GAINED, mebibytes
from tests.soak.run import run_soak
from tests.soak.timetable import KILLS
from tests.soak.verdict import Soaked
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["levels"]

REPORT: Final = ROOT / "benchmarks" / "reports" / "soak-kills.md"
_SETTLING_MS: Final = 8_000


def levels(soaked: Soaked) -> dict[tuple[int, str], list[float]]:
    """Return medians between faults, by worker and measure, of workers that outlived them all."""
    faults = [(one["at_ms"], one["back_ms"]) for one in soaked.lines("faults")]
    ends_ms = [at_ms for at_ms, _ in faults[1:]] + [soaked.about["load_ended_ms"]]
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    lives: dict[tuple[int, int], list[dict[str, int]]] = defaultdict(list)
    for one in soaked.lines("samples"):
        if one["what"] == "process":
            lives[one["worker"], one["pid"]].append(one)
    for (worker, _), life in lives.items():
        for (_, back_ms), end_ms in zip(faults, ends_ms, strict=True):
            between = [one for one in life if back_ms + _SETTLING_MS <= one["at_ms"] < end_ms]
            for what in MOST_GAINED if between else ():
                found[worker, what].append(median(one[what] for one in between))
    return {place: each for place, each in found.items() if len(each) == len(faults)}


def _page(soaked: Soaked) -> Iterator[str]:
    faults = len(KILLS.faults)
    yield f"# {faults} kills of the broker\n"
    yield f"`python -m tests.soak.kills`. {soaked.about['machine']}\n"
    yield (
        f"kill -9 of the broker every 30 s under two workers and {KILLS.events_per_s} events/s;\n"
        "medians between two kills, of workers that outlived all of them.\n"
    )
    yield "| worker | measure | after the 1st | 5th | 10th | 15th | 20th |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for (worker, what), each in sorted(levels(soaked).items()):
        shown = [each[at] for at in (0, 4, 9, 14, 19)]
        yield f"| {worker} | {what} | {' | '.join(_texts(what, shown))} |"


def _texts(what: str, shown: Sequence[float]) -> list[str]:
    return [f"{mebibytes(one)} MiB" if what == "rss" else f"{one:.0f}" for one in shown]


def main() -> None:
    """Run it, or judge what was kept."""
    folders = [Path(one) for one in sys.argv[1:] if not one.startswith("--")]
    if not folders:
        folders = [ROOT / ".cache" / "soak" / f"kills-{datetime.now(UTC):%Y%m%dT%H%M%S}"]
        run_soak(KILLS, folders[0])
    text = "\n".join([*_page(Soaked(folders[0])), ""])
    print(text)
    if "--write" in sys.argv:
        REPORT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
