"""The aims for speed beside an earlier commit, in one run: ``python -m benchmarks.aims [PART...]``.

Counting from Kafka, beside the commit, aiokafka alone and librdkafka alone; two workers beside one;
1, 10 and 100 alarms on a feed; 1 and 200 alarms on a budget. What is compared is measured in turns.
``--write`` puts it into ``reports/aims.md``, with date, machine and versions.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import alarms, kafka_ingest, one_budget, workers
from benchmarks.checkouts import ROOT, checkout
from benchmarks.report import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

REPORT: Final = Path(__file__).parent / "reports" / "aims.md"

COMMIT: Final = "e49ed796"
"""The last one before the product was made a third smaller."""

NOT_SLOWER: Final = 0.95
"""A ratio that says so: the same tree beside itself lies within it."""

ROUNDS: Final = 3
ON_A_BUDGET: Final = (1, 200)
SLICES_OF_ONE: Final = 2  # of a round: counting from Kafka is measured in short ones
SEEN_ONCE: Final = ("statistics",)  # it has no aim
FLAT: Final = {
    ("thresholds", "event"): 1.2,
    ("thresholds", "user"): 1.2,
    ("filters", "event"): 1.6,
    ("filters", "user"): 2.5,
}
"""How many times the work of one alarm a hundred may take, by what they differ in and the unit."""


def ingest(commit: str, rounds: int) -> Iterator[str]:
    """Yield what counting from Kafka costs, a line at a time."""
    found = kafka_ingest.beside(commit, rounds=rounds * SLICES_OF_ONE)
    yield from kafka_ingest.table(found)
    yield ""
    yield (
        "A slice is the whole topic, read in a process of its own by the same settings from the "
        "same broker; all its threads and the kernel's work for it count. A ratio is the median "
        f"of those of {rounds * SLICES_OF_ONE} rounds, with the least and the greatest."
    )
    yield ""
    for codec, name in (("json", "JSON"), ("arrow", "Arrow")):
        ratios = kafka_ingest.to_ours(found[codec], commit)
        yield _aim(f"{name}, to {commit}", statistics.median(ratios), least=NOT_SLOWER)


def more_workers(commit: str, rounds: int) -> Iterator[str]:
    """Yield what a second worker brings; the commit had none to run."""
    del commit
    found = workers.beside(rounds=rounds)
    yield from workers.table(found)
    yield ""
    yield _aim("two workers to one", workers.ratio(found), least=1.7)


def many_alarms(commit: str, rounds: int) -> Iterator[str]:
    """Yield the rates for 1, 10 and 100 alarms on a feed."""
    with checkout(commit) as old:
        found = alarms.beside([ROOT, old], rounds=rounds, once=SEEN_ONCE)
    yield from alarms.table(found, ["now", commit])
    yield ""
    for (kind, unit), most in FLAT.items():
        one, *_, hundred = (found[f"{unit}_{kind}[{count}]"][0] for count in alarms.ALARMS)
        yield _aim(f"1 alarm to 100 that differ in {kind}, unit `{unit}`", one / hundred, most=most)


def on_a_budget(commit: str, rounds: int) -> Iterator[str]:
    """Yield what decisions and starts cost for 1 and 200 alarms on a budget."""
    with checkout(commit) as old:
        found = one_budget.beside([ROOT, old], rounds=rounds, numbers=ON_A_BUDGET)
    yield from one_budget.lines(found, ["now", commit], ON_A_BUDGET)
    yield ""
    for kind in one_budget.KINDS:
        one, most = (found[f"{kind}_{count}_alarms_decision_ms"][0] for count in ON_A_BUDGET)
        yield _aim(f"a decision of 200 alarms to one of 1, `{kind}`", most / one, most=1.5)


PARTS: Final[Mapping[str, tuple[str, Callable[[str, int], Iterator[str]]]]] = {
    "ingest": ("Kafka to counted windows", ingest),
    "workers": ("Workers under one command", more_workers),
    "alarms": ("Alarms on one feed", many_alarms),
    "budget": ("Alarms on one budget", on_a_budget),
}


def report(commit: str, parts: list[str], rounds: int) -> Iterator[str]:
    """Yield the report, a line at a time.

    Args:
        commit: the earlier one.
        parts: of ``PARTS``.
        rounds: how often each is measured.
    """
    yield f"# The aims for speed, beside {commit}\n"
    yield machine()
    for name in parts:
        title, measured = PARTS[name]
        before, began_s = os.getloadavg()[0], time.perf_counter()
        lines = list(measured(commit, rounds))
        took = f"{(time.perf_counter() - began_s) / 60:.0f} minutes"
        yield f"\n## {title}\n"
        yield (
            f"Load average {before:.1f} before, {os.getloadavg()[0]:.1f} after; {rounds} rounds, "
            f"in turns; {took}.\n"
        )
        yield from lines


def _aim(what: str, ratio: float, *, least: float = 0.0, most: float = float("inf")) -> str:
    """Say whether an aim is reached."""
    aim = f"at least {least}" if least else f"at most {most}"
    reached = "reached" if least <= ratio <= most else "**missed**"
    return f"- {what}: {ratio:.2f}; the aim is {aim}: {reached}."


def main() -> None:
    """Measure the parts that the command line names, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.aims", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; or all")
    parser.add_argument("--commit", default=COMMIT, help="an earlier commit to measure beside")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    options = parser.parse_args()
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown or (options.write and options.parts):
        parser.error(f"no part {unknown[0]!r}" if unknown else "--write takes a whole run")
    lines = []
    for line in report(options.commit, options.parts or list(PARTS), options.rounds):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        REPORT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
