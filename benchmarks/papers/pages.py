"""Tables in Markdown and plots of what was measured, by setting and mechanism."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from benchmarks.papers.trials import Measured

    Results = Mapping[str, Mapping[str, Measured]]

COSTS = ("worst", "mean")
"""Measures whose axis is logarithmic."""

LABELS = {
    "worst": "epsilon of the dearest cell",
    "mean": "mean epsilon of the cells",
    "entropy": "normalised min-entropy",
    "fnr": "FNR",
    "fpr": "FPR",
    "far_fpr": "FPR beyond the tolerance",
}
"""What is measured, in words, by its key in ``trials.Measured.value``."""

_MARKERS = "osD^vPX*d"
_DPI = 80
_COLOURS = 256  # of a plot's palette, for half of the size


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes.

    Args:
        title: above it.
        series: values by name, one per row or position; NaN where there is none.
        log: whether the values' axis is logarithmic.
        bound: a promised bound to draw.
    """

    title: str
    series: Mapping[str, Sequence[float]]
    log: bool = False
    bound: float | None = None


def number(value: float) -> str:
    """Return a value with three significant digits; a dash for NaN."""
    if math.isnan(value):
        return "-"
    return "0" if value == 0 else f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.0e}"


def prose(text: str) -> str:
    """Return paragraphs, separated by empty lines, broken at 100 columns; a line ends the last."""
    return "\n".join(
        textwrap.fill(" ".join(each.split()), 100, break_on_hyphens=False) + "\n"
        for each in text.split("\n\n")
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table in Markdown, its first column to the left."""
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|--:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def values(results: Results, measure: str, name: str) -> NDArray[np.float64]:
    """Return one measure of one mechanism, in the order of the settings; NaN where it has none."""
    return np.array([each[name].value(measure) for each in results.values()])


def wins(less: NDArray[np.float64], more: NDArray[np.float64]) -> int:
    """Return in how many settings the one is less than the other."""
    return int(np.count_nonzero(less < more))


def best(
    every: Mapping[str, NDArray[np.float64]],
    names: Sequence[str],
    name: str,
    of: Callable[..., NDArray[np.float64]],
) -> int:
    """Return in how many settings one mechanism is the best of some.

    Args:
        every: a measure, by mechanism.
        names: of the some.
        name: of the one.
        of: ``np.min`` or ``np.max``.
    """
    stacked = np.stack([every[each] for each in names])
    return int(np.count_nonzero(every[name] == of(stacked, axis=0)))


def panel(
    results: Results, measure: str, title: str, bounds: Mapping[str, float], log: Sequence[str]
) -> Panel:
    """Return the axes of one measure, a curve for each mechanism.

    Args:
        results: what was measured.
        measure: which.
        title: above it.
        bounds: to draw, by measure.
        log: measures whose axis is logarithmic.
    """
    names = next(iter(results.values()))
    series = {name: values(results, measure, name).tolist() for name in names}
    return Panel(title, series, measure in log, bounds.get(measure))


def averages(results: Results, measures: Sequence[str]) -> Iterator[str]:
    """Yield a table of means over the settings, those left out where a rate has no cells."""
    names = next(iter(results.values()))
    rows = []
    for name in names:
        every = [values(results, measure, name) for measure in measures]
        means = (float(each[~np.isnan(each)].mean()) for each in every)
        rows.append((name, *map(number, means)))
    yield from table(("mechanism", *(LABELS[measure] for measure in measures)), rows)
    yield ""


def folded(results: Results, measure: str, of: str, summary: str = "") -> Iterator[str]:
    """Yield a table of one measure that opens on demand.

    Args:
        results: what was measured.
        measure: which.
        of: what the settings are.
        summary: the line to open it by; the measure's name by default.
    """
    names = next(iter(results.values()))
    yield f"<details><summary>{summary or LABELS[measure]}</summary>\n"
    yield from table(
        (of, *names),
        (
            (setting, *(number(each[name].value(measure)) for name in names))
            for setting, each in results.items()
        ),
    )
    yield """
</details>
"""


def lines(
    path: Path,
    x: Sequence[float],
    label: str,
    panels: Sequence[Sequence[Panel]],
    *,
    across: str = "",
    log: bool = False,
) -> None:
    """Write a plot with a curve per series.

    Args:
        path: of the PNG.
        x: positions, the same in all panels.
        label: of the positions.
        panels: rows of panels, none longer than the first.
        across: label of the values, where it is the same for all panels.
        log: whether the positions' axis is logarithmic; values are shares then.
    """
    from matplotlib import figure as plots  # noqa: PLC0415  # as above

    size = (3.1 * len(panels[0]) + 0.3, 2.4 * len(panels) + 0.7)
    figure = plots.Figure(figsize=size, layout="constrained")
    every = figure.subplots(len(panels), len(panels[0]), squeeze=False)
    for row, shown in zip(every, panels, strict=True):
        for axes in row[len(shown) :]:
            axes.set_visible(False)
        for axes, panel in zip(row, shown, strict=False):
            for at, (name, curve) in enumerate(panel.series.items()):
                axes.plot(x, curve, marker=_MARKERS[at], ms=4, lw=1, color=f"C{at}", label=name)
            _dress(axes, panel)
            axes.set_title(panel.title, fontsize=9)
            if log:
                axes.set_xscale("log")
                axes.set_ylim(-0.03, 1.03)
            axes.set_xticks(x, [f"{each:g}" for each in x])
            axes.tick_params(labelsize=8)
    for axes in every[-1]:
        axes.set_xlabel(label)
    if across:
        figure.supylabel(across, fontsize=10)
    handles, names = every[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=min(4, len(names)))
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a plot as a small PNG."""
    from PIL import Image  # noqa: PLC0415  # as above

    drawn = BytesIO()
    figure.savefig(drawn, dpi=_DPI)
    Image.open(drawn).convert("RGB").quantize(_COLOURS).save(path, optimize=True)


def _dress(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import LogLocator, NullLocator  # noqa: PLC0415  # as above

    if panel.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter("{x:g}")
    if panel.bound is not None:
        axes.axhline(panel.bound, color="0.4", ls=":", lw=1)
    axes.grid(visible=True, axis="y", color="0.9", lw=0.6)
    axes.set_axisbelow(True)
