"""Plots of the SVT-Exp paper's figures: curves in panels, with one legend or with many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.papers.pages import save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curve", "Panel", "curves", "drawn"]

_MARKERS = "osD^vPX*d"
_STYLES = ("-", "--", ":", "-.")
_ACROSS = 3


@dataclass(frozen=True, slots=True)
class Curve:
    """One line.

    Args:
        x: positions.
        y: as many values.
        colour: its number in the palette.
        style: its number among solid, dashed, dotted and both.
        mark: where a vertical line of its colour stands, ``None`` for none.
    """

    x: Sequence[float]
    y: Sequence[float]
    colour: int = 0
    style: int = 0
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes.

    Args:
        title: above it.
        across: label of the positions.
        up: label of the values.
        of: curves by name.
        log: which axes are logarithmic, of "x" and "y".
        limits: of the values; ``None`` to see all.
    """

    title: str
    across: str
    up: str
    of: Mapping[str, Curve] = field(default_factory=dict)
    log: str = ""
    limits: tuple[float, float] | None = None


def curves(
    path: Path,
    x: Sequence[float],
    label: str,
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    across: str,
) -> None:
    """Write a plot, three panels a row, of methods that share a legend.

    Args:
        path: of the PNG.
        x: positions, on a logarithmic axis, the same in all panels.
        label: of the positions.
        panels: values between 0 and 1 per position, by title and name of the curve.
        across: label of the values.
    """
    from matplotlib.ticker import NullLocator  # noqa: PLC0415  # only a written report needs it

    figure, every = _figure(len(panels), _ACROSS, 2.9, 0.9)
    for axes, (title, series) in zip(every, panels.items(), strict=False):
        for at, (name, values) in enumerate(series.items()):
            axes.plot(x, values, marker=_MARKERS[at], ms=4, lw=1, color=f"C{at}", label=name)
        axes.set_title(title, fontsize=10)
        axes.set_xscale("log")
        axes.set_xticks(x, [f"{each:g}" for each in x])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(-0.03, 1.03)
    figure.supxlabel(label, fontsize=10)
    figure.supylabel(across, fontsize=10)
    handles, names = every[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=min(5, len(names)))
    save(figure, path)


def drawn(path: Path, panels: Sequence[Panel], columns: int) -> None:
    """Write a plot of panels that each have axes and a legend of their own.

    Args:
        path: of the PNG.
        panels: in the order of reading.
        columns: panels a row.
    """
    figure, every = _figure(len(panels), columns, 3.3, 0.0)
    for axes, panel in zip(every, panels, strict=False):
        for name, one in panel.of.items():
            shown, colour = _STYLES[one.style], f"C{one.colour}"
            axes.plot(one.x, one.y, ls=shown, lw=1.2, color=colour, label=name)
            if one.mark is not None:
                axes.axvline(one.mark, ls=_STYLES[1], lw=0.8, color=colour)
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(panel.across, fontsize=9)
        axes.set_ylabel(panel.up, fontsize=9)
        if "x" in panel.log:
            axes.set_xscale("log")
        if "y" in panel.log:
            axes.set_yscale("log")
        if panel.limits is not None:
            axes.set_ylim(*panel.limits)
        axes.legend(fontsize=7)
    save(figure, path)


def _figure(panels: int, columns: int, height: float, more: float) -> tuple[Figure, list[Axes]]:
    from matplotlib import figure as plots  # noqa: PLC0415  # as above

    rows = -(-panels // columns)
    figure = plots.Figure(figsize=(11, height * rows + more), layout="constrained")
    every = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes in every[panels:]:
        axes.set_visible(False)
    for axes in every[:panels]:
        axes.tick_params(labelsize=8)
        axes.grid(visible=True, axis="y", color="0.9", lw=0.6)
    return figure, every
