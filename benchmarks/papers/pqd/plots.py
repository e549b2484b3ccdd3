"""Plots of error against tolerance and budget, with the effectiveness thresholds marked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.papers.pages import save
from benchmarks.papers.pqd.study import EPSILON, SHARE, least_budget, thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from benchmarks.papers.pqd.study import Curve

__all__ = ["Curves", "by_epsilon", "by_tau", "grid"]

_MARKERS = "osD^vPX*"


@dataclass(frozen=True, slots=True)
class Curves:
    """One set of axes: errors against a tolerance or a budget, on a logarithmic scale.

    Args:
        title: above it.
        x: positions, > 0 and rising.
        label: of the positions.
        series: errors by decider, one per position.
        marks: by decider, from where on it is effective; outside the positions it is not drawn.
        inside: from where on q(D) lies in the interval, drawn dotted; ``None`` where nowhere.
    """

    title: str
    x: Sequence[float]
    label: str
    series: Mapping[str, Sequence[float]]
    marks: Mapping[str, float] = field(default_factory=dict)
    inside: float | None = None


def by_tau(curve: Curve) -> Curves:
    """Return a query's errors against the tolerance, in percent of the reference."""
    case, points = curve.case, curve.by_tau
    inside = [100 * float(point.share) for point in points if point.inside]
    known = thresholds(case, EPSILON) if case.reference else {}
    return Curves(
        title=f"{case.query.name}: epsilon = {float(EPSILON):g}",
        x=[100 * float(point.share) for point in points],
        label="tau, % of q(D_s)",
        series={name: [point.wrong[name] for point in points] for name in points[0].wrong},
        marks={name: 100 * tau / case.reference for name, tau in known.items()},
        inside=min(inside, default=None),
    )


def by_epsilon(curve: Curve) -> Curves:
    """Return a query's errors against the budget."""
    case, points = curve.case, curve.by_epsilon
    tau = case.tau(SHARE)
    known = thresholds(case, EPSILON)
    return Curves(
        title=f"{case.query.name}: tau = {float(SHARE):.1%}",
        x=[float(point.epsilon) for point in points],
        label="epsilon",
        series={name: [point.wrong[name] for point in points] for name in points[0].wrong},
        marks={name: least_budget(case, name, tau) for name in known},
    )


def grid(path: Path, rows: Sequence[Sequence[Curves]]) -> None:
    """Write rows of axes, all rows of one length.

    Args:
        path: of the PNG.
        rows: of curves; the first axes give the legend.
    """
    from matplotlib import figure as plots  # noqa: PLC0415  # only a written report needs it

    size = (2.5 * len(rows[0]) + 0.4, 2.0 * len(rows) + 0.6)
    figure = plots.Figure(figsize=size, layout="constrained")
    every = figure.subplots(len(rows), len(rows[0]), squeeze=False)
    for axes_row, shown in zip(every, rows, strict=True):
        for axes, curves in zip(axes_row, shown, strict=True):
            _draw(axes, curves)
    figure.supylabel("error", fontsize=10)
    handles, names = every[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    save(figure, path)


def _draw(axes: Axes, curves: Curves) -> None:
    from matplotlib.ticker import NullLocator  # noqa: PLC0415  # as above

    axes.set_xscale("log", base=2)
    for at, (name, errors) in enumerate(curves.series.items()):
        colour = f"C{at}"
        axes.plot(curves.x, errors, marker=_MARKERS[at], ms=4, lw=1, color=colour, label=name)
        mark = curves.marks.get(name, math.nan)
        if curves.x[0] <= mark <= curves.x[-1]:
            axes.axvline(mark, color=colour, ls="--", lw=1)
    if curves.inside is not None:
        axes.axvline(curves.inside, color="0.4", ls=":", lw=1)
    axes.set_ylim(-0.04, 1.04)
    axes.set_title(curves.title, fontsize=9)
    axes.set_xticks(list(curves.x), [f"{each:g}" for each in curves.x])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=7)
    axes.set_xlabel(curves.label, fontsize=8)
    axes.grid(visible=True, axis="y", color="0.9", lw=0.6)
    axes.set_axisbelow(True)
