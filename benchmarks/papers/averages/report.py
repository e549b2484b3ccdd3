"""The report on ProBE's Figure 10: tables, a plot, and what agrees and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.averages import study
from benchmarks.papers.averages.study import (
    AVERAGES,
    DEVIATIONS,
    MECHANISMS,
    naive_epsilon,
    one_event_epsilon,
)
from benchmarks.papers.data import load
from benchmarks.papers.pages import (
    LABELS,
    averages,
    best,
    folded,
    lines,
    panel,
    prose,
    table,
    values,
)
from benchmarks.papers.probe import study as probe
from benchmarks.papers.regime.study import TIMES
from benchmarks.papers.workloads import SUBQUERIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchmarks.papers.averages.study import Averages
    from benchmarks.papers.data import Events
    from benchmarks.papers.probe.study import Results

MEASURES = ("worst", "mean", "entropy", "fnr", "fpr", "far_fpr")
"""What is shown of every setting."""
_OURS = ("ProBE", "ProBE, fresh", "ProBE-Ent")

_ALPHA = float(probe.MAX_FPR)
_BOUNDS = {"fnr": float(probe.MAX_FNR), "fpr": _ALPHA, "far_fpr": _ALPHA}

_RULES = """\
Conjunctions of 1 to 6 averages on a shop, the paper's own setting (appendix E), on taxis, and on
{times} times as many of them. The paper's data cannot be had and its queries are not printed; these
stand in for them. Parameters and mechanisms are those of [Figures 6 to 9](../probe/README.md), and
so is how ProBE's last tolerance is chosen. What is not:

- `AVG(x) > c` is decided as `SUM(x - c) > 0`, which one event moves by the larger distance from c
  to an end of the clip. The paper says only that an average "often has a higher sensitivity". If
  that is its whole range, by which an event moves the average of a cell of one, then one average
  costs naive ln(1/(2 beta)) D/u = {whole:.1f} at u = {naive}% and {wide:.1f} at {first}%, beyond
  epsilon_max = {epsilon}: its Figure 10 rests on something else, which is not said.
- A tolerance is of the sum. A range is that of the average times the median number of events of a
  cell, over cells that have any, in an earlier span.
- A threshold is the mean and {deviations} standard deviation of that span's averages: at three, as
  for counts, next to no cell holds all six.
- A cell without events does not ring. Its sum is 0, next to the threshold.

*FPR* is the paper's, over all negatives; *beyond the tolerance* is over those that miss a threshold
by more than twice ProBE's last tolerance: only for them can alpha be promised."""


def reproduced(source: Path, runs: int, folder: Path) -> Iterator[str]:
    """Yield the report's lines, and write its plots.

    Args:
        source: where the data are.
        runs: of each mechanism.
        folder: where the plots go.
    """
    data = load(source)
    found = study.scenes(data)
    yield from lines_of(data, found, study.by_size(found, runs), folder)


def lines_of(
    data: Mapping[str, Events],
    found: Mapping[str, Averages],
    measured: Mapping[str, Results],
    folder: Path,
) -> Iterator[str]:
    """Yield the report's lines, and write its plot.

    Args:
        data: the data sets there were.
        found: the averages, by scene.
        measured: Figure 10, by scene and size.
        folder: where the plot goes.
    """
    yield _RULES.format(
        whole=one_event_epsilon(probe.NAIVE_PERCENT),
        wide=one_event_epsilon(probe.FIRST_PERCENT),
        naive=probe.NAIVE_PERCENT,
        first=probe.FIRST_PERCENT,
        epsilon=probe.EPSILON_MAX,
        times=TIMES,
        deviations={1: "one"}.get(DEVIATIONS, DEVIATIONS),
    )
    yield ""
    yield from _averages(data, found)
    yield from _figure_10(measured, folder)


def _averages(data: Mapping[str, Events], found: Mapping[str, Averages]) -> Iterator[str]:
    yield "## Averages\n"
    for name, each in found.items():
        source = name.split(",")[0]
        workload = next(one for one in SUBQUERIES if one.data == source)
        empty = int((each.every[0].counted == 0).sum())
        percents = ", ".join(
            str(probe.last_percent(probe.Case(each.columns, formula)))
            for formula in probe.FORMULAS["conjunction"]
        )
        yield f"""\
*{name}*: {workload.what}, {empty} cells without events. Last tolerances of 1 to 6
averages, in percent: {percents}.
"""
        rows = [
            (
                "abcdef"[at],
                mean.what,
                f"{one.threshold / mean.total.per_one:g}",
                f"{one.clip // mean.total.per_one:,}",
                f"{one.typical:,}",
                f"{each.columns.ranges[at] / mean.total.per_one:,.0f}",
                f"{one.moved / mean.total.per_one:g}",
                str(int((one.centred > 0).sum())),
                f"{naive_epsilon(each.columns, at):.3f}",
            )
            for at, (mean, one) in enumerate(zip(AVERAGES[source], each.every, strict=True))
        ]
        yield from table(
            ("", "average", "c", "clip", "events", "range of the sum", "D", "positives", "naive"),
            rows,
        )
        yield ""
    counts = {
        name: naive_epsilon(next(w for w in SUBQUERIES if w.data == name).columns(data[name]), 0)
        for name in AVERAGES
        if name in data
    }
    yield f"""\
*naive* is what an average by itself costs at u = 12% of its range. The first count of
Figure 6 costs {", ".join(f"{cost:.3f} ({name})" for name, cost in counts.items())}.
"""


def _figure_10(measured: Mapping[str, Results], folder: Path) -> Iterator[str]:
    x = [float(size) for size in next(iter(measured.values()))]
    shown = ("worst", "entropy", "fnr", "fpr", "far_fpr")
    panels = [
        [
            panel(results, measure, f"{name}: {LABELS[measure]}", _BOUNDS, ["worst"])
            for measure in shown
        ]
        for name, results in measured.items()
    ]
    lines(folder / "averages.png", x, "averages", panels)
    yield f"""\
## Figure 10: {x[0]:g} to {x[-1]:g} averages

![costs and rates by number of averages](averages.png)
"""
    for name, results in measured.items():
        yield f"Means, {name}:\n"
        yield from averages(results, MEASURES)
    flat = {
        f"{name} {size}": each
        for name, results in measured.items()
        for size, each in results.items()
    }
    of = {
        measure: {name: values(flat, measure, name) for name in MECHANISMS} for measure in MEASURES
    }
    many = np.array([next(iter(each.values())).positives >= 10 for each in flat.values()])
    fnr = (
        max(float(each[many].max()) for each in of["fnr"].values()) if many.any() else float("nan")
    )
    kept = {name: _kept(measured, name) for name in MECHANISMS}
    beyond = {name: float(np.nanmax(of["far_fpr"][name])) for name in MECHANISMS}
    large = [each for name in measured if _large(name) for each in measured[name].values()]
    tops = {
        name: max((each[name].value("fpr") for each in large), default=float("nan"))
        for name in _OURS
    }
    yield prose(f"""**Agrees.** beta is kept: the highest FNR of a conjunction with 10 positives or
more is {fnr:.3f}. ProBE-Ent has the cheapest dearest cell of those with phases in
{best(of["worst"], _OURS, "ProBE-Ent", np.min)} of {len(flat)} cases, and the most min-entropy of
them in {best(of["entropy"], _OURS, "ProBE-Ent", np.max)}. Of the same events an average costs more
than a count at the same share of its range (*naive*, above), and more averages cost more.

**Does not.** With the events there are, alpha = {float(probe.MAX_FPR):g} is kept over all negatives
by ProBE in {kept["ProBE"]} of {len(flat) - len(large)} cases, by ProBE-Ent in {kept["ProBE-Ent"]}
and by naive in {kept["naive"]}. Where a cell has few events, and all the more where it has none,
its sum lies close to the threshold, and epsilon_max affords no tolerance that tells them apart.
With {TIMES} times as many events it is {tops["ProBE"]:.3f} at most with ProBE,
{tops["ProBE-Ent"]:.3f} with ProBE-Ent. Beyond the last tolerance all cases have
{beyond["ProBE"]:.3f} at most with ProBE, {beyond["ProBE-Ent"]:.3f} with ProBE-Ent. Naive has more
min-entropy than ProBE-Ent in
{int(np.count_nonzero(of["entropy"]["naive"] > of["entropy"]["ProBE-Ent"]))} of {len(flat)} cases,
at an FPR of up to {np.nanmax(of["fpr"]["naive"]):.2f}.""")
    for measure in MEASURES:
        yield from folded(flat, measure, "setting")


def _kept(measured: Mapping[str, Results], name: str) -> int:
    """Return in how many cases with the events there are a mechanism keeps alpha."""
    every = [each for scene, each in measured.items() if not _large(scene)]
    rates = [values(each, "fpr", name) for each in every]
    return int(sum(np.count_nonzero(each <= float(probe.MAX_FPR)) for each in rates))


def _large(scene: str) -> bool:
    return scene.endswith("times")
