"""What a core, a window's close, a ledger and a board carry, how it grows, and if that is foretold.

``python -m benchmarks.capacity --write`` puts tables and plots into
``docs/explanation/capacity.md``. The last size of each cost is foretold from those before it and is
then measured: the ratio is to lie within a quarter of one. What grows in proportion, and says so,
is foretold by the size before; all else by the line through the two sizes before, or, where there
is one, as unchanged. Processor time, each figure in a process of its own.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.units import PrivacyUnit
from benchmarks import alarms, board, closing, ledger_age, one_budget
from benchmarks.checkouts import ROOT
from benchmarks.papers.pages import save, table
from benchmarks.report import machine, replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

PAGE: Final = ROOT / "docs" / "explanation" / "capacity.md"
IMAGE: Final = ROOT / "docs" / "images" / "capacity.png"
EVENTS: Final = (100_000, 200_000, 400_000)
GROUPS: Final = (1_250, 2_500, 5_000, 10_000)
FEW_GROUPS: Final = (1_250, 5_000, 10_000)  # of a close, which takes longer
ALARMS: Final = (25, 50, 100, 200)
PARTITIONS: Final = (1, 2, 4)
MINUTES: Final = (8, 1)
AGES: Final = (20_000, 200_000)
TARGET: Final = (ALARMS[-1], GROUPS[-1], PARTITIONS[-1])
PAYERS: Final = ("worker", "database")
TAKERS: Final = (*PAYERS, "broker")  # whose own warming up is no cost of a window's
ROUNDS: Final = 2
WITHIN: Final = 0.25
_BEGIN: Final = "<!-- figures: `python -m benchmarks.capacity --write` writes from here -->"


class Growth(NamedTuple):
    """What was measured of one cost.

    Args:
        what: with its unit.
        by: what it grows with.
        costs: by size, in ascending order.
        proportional: whether it grows as its size does.
    """

    what: str
    by: str
    costs: dict[int, float]
    proportional: bool = False

    @property
    def foretold(self) -> float:
        """The last cost, from those before it."""
        *sizes, last = self.costs
        known = self.costs[sizes[-1]]
        if len(sizes) > 1 and not self.proportional:
            per_one = (known - self.costs[sizes[-2]]) / (sizes[-1] - sizes[-2])
            return known + per_one * (last - sizes[-1])
        return known * last / sizes[-1] if self.proportional else known

    @property
    def ratio(self) -> float:
        """What was measured to what was foretold."""
        return [*self.costs.values()][-1] / self.foretold


def growths() -> Iterator[Growth]:
    """Measure one cost after the other."""

    def counted(count: int, rooms: int = alarms.ROOMS, events: int = alarms.EVENTS) -> float:
        return 1e9 / _rate(count, rooms, events)

    def decided(minutes: int) -> float:
        tries = (one_budget.measured(ROOT, "user", 1, minutes) for _ in range(ROUNDS))
        return min(one["decision_ms"] for one in tries)

    def closed(count: int, rooms: int, partitions: int) -> float:
        found = closing.measured(count, rooms, partitions)
        return sum(found[f"{stage} {taker}"] for stage in closing.STAGES for taker in PAYERS)

    yield Growth("counting, ms", "events", {n: n * counted(1, events=n) / 1e6 for n in EVENTS})
    yield Growth("counting, ns an event", "groups", {n: counted(1, n) for n in GROUPS})
    yield Growth("counting, ns an event", "alarms", {n: counted(n) for n in ALARMS})
    yield Growth(
        "a decision, ms", "windows of a period", {one_budget.DAY // n: decided(n) for n in MINUTES}
    )
    many, rooms, partitions = TARGET
    half = many // 2
    by_alarms = {n: closed(n, rooms, partitions) for n in ALARMS[1:]}
    yield Growth("a close, ms", "alarms", by_alarms, proportional=True)
    yield Growth(
        "a close, ms",
        f"groups of {half} alarms",
        {n: closed(half, n, partitions) for n in FEW_GROUPS},
    )
    yield Growth(
        "a close, ms", f"partitions, {half} alarms", {n: closed(half, rooms, n) for n in PARTITIONS}
    )
    runs = ledger_age.run(AGES, [PrivacyUnit.USER], ["postgresql"])
    aged = [{one.name: one.cpu or 0.0 for one in figures} for _, _, figures in runs]
    spent = [each["admit_p50_ms"] + each["decide_p50_ms"] for each in aged]
    yield Growth(
        "admission and settlement, ms", "charges in the ledger", dict(zip(AGES, spent, strict=True))
    )
    yield Growth(
        "`verify`, s",
        "charges in the ledger",
        dict(zip(AGES, (each["verify_s"] for each in aged), strict=True)),
        proportional=True,
    )
    yield Growth(
        "a page of the board, ms",
        "alarms, fifty groups to each",
        {n: board.measured(n, rooms * n // many)["page_ms"] for n in (half, many)},
    )


def _rate(count: int, rooms: int, events: int, codec: str = "json") -> float:
    return max(
        alarms.rate_of(ROOT, "user", "thresholds", count, codec, rooms, events)
        for _ in range(ROUNDS)
    )


def carried() -> Iterator[str]:
    """Yield what a core, a close and a board carry, a line at a time."""
    many, rooms, partitions = TARGET
    closed, shown = closing.measured(*TARGET), board.measured(many, rooms)
    json, arrow = (_rate(1, rooms, EVENTS[-1], codec) for codec in ("json", "arrow"))
    yield f"\nOne core, {rooms:,} groups, in memory:\n"
    yield from table(
        ("counting", "events/s"), [("JSON", f"{json:,.0f}"), ("Arrow", f"{arrow:,.0f}")]
    )
    yield f"""
Closing a window of {many} alarms of {rooms:,} groups over {partitions} partitions:
"""
    stages = {stage: [closed[f"{stage} {taker}"] for taker in TAKERS] for stage in closing.STAGES}
    stages["all"] = [sum(each) for each in zip(*stages.values(), strict=True)]
    stages["of `decide`, under the ledger's lock"] = [closed["decide locked"]]
    yield from table(
        ("stage, ms", *TAKERS),
        ((name, *(f"{ms:,.0f}" for ms in taken)) for name, taken in stages.items()),
    )
    yield f"\nThe board, {many} alarms of {rooms:,} groups, {board.FIRING} firing:\n"
    yield from table(
        ("processor time", "measured"),
        ((f"`{name}`", f"{value:,.2f}") for name, value in shown.items()),
    )


def lines(found: Iterable[Growth]) -> Iterator[str]:
    """Yield the section of the page, a line at a time."""
    yield f"{machine()}\n"
    yield from table(
        ("cost", "by", "measured", "predicted", "ratio"),
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
    from matplotlib.figure import Figure  # noqa: PLC0415  # takes a second

    figure = Figure(figsize=(13, 2.6 * -(-len(found) // 4)), layout="constrained")
    for at, one in enumerate(found):
        axis = figure.add_subplot(-(-len(found) // 4), 4, at + 1)
        axis.plot([*one.costs], [*one.costs.values()], marker="o")
        axis.plot([*one.costs][-1], one.foretold, marker="x", color="red", linestyle="")
        axis.set(title=one.what, xlabel=one.by)
        axis.set_ylim(bottom=0)
    save(figure, path)


def main() -> None:
    """Measure, print, and write page and plots where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    found = []
    for one in growths():
        print(one, f"{one.ratio:.2f}", flush=True)
        found.append(one)
    section = "\n".join([*lines(found), *carried()])
    print(section)
    if options.write:
        draw(found)
        text = replaced(PAGE.read_text(encoding="utf-8"), section, _BEGIN)
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
