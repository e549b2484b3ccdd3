"""Plots of the selection scores: one panel per data set, a curve per method."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["curves"]

_MARKERS = "osD^vPX*d"
_ACROSS = 3
_DPI = 80
_COLOURS = 256  # of the palette, for half of the size


def curves(
    path: Path,
    x: Sequence[float],
    label: str,
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    across: str,
) -> None:
    """Write a plot, three panels a row.

    Args:
        path: of the PNG.
        x: positions, on a logarithmic axis, the same in all panels.
        label: of the positions.
        panels: values between 0 and 1 per position, by title and name of the curve.
        across: label of the values.
    """
    from matplotlib import figure as plots  # noqa: PLC0415  # only a written report needs it
    from matplotlib.ticker import NullLocator  # noqa: PLC0415  # as above
    from PIL import Image  # noqa: PLC0415  # as above

    rows = -(-len(panels) // _ACROSS)
    figure = plots.Figure(figsize=(11, 2.9 * rows + 0.9), layout="constrained")
    every = figure.subplots(rows, _ACROSS, squeeze=False).ravel()
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, series) in zip(every, panels.items(), strict=False):
        for at, (name, values) in enumerate(series.items()):
            axes.plot(x, values, marker=_MARKERS[at], ms=4, lw=1, color=f"C{at}", label=name)
        axes.set_title(title, fontsize=10)
        axes.set_xscale("log")
        axes.set_xticks(x, [f"{each:g}" for each in x])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(-0.03, 1.03)
        axes.tick_params(labelsize=8)
        axes.grid(visible=True, axis="y", color="0.9", lw=0.6)
    figure.supxlabel(label, fontsize=10)
    figure.supylabel(across, fontsize=10)
    handles, names = every[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=min(5, len(names)))
    drawn = BytesIO()
    figure.savefig(drawn, dpi=_DPI)
    Image.open(drawn).convert("RGB").quantize(_COLOURS).save(path, optimize=True)
