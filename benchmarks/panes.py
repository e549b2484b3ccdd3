"""What a window over shared noisy panes takes: ``python -m benchmarks.panes``.

``--write`` puts the table into ``reports/panes.md``. Windows slide by a minute and are made of 60
panes, each of as many cells as the row says; a replay counts a file, draws and stores the panes,
and decides every window from them on a SQLite ledger whose commits are on the disk. Taken is one
decision: of a pane from its stored count to its commit, of a window from its stored panes to its
commit. *Kept* is what the ledger holds of the panes, *memory* the most that Python has at a time
beyond what it had before a window (``tracemalloc``, in a run of its own, as it slows all else).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import tracemalloc
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from benchmarks import report
from stream.decisions.judge import Judge
from tests.support.paned import alarm, configured, opened, replayed, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.records import StoredDecision
    from stream.model.queries import Query

__all__ = ["FIGURES", "lines", "main", "measured"]

REPORT = Path(__file__).parent / "reports" / "panes.md"
PANES = 60
CELLS = (100, 1_000, 10_000)
WINDOWS = 21
FIGURES = {
    "pane_cpu_ms": "a pane, processor, median ms",
    "window_cpu_ms": "a window, processor, median ms",
    "window_ms": "a window, median ms",
    "window_slowest_ms": "slowest ms",
    "kept_kib": "kept, KiB",
    "memory_kib": "memory of a window, KiB",
}


class Watch:
    """What decisions took, by kind."""

    def __init__(self, *, memory: bool) -> None:
        """Start with nothing seen."""
        self.cpu_ms: defaultdict[str, list[float]] = defaultdict(list)
        self.wall_ms: defaultdict[str, list[float]] = defaultdict(list)
        self.most_kib = 0.0
        self._memory = memory

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch the judge."""
        decide = Judge._decide  # noqa: SLF001  # one decision, and not the wait for it

        def timed(judge: Judge, query: Query) -> StoredDecision | None:
            before = 0
            if self._memory:
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
            cpu_s, wall_s = time.process_time(), time.perf_counter()
            found = decide(judge, query)
            if found is not None:
                kind = "window" if query.panes else "pane"
                self.cpu_ms[kind].append(1e3 * (time.process_time() - cpu_s))
                self.wall_ms[kind].append(1e3 * (time.perf_counter() - wall_s))
                if self._memory and query.panes:
                    peak = tracemalloc.get_traced_memory()[1]
                    self.most_kib = max(self.most_kib, (peak - before) / 1024)
            return found

        if self._memory:
            tracemalloc.start()
        try:
            with patch.object(Judge, "_decide", timed):
                yield
        finally:
            tracemalloc.stop()


def measured(cells: int, *, panes: int = PANES, windows: int = WINDOWS) -> dict[str, float]:
    """Return the figures of one size.

    Args:
        cells: predicates.
        panes: of a window.
        windows: that are decided.
    """
    watch, kept = _watched(cells, panes, windows, memory=False)
    spent = _watched(cells, panes, 2, memory=True)[0]
    return {
        "pane_cpu_ms": statistics.median(watch.cpu_ms["pane"]),
        "window_cpu_ms": statistics.median(watch.cpu_ms["window"]),
        "window_ms": statistics.median(watch.wall_ms["window"]),
        "window_slowest_ms": max(watch.wall_ms["window"]),
        "kept_kib": kept / 1024,
        "memory_kib": spent.most_kib,
    }


def _watched(cells: int, panes: int, windows: int, *, memory: bool) -> tuple[Watch, int]:
    """Replay, and return what it took and how many bytes the ledger keeps of panes."""
    minutes = panes + windows - 1
    window = f"HOP(ts, INTERVAL '1' MINUTE, INTERVAL '{panes}' MINUTE)"
    rooms = [f"r{at}" for at in range(cells)]
    with tempfile.TemporaryDirectory() as folder:
        alarms = configured(
            Path(folder),
            alarm("sliding", window, "COUNT(*) > 120", tolerance="20"),
            rooms=rooms,
            until=f"{minutes // 60:02d}:{minutes % 60:02d}",
        )
        events = rows(Path(folder), (1,) * minutes, rooms[:50])
        watch, (own,) = Watch(memory=memory), alarms.panes
        with opened(alarms) as ledger, watch.on():
            list(replayed(alarms, ledger, events))
            kept = sum(len(row.counts) for row in ledger.noisy.between(own, 0, 1 << 60))
    return watch, kept


def lines(found: dict[int, dict[str, float]]) -> Iterator[str]:
    """Yield the table: one row a number of cells."""
    yield f"| cells, {PANES} panes a window | {' | '.join(FIGURES.values())} |"
    yield f"|--:|{'--:|' * len(FIGURES)}"
    for cells, figures in found.items():
        yield f"| {cells:,} | {' | '.join(f'{figures[name]:,.1f}' for name in FIGURES)} |"


def main() -> None:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    options = parser.parse_args()
    note = report.machine()
    text = "\n".join(lines({cells: measured(cells) for cells in CELLS}))
    print(text)
    if options.write:
        REPORT.write_text(
            f"# Windows over shared noisy panes\n\n{note}\n\n"
            "`python -m benchmarks.panes --write`; the module's docstring says what is measured.\n"
            "The aim is a window of 10,000 cells and 60 panes in less than 50 ms. How much work\n"
            "there is, in calls, is held by `tests/unit/stream/decisions/test_pane_work.py`.\n\n"
            f"{text}\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
