"""Maximum overlap beside DSatur and the plain sum: ``python -m benchmarks.overlap``.

``--write`` puts the table into ``reports/overlap.md`` and the plot beside it. The queries are
those of Parallel Composition, sections 7.1 and 7.2, drawn from fixed seeds:

- *census*: income in (0, i) for one of 5,000 ends i; age (5 values), marital status (4), race (7)
  and gender (2) each one value or all, all choices equally likely. The paper's own workload.
- *census, ranges*: the same, with income between two of the ends and, for the other attributes,
  a random set of values; with weights, epsilons of 0.1 to 1.0 in tenths.
- *uniform*: 10 attributes; a query asks for 1 to 10 of them, and for 1 to all values of each, every
  number and choice equally likely. The paper has attributes of 10 to 10**6 values; here 10, 100 or
  1,000, since each query lists its values. *uniform, ranges* has neighbouring values instead, of
  10 to 10**6.

DSatur is that of ``networkx``, as in the paper, on the graph of regions that share a row; with
weights, a colour costs as much as the dearest region in it. It runs in a process of its own, which
is stopped at the paper's limit of 60 s; our own colouring then stands in for its bound.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accountant.loss.maxoverlap import maximum_overlap, utility_gain
from accountant.loss.maxoverlap.classes import Classes
from accountant.loss.maxoverlap.colouring import colouring_bound
from accountant.regions.regions import Region
from benchmarks import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from networkx import Graph
    from numpy.random import Generator

__all__ = ["census", "graph_of", "main", "run", "uniform"]

INCOMES, INCOME_STEP = 5_000, 150
CENSUS = {"age": 5, "marital": 4, "race": 7, "gender": 2}
ATTRIBUTES = 10
WORK_LIMIT = 2_000_000_000
DSATUR_LIMIT_S = 60.0
REPORT = Path(__file__).parent / "reports" / "overlap.md"
PLOT = Path(__file__).parent / "reports" / "overlap.png"


@dataclass(frozen=True, slots=True)
class Measured:
    """One workload, bounded three ways.

    Args:
        name: of the workload.
        queries: how many.
        plain: sum of all weights.
        dsatur: the bound of networkx's colouring, or of ours where that one was stopped.
        dsatur_s: the time of networkx, with the graph.
        value: the loss of the worst row found.
        upper: our bound.
        upper_s: our time.
        gain: our utility gain.
    """

    name: str
    queries: int
    plain: float
    dsatur: float
    dsatur_s: float
    value: float
    upper: float
    upper_s: float
    gain: float


def census(rng: Generator, queries: int, *, ranges: bool = False) -> list[Region]:
    """Return the paper's census queries; with ranges, wider and narrower ones of every kind."""
    regions = []
    for _ in range(queries):
        low, high = 0, int(rng.integers(1, INCOMES + 1))
        if ranges:
            low, high = sorted(rng.choice(INCOMES + 1, 2, replace=False).tolist())
        conditions: dict[str, object] = {"income": (low * INCOME_STEP, high * INCOME_STEP)}
        for name, values in CENSUS.items():
            if ranges:
                size = rng.integers(1, values + 1)
                conditions[name] = rng.choice(values, size, replace=False).tolist()
            elif (value := int(rng.integers(values + 1))) < values:
                conditions[name] = value
        regions.append(Region.of(conditions))
    return regions


def uniform(
    rng: Generator, queries: int, *, ranges: bool = False, attributes: int = ATTRIBUTES
) -> list[Region]:
    """Return the paper's uniform queries, over ten attributes; with ranges, of neighbours."""
    sizes = 10 ** rng.integers(1, 7 if ranges else 4, attributes)
    regions = []
    for _ in range(queries):
        chosen = rng.choice(attributes, rng.integers(1, attributes + 1), replace=False)
        conditions: dict[str, object] = {}
        for at in chosen.tolist():
            count = int(rng.integers(1, sizes[at] + 1))
            if ranges:
                low = int(rng.integers(0, sizes[at] - count + 1))
                conditions[f"a{at}"] = (low, low + count)
            else:
                conditions[f"a{at}"] = rng.choice(int(sizes[at]), count, replace=False).tolist()
        regions.append(Region.of(conditions))
    return regions


def run(work_limit: int = WORK_LIMIT) -> dict[str, float]:
    """Return bounds, seconds and gains by workload."""
    results: dict[str, float] = {}
    for each in _measured(work_limit):
        label = f"{each.name}_{each.queries}".replace(", ", "_").replace(" ", "_")
        for key in ("dsatur", "dsatur_s", "value", "upper", "upper_s", "gain"):
            results[f"{label}.{key}"] = getattr(each, key)
    return results


def _measured(work_limit: int) -> Iterator[Measured]:
    workloads: list[tuple[str, Callable[[Generator, int], list[Region]], tuple[int, ...]]] = [
        ("census", census, (100, 500, 1_000, 2_000)),
        ("census, ranges", lambda rng, many: census(rng, many, ranges=True), (500, 2_000)),
        ("census, ranges, weights", lambda rng, many: census(rng, many, ranges=True), (500, 2_000)),
        ("uniform", uniform, (100, 350, 1_000)),
        ("uniform, ranges", lambda rng, many: uniform(rng, many, ranges=True), (100, 350, 1_000)),
    ]
    for name, draw, sizes in workloads:
        for size in sizes:
            rng = np.random.default_rng(size)
            regions = draw(rng, size)
            weights = [Fraction(1)] * size
            if name.endswith("weights"):
                weights = [Fraction(int(each), 10) for each in rng.integers(1, 11, size)]
            dsatur, dsatur_s = _dsatur_in_time(regions, weights)
            began_s = time.perf_counter()
            found = maximum_overlap(regions, weights, work_limit=work_limit)
            upper_s = time.perf_counter() - began_s
            yield Measured(
                name,
                size,
                float(found.plain),
                float(dsatur),
                dsatur_s,
                float(found.value),
                float(found.upper_bound),
                upper_s,
                float(utility_gain(found)),
            )


def _dsatur_in_time(regions: list[Region], weights: list[Fraction]) -> tuple[Fraction, float]:
    """Return the bound of networkx and its seconds, or ours and the limit."""
    began_s = time.perf_counter()
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_dsatur, args=(regions, weights, theirs))
    process.start()
    if ours.poll(DSATUR_LIMIT_S):
        bound: Fraction = ours.recv()
        process.join()
        return bound, time.perf_counter() - began_s
    process.kill()
    process.join()
    tenths = [int(10 * weight) for weight in weights]
    return Fraction(colouring_bound(regions, tenths), 10), DSATUR_LIMIT_S


def graph_of(regions: list[Region]) -> Graph[int]:
    """Return the graph of regions that share a row."""
    from networkx import Graph  # noqa: PLC0415  # only the comparisons need it

    graph: Graph[int] = Graph()
    graph.add_nodes_from(range(len(regions)))
    for at, others in enumerate(Classes(regions).neighbours):
        graph.add_edges_from((at, each) for each in others.nonzero()[0].tolist() if each != at)
    return graph


def _dsatur(regions: list[Region], weights: list[Fraction], answer: Connection) -> None:
    from networkx import greedy_color  # noqa: PLC0415  # as above

    dearest: dict[int, Fraction] = {}
    for at, colour in greedy_color(graph_of(regions), strategy="DSATUR").items():
        dearest[colour] = max(dearest.get(colour, Fraction(0)), weights[at])
    answer.send(sum(dearest.values(), Fraction(0)))


def _row(each: Measured) -> str:
    stopped = each.dsatur_s >= DSATUR_LIMIT_S
    exact = "exact" if each.value == each.upper else f"{each.value:g}"
    return (
        f"| {each.name} | {each.queries:,} | {each.plain:g} | {each.dsatur:g}{' *' * stopped} | "
        f"{'stopped' if stopped else f'{each.dsatur_s:.1f}'} | {each.upper:g} | {exact} | "
        f"{each.upper_s:.1f} | "
        f"{1 - each.dsatur / each.plain:.1%} | {each.gain:.1%} |"
    )


_HEADER = """\
| workload | queries | plain sum | DSatur | s | bound | worst row | s | gain, DSatur | gain |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


def _write(measured: list[Measured], note: str, work_limit: int) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  # only a written report needs it

    lines = [
        "# Maximum overlap",
        "",
        note,
        "",
        "`python -m benchmarks.overlap --write` bounds what the worst row loses to random queries,",
        f"within {work_limit:,} steps each, beside DSatur (networkx) and the plain sum. Bounds and",
        "rows are the same on every machine, as work is limited and not time. The docstring of the",
        "module describes the queries. The gain is the share of noise that parallel composition",
        "saves (Parallel Composition, section 3.3): one minus bound over plain sum.",
        "",
        _HEADER,
        *map(_row, measured),
        "",
        f"\\* networkx was stopped after {DSATUR_LIMIT_S:g} s; the bound is our own colouring's.",
        "",
        f"![bounds as shares of the plain sum, and times]({PLOT.name})",
        "",
    ]
    REPORT.write_text("\n".join(lines), encoding="utf-8")
    figure = Figure(figsize=(10, 5), layout="constrained")
    bounds, times = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(measured))
    for offset, label, share, seconds in (
        (-0.2, "DSatur", [each.dsatur / each.plain for each in measured], "dsatur_s"),
        (0.2, "this library", [each.upper / each.plain for each in measured], "upper_s"),
    ):
        bounds.barh(places + offset, share, 0.4, label=label)
        times.barh(places + offset, [getattr(each, seconds) for each in measured], 0.4)
    bounds.scatter(
        [each.value / each.plain for each in measured],
        places + 0.2,
        marker="|",
        color="black",
        label="worst row found",
        zorder=3,
    )
    bounds.set_yticks(places, [f"{each.name}: {each.queries:,}" for each in measured])
    bounds.invert_yaxis()
    bounds.set(xlabel="bound / plain sum (gain: one minus this)")
    bounds.legend(loc="lower right")
    times.set(xscale="log", xlabel="seconds")
    figure.savefig(PLOT, dpi=110)


def main() -> None:
    """Measure, print, and write the report where asked."""
    parser = argparse.ArgumentParser(description="Maximum overlap beside DSatur and the plain sum.")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name} and {PLOT.name}")
    parser.add_argument("--work-limit", type=int, default=WORK_LIMIT, metavar="STEPS")
    options = parser.parse_args()
    note = report.machine()
    print(_HEADER)
    measured = []
    for each in _measured(options.work_limit):
        measured.append(each)
        print(_row(each), flush=True)
    if options.write:
        _write(measured, note, options.work_limit)


if __name__ == "__main__":
    main()
