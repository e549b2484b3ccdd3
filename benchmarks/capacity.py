"""How cost grows with groups, alarms and age, and whether that can be foretold.

``python -m benchmarks.capacity --write`` puts the table and the plots into
``docs/explanation/capacity.md``. A size is foretold by a straight line through the two sizes before
it, each half of the next, and is then measured: the ratio is to lie within a quarter of one. A
tenth of the age foretells that age costs nothing. Processor time, each figure in a process of its
own: counting of JSON messages in memory, and decisions over a SQLite ledger on the disk.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.units import PrivacyUnit
from benchmarks import alarms, ledger_age, one_budget
from benchmarks.checkouts import ROOT
from benchmarks.papers.pages import table
from benchmarks.report import machine, replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["PAGE", "Growth", "growths", "lines", "main"]

PAGE: Final = ROOT / "docs" / "explanation" / "capacity.md"
IMAGE: Final = ROOT / "docs" / "images" / "capacity.png"
GROUPS: Final = (1_250, 2_500, 5_000, 10_000)
ALARMS: Final = (25, 50, 100, 200)
AGES: Final = (20_000, 200_000)
GROUPS_OF_MANY: Final = 1_000
ALARMS_OF_MANY: Final = 10
ROUNDS: Final = 3
WITHIN: Final = 0.25
_BEGIN: Final = "<!-- figures: `python -m benchmarks.capacity --write` writes from here -->"


class Growth(NamedTuple):
    """What was measured of one cost.

    Args:
        what: with its unit.
        by: what it grows with.
        costs: by size, in ascending order.
    """

    what: str
    by: str
    costs: dict[int, float]

    @property
    def foretold(self) -> float:
        """The last cost, from those before it: on their line, or the same where there is one."""
        known = [*self.costs.values()][:-1]
        return known[-1] + (2 * (known[-1] - known[-2]) if len(known) > 1 else 0.0)

    @property
    def ratio(self) -> float:
        """What was measured to what was foretold."""
        return [*self.costs.values()][-1] / self.foretold


def growths() -> Iterator[Growth]:
    """Measure one cost after the other."""

    def counted(count: int, rooms: int) -> float:
        return 1e9 / max(
            alarms.rate_of(ROOT, "user", "thresholds", count, rooms) for _ in range(ROUNDS)
        )

    def decided(figure: str, count: int, rooms: int) -> float:
        tries = (one_budget.measured(ROOT, "user", count, rooms) for _ in range(ROUNDS))
        return min(each[figure] for each in tries)

    yield Growth("counting, ns an event", "groups", {n: counted(1, n) for n in GROUPS})
    yield Growth("counting, ns an event", "alarms", {n: counted(n, alarms.ROOMS) for n in ALARMS})
    for figure, what in (
        ("decision_ms", "a window's decision, ms"),
        ("first_start_ms", "start, ms"),
    ):
        by_groups = {n: decided(figure, ALARMS_OF_MANY, n) for n in GROUPS}
        yield Growth(what, f"groups of each of {ALARMS_OF_MANY} alarms", by_groups)
        by_alarms = {n: decided(figure, n, GROUPS_OF_MANY) for n in ALARMS}
        yield Growth(what, f"alarms of {GROUPS_OF_MANY:,} groups", by_alarms)
    runs = ledger_age.run(AGES, [PrivacyUnit.USER], ["sqlite"])
    aged = [{one.name: one.cpu or 0.0 for one in figures} for _, _, figures in runs]
    for name, what in (("admit_p50_ms", "admission, ms"), ("decide_p50_ms", "settlement, ms")):
        yield Growth(
            what, "age, in charges", dict(zip(AGES, (each[name] for each in aged), strict=True))
        )


def lines(found: Iterable[Growth]) -> Iterator[str]:
    """Yield the section of the page, a line at a time."""
    yield f"{machine()}\n"
    yield from table(
        ("cost", "by", "measured", "foretold", "ratio"),
        (
            (
                one.what,
                one.by,
                ", ".join(f"{size:,}: {cost:,.2f}" for size, cost in one.costs.items()),
                f"{one.foretold:,.2f}",
                f"{one.ratio:.2f}" + ("" if abs(one.ratio - 1) <= WITHIN else " (**missed**)"),
            )
            for one in found
        ),
    )


def draw(found: Sequence[Growth], path: Path = IMAGE) -> None:
    """Draw each cost over its sizes, and what was foretold of the last."""
    from matplotlib import pyplot as plt  # noqa: PLC0415  # takes a second

    figure, axes = plt.subplots(2, (len(found) + 1) // 2, figsize=(16, 6), layout="constrained")
    for axis, one in zip(axes.flat, found, strict=False):
        axis.plot(one.costs.keys(), one.costs.values(), marker="o")
        axis.plot([*one.costs][-1], one.foretold, marker="x", color="red", linestyle="")
        axis.set(title=one.what, xlabel=one.by)
        axis.set_ylim(bottom=0)
    figure.savefig(path, dpi=80)


def main() -> None:
    """Measure, print, and write page and plots where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    found = []
    for one in growths():
        print(one, f"{one.ratio:.2f}", flush=True)
        found.append(one)
    if options.write:
        draw(found)
        text = replaced(PAGE.read_text(encoding="utf-8"), "\n".join(lines(found)), _BEGIN)
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
