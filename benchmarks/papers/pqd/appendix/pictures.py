"""Figures 12 to 23, and errors by how far q(D) lies from the end of its band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.papers.pages import save
from benchmarks.papers.pqd.appendix.study import margin
from benchmarks.papers.pqd.appendix.words import pairs_of
from benchmarks.papers.pqd.plots import by_epsilon, by_tau, grid
from benchmarks.papers.pqd.study import DECIDERS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.papers.pqd.data import Kind
    from benchmarks.papers.pqd.plots import Curves
    from benchmarks.papers.pqd.study import Results

__all__ = ["FIGURES", "by_distance", "figure_pair"]

FIGURES: Final[Mapping[tuple[Kind, str], int]] = {
    ("count", "people"): 12,
    ("count", "trips"): 14,
    ("sum", "people"): 16,
    ("sum", "trips"): 18,
    ("median", "people"): 20,
    ("median", "trips"): 22,
}
"""Number of the paper's figure by tolerance; that by budget is the next one."""

_MARKERS: Final = "osD^vPX*"
_REACH: Final = 300.0


def figure_pair(found: Results, kind: Kind, number: int, folder: Path) -> tuple[str, str]:
    """Write a figure by tolerance and the next one by budget, around the first copy.

    Args:
        found: errors on one table.
        kind: of the queries.
        number: of the first figure.
        folder: where the pictures go.

    Returns:
        The names of the pictures.
    """
    curves = [curve for curve in found[1].values() if curve.case.query.kind == kind]
    names = f"figure-{number}.png", f"figure-{number + 1}.png"
    for name, axes in zip(names, (by_tau, by_epsilon), strict=True):
        grid(folder / name, _rows([axes(curve) for curve in curves]))
    return names


def by_distance(path: Path, tables: Mapping[str, Results]) -> None:
    """Write errors against the distance to the nearer end of the band, over all points.

    Args:
        path: of the PNG.
        tables: errors by table.
    """
    from matplotlib import figure as plots  # noqa: PLC0415  # only a written report needs it

    figure = plots.Figure(figsize=(11.5, 3.6), layout="constrained")
    for axes, kind in zip(figure.subplots(1, len(DECIDERS), sharey=True), DECIDERS, strict=True):
        points = [each for found in tables.values() for each in pairs_of(found, kind)]
        places = [max(-_REACH, min(_REACH, margin(case, point))) for case, point in points]
        for at, name in enumerate(DECIDERS[kind]):
            errors = [point.law[name] for _, point in points]
            axes.scatter(places, errors, s=9, marker=_MARKERS[at], color=f"C{at}", label=name)
        axes.axvline(0, color="0.4", ls=":", lw=1)
        axes.set_xscale("symlog", linthresh=1)
        axes.set_title(kind.upper(), fontsize=9)
        axes.set_xlabel("beyond the band < 0 < within it, in scales of noise", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(visible=True, axis="y", color="0.9", lw=0.6)
        axes.set_axisbelow(True)
        axes.legend(fontsize=7)
    figure.supylabel("error", fontsize=10)
    save(figure, path)


def _rows(every: list[Curves]) -> list[list[Curves]]:
    """Return axes in rows of one length."""
    width = next(each for each in (5, 4, 3, 2, 1) if len(every) % each == 0)
    return [every[at : at + width] for at in range(0, len(every), width)]
