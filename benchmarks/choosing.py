"""Tables and plots of ``docs/guide/choosing.md``: ``python -m benchmarks.choosing``.

``--write`` puts the tables into the page, between their marks, and the plots into ``docs/images``.
Prices are the operators' own, exact to a loss unit, and so is TSLM's law; what a progressive
mechanism realises is sampled from the operator. No data is read: the cells are made up, and a
cell's distance is how far its statistic lies above its threshold, ``s - c`` for ``s > c``.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.levels import LevelCosts
from accountant.units import UNITS_PER_EPSILON
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.noise.source import NoiseSource
from operators.registry import create, price
from operators.single.tslm import Tslm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from operators.base import Plan

__all__ = [
    "IMAGES",
    "PAGE",
    "Realised",
    "exact_tables",
    "formula_epsilon",
    "main",
    "papers_epsilon",
    "plan",
    "realised",
    "ring_law",
    "sampled_tables",
]

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "guide" / "choosing.md"
IMAGES: Final = ROOT / "docs" / "images"

RATES: Final = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10))
FNR: Final = Fraction(1, 20)
TOLERANCE: Final = 9
TOLERANCES: Final = (0, 1, 5, 10, 20, 50)
PROGRESSIVE: Final = ("ppwlm", "dppwlm")
FOR_FORMULAS: Final = ("tslm", "dppwlm", "probe", "probe-ent")
COLOURS: Final = {"tslm": "#1f77b4", "ppwlm": "#ff7f0e", "dppwlm": "#2ca02c"}
WINDOW: Final = 100
"""Cells of a window where a table or plot does not say otherwise."""

COMPANY: Final[Mapping[str, tuple[int, ...]]] = {
    "100, all at 180 below": (-180,) * 100,
    "99 at 180 below, 1 at 5 below": (-180,) * 99 + (-5,),
    "100, all at 45 below": (-45,) * 100,
    "100, all at 5 below": (-5,) * 100,
}
"""Windows of the table of realised losses: each cell's distance."""

EMPTY: Final = -120
FALSE_RATES: Final = (Fraction(1, 20), Fraction(1, 100), Fraction(1, 1000))
MIXED: Final = (9, 3, 18)
"""Tolerances of the formulas' atoms, in turns."""


@dataclass(frozen=True, slots=True)
class Realised:
    """What a mechanism did over many draws of one window.

    Args:
        mean: realised epsilon of a cell, mean over cells and draws.
        dearest: realised epsilon of the window's dearest cell, mean over draws.
        rang: share of the cells that rang.
    """

    mean: float
    dearest: float
    rang: float


def plan(
    mechanism: str,
    tolerance: int,
    max_fnr: Fraction = FNR,
    max_fpr: Fraction | None = None,
    *,
    sensitivity: int = 1,
) -> Plan:
    """Return what one comparison costs at worst.

    Args:
        mechanism: its name as in a configuration.
        tolerance: in units of the statistic.
        max_fnr: most probable miss.
        max_fpr: most probable false alarm; as ``max_fnr`` unless given.
        sensitivity: how far one neighbour moves the statistic.
    """
    condition = Condition.single(_test(1, sensitivity))
    return price(mechanism, condition, Aim(max_fnr, (tolerance,), max_fpr))


def papers_epsilon(tolerance: int, max_fnr: Fraction, *, sensitivity: int = 1) -> float:
    """Return the loss by the papers' formula, ln(1/(2 beta)) D/u; infinite at no tolerance.

    Args:
        tolerance: u.
        max_fnr: beta.
        sensitivity: D.

    Source: MIDE, section on the threshold-shift Laplace mechanism.
    """
    if not tolerance:
        return math.inf
    return math.log(1 / (2 * float(max_fnr))) * sensitivity / tolerance


def formula_epsilon(mechanism: str, atoms: int, *, tolerances: Sequence[int] = MIXED) -> float:
    """Return what a mechanism loses at worst to an AND of counts, or to an OR, which costs alike.

    Args:
        mechanism: its name as in a configuration.
        atoms: how many, each on a statistic of its own.
        tolerances: of the atoms, taken in turns; five times as much in a first phase.
    """
    chosen = tuple(tolerances[at % len(tolerances)] for at in range(atoms))
    names = [f"a{at}" for at in range(atoms)]
    thresholds = {name: ThresholdAtom(at, np.array([120])) for at, name in enumerate(names)}
    condition = Condition(Formula.parse(" AND ".join(names)), thresholds, (1,) * atoms)
    first = tuple(5 * each for each in chosen)
    return float(price(mechanism, condition, Aim(FNR, chosen, first_tolerances=first)).epsilon)


def ring_law(
    distances: Sequence[int], tolerance: int = TOLERANCE, max_fpr: Fraction | None = None
) -> list[Fraction]:
    """Return TSLM's exact probability of ringing, by distance.

    Args:
        distances: ``s - c``.
        tolerance: in units of the statistic.
        max_fpr: most probable false alarm; as ``max_fnr`` unless given.
    """
    operator = Tslm.planned(_test(len(distances)), Promise(FNR, tolerance, max_fpr))
    law = operator.law(np.array(distances, dtype=np.int64))
    return [Fraction(int(each), 1 << 64) for each in law]


def realised(
    mechanism: str,
    distances: Sequence[int] | NDArray[np.int64],
    *,
    draws: int,
    noise: NoiseSource,
    tolerance: int = TOLERANCE,
    max_fpr: Fraction | None = None,
) -> Realised:
    """Decide one window many times.

    Args:
        mechanism: its name as in a configuration.
        distances: ``s - c`` of every cell of the window.
        draws: how often it is decided.
        noise: the cryptographic source.
        tolerance: in units of the statistic.
        max_fpr: most probable false alarm; as ``max_fnr`` unless given.
    """
    statistics = np.asarray(distances, dtype=np.int64)[np.newaxis]
    condition = Condition.single(_test(statistics.size))
    operator = create(mechanism, condition, Aim(FNR, (tolerance,), max_fpr))
    means, dearest, rang = [], [], []
    for _ in range(draws):
        decision = operator.decide(statistics, noise)
        cost = decision.cost
        mean = cost.as_array().mean() if isinstance(cost, LevelCosts) else cost.worst_units
        means.append(float(mean) / UNITS_PER_EPSILON)
        dearest.append(cost.worst_units / UNITS_PER_EPSILON)
        rang.append(float(decision.fired.mean()))
    return Realised(float(np.mean(means)), float(np.mean(dearest)), float(np.mean(rang)))


def exact_tables() -> dict[str, list[str]]:
    """Return the tables of the page that hold no sample, by the name of their marks."""
    return {"tolerance": _tolerance_table(), "formulas": _formula_table()}


def sampled_tables(noise: NoiseSource, *, draws: int = 400) -> dict[str, list[str]]:
    """Return the tables of the page that hold samples, by the name of their marks.

    Args:
        noise: the cryptographic source.
        draws: decisions of each window of 100 cells; probabilities take 25 times as many cells.
    """
    return {"company": _company_table(noise, draws), "empty": _empty_table(noise, draws)}


def main() -> None:
    """Print the tables, and write page and plots where asked."""
    parser = argparse.ArgumentParser(description="Tables and plots of docs/guide/choosing.md.")
    parser.add_argument("--write", action="store_true", help="write the page's tables and plots")
    options = parser.parse_args()
    noise = NoiseSource()
    tables = exact_tables() | sampled_tables(noise)
    for name, lines in tables.items():
        print(f"{name}\n", *lines, "", sep="\n")
    if options.write:
        PAGE.write_text(_replaced(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
        _write_plots(noise)


def _test(cells: int, sensitivity: int = 1) -> IntegerTest:
    """Return ``s > 0``, so that the statistic is the distance."""
    return IntegerTest(Comparison.GT, np.zeros(cells, dtype=np.int64), sensitivity)


def _tolerance_table() -> list[str]:
    lines = [
        "| tolerance | `max_fnr: 0.01` | `0.05` | `0.1` | papers' formula at 0.05 | times ours |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for tolerance in TOLERANCES:
        ours = [float(plan("tslm", tolerance, rate).epsilon) for rate in RATES]
        papers = papers_epsilon(tolerance, FNR)
        beside = f"{papers:.3f} | {papers / ours[1]:.2f}" if tolerance else "none | none"
        cells = " | ".join(f"{each:.3f}" for each in ours)
        lines.append(f"| {tolerance} | {cells} | {beside} |")
    return lines


def _formula_table() -> list[str]:
    lines = [
        f"| comparisons | {' | '.join(f'`{each}`' for each in FOR_FORMULAS)} |",
        "|--:|" + "--:|" * len(FOR_FORMULAS),
    ]
    for atoms in (1, 2, 3, 6):
        found = [formula_epsilon(each, atoms) for each in FOR_FORMULAS]
        lines.append(f"| {atoms} | " + " | ".join(f"{each:.3f}" for each in found) + " |")
    return lines


def _company_table(noise: NoiseSource, draws: int) -> list[str]:
    lines = [
        "| window | `tslm`, every cell | `ppwlm`, mean | dearest | `dppwlm`, mean | dearest |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    fixed = float(plan("tslm", TOLERANCE).epsilon)
    for name, distances in COMPANY.items():
        found = [realised(each, distances, draws=draws, noise=noise) for each in PROGRESSIVE]
        cells = " | ".join(f"{each.mean:.2f} | {each.dearest:.2f}" for each in found)
        lines.append(f"| {name} | {fixed:.2f} | {cells} |")
    worst = [float(plan(each, TOLERANCE).epsilon) for each in PROGRESSIVE]
    lines.append(f"| reserved | {fixed:.2f} | " + " | ".join(f"| {each:.2f}" for each in worst))
    lines[-1] += " |"
    return lines


def _empty_table(noise: NoiseSource, draws: int) -> list[str]:
    lines = [
        "| `max_fpr` | `tslm` reserves | rings | `ppwlm` | rings | `dppwlm` | rings |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    window = np.full(50 * WINDOW, EMPTY)
    for rate in FALSE_RATES:
        law = ring_law([EMPTY], max_fpr=rate)[0]
        rings = ["below 1e-10" if law < Fraction(1, 10**10) else f"{float(law):.2g}"]
        for each in PROGRESSIVE:
            many = max(1, draws // 2)
            found = realised(each, window, draws=many, noise=noise, max_fpr=rate)
            rings.append(f"{found.rang:.2g}")
        worst = [float(plan(each, TOLERANCE, max_fpr=rate).epsilon) for each in COLOURS]
        pairs = zip(worst, rings, strict=True)
        cells = " | ".join(f"{cost:.3f} | {ring}" for cost, ring in pairs)
        lines.append(f"| {float(rate):g} | {cells} |")
    return lines


def _replaced(text: str, tables: Mapping[str, Sequence[str]]) -> str:
    """Return the page with other tables between their marks."""
    for name, lines in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"the page has no place, or several, for the table {name!r}")
        before, _, rest = text.partition(begin)
        table = "".join(f"{line}\n" for line in lines)
        text = f"{before}{begin}{table}{end}{rest.partition(end)[2]}"
    return text


def _write_plots(noise: NoiseSource) -> None:
    """Draw all plots of the page."""
    IMAGES.mkdir(exist_ok=True)
    _draw("choosing-tolerance.png", [_plot_tolerance, _plot_ratio])
    _draw("choosing-formulas.png", [_plot_formulas])
    far = np.unique(np.geomspace(1, 5000, 26).round().astype(np.int64))
    distances = np.concatenate((-far[::-1], [0], far))
    found = {
        name: [realised(name, np.full(WINDOW, each), draws=60, noise=noise) for each in distances]
        for name in PROGRESSIVE
    }
    means = {name: [each.mean for each in every] for name, every in found.items()}
    dearest = {name: [each.dearest for each in every] for name, every in found.items()}
    _draw(
        "choosing-distance.png",
        [
            _plot_losses("mean of 100 cells, all at that distance", distances, means),
            _plot_losses("dearest of the 100", distances, dearest),
        ],
    )
    below = np.unique(np.geomspace(1, 2000, 30).round().astype(np.int64))
    _draw(
        "choosing-errors.png",
        [_plot_false_alarms(below, noise), _plot_misses(below, noise)],
    )


def _draw(name: str, panels: Sequence[Callable[[Axes], None]]) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  # only a written page needs it

    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        panel(axes)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(IMAGES / name, dpi=90)


def _plot_tolerance(axes: Axes) -> None:
    at = np.unique(np.geomspace(1, 100, 24).round().astype(int))
    for rate, colour in zip(RATES, COLOURS.values(), strict=True):
        plans = [plan("tslm", int(each), rate) for each in at]
        ours, limits = [float(each.epsilon) for each in plans], [each.limit for each in plans]
        papers = [papers_epsilon(int(each), rate) for each in at]
        axes.plot(at, ours, color=colour, label=f"tslm, max_fnr {float(rate):g}")
        axes.plot(at, limits, ".", color="black", markersize=3)
        axes.plot(at, papers, "--", color=colour)
    axes.plot([], [], ".", color="black", markersize=3, label="least of any mechanism")
    axes.plot([], [], "--", color="grey", label="papers' formula")
    axes.set(xscale="log", yscale="log", xlabel="tolerance (sensitivity 1)", ylabel="epsilon")


def _plot_ratio(axes: Axes) -> None:
    at = np.arange(1, 31)
    for rate, colour in zip(RATES, COLOURS.values(), strict=True):
        ratios = [
            papers_epsilon(int(u), rate) / float(plan("tslm", int(u), rate).epsilon) for u in at
        ]
        axes.plot(at, ratios, color=colour, label=f"max_fnr {float(rate):g}")
    axes.set(xlabel="tolerance (sensitivity 1)", ylabel="papers' formula / tslm")


def _plot_formulas(axes: Axes) -> None:
    sizes = range(1, 9)
    for mechanism, style in zip(FOR_FORMULAS, ("-", "--", ":", "-."), strict=True):
        losses = [formula_epsilon(mechanism, size) for size in sizes]
        axes.plot(sizes, losses, style, marker="o", markersize=3, label=mechanism)
    tolerances = ", ".join(map(str, MIXED))
    axes.set(xlabel=f"comparisons (tolerances {tolerances} in turns)", ylabel="epsilon")
    axes.set(title="AND, or OR")


def _plot_losses(
    title: str, distances: NDArray[np.int64], found: Mapping[str, list[float]]
) -> Callable[[Axes], None]:
    def plot(axes: Axes) -> None:
        fixed = float(plan("tslm", TOLERANCE).epsilon)
        axes.axhline(fixed, color=COLOURS["tslm"], label="tslm: always")
        for name, losses in found.items():
            axes.plot(distances, losses, color=COLOURS[name], label=name)
        worst = float(plan("dppwlm", TOLERANCE).epsilon)
        axes.axhline(worst, color="grey", ls="--", label="reserved by ppwlm and dppwlm")
        axes.axvspan(-2 * TOLERANCE, 0, color="grey", alpha=0.2, label="either answer is right")
        axes.set_xscale("symlog", linthresh=2 * TOLERANCE)
        axes.set(ylim=(0, None), title=title, ylabel="realised epsilon")
        axes.set(xlabel=f"distance from the threshold (tolerance {TOLERANCE})")

    return plot


def _plot_false_alarms(distances: NDArray[np.int64], noise: NoiseSource) -> Callable[[Axes], None]:
    def plot(axes: Axes) -> None:
        for rate, style in ((FNR, "-"), (Fraction(1, 1000), "--")):
            law = ring_law([-int(each) for each in distances], max_fpr=rate)
            label = f", max_fpr {float(rate):g}"
            axes.plot(
                distances, [*map(float, law)], style, color=COLOURS["tslm"], label="tslm" + label
            )
            for name in PROGRESSIVE:
                rings = [_rings(name, -int(each), noise, rate) for each in distances]
                axes.plot(distances, rings, style, color=COLOURS[name], label=name + label)
        axes.axvspan(0.9, 2 * TOLERANCE, color="grey", alpha=0.2)
        axes.set(xscale="log", yscale="log", ylim=(1e-5, 1.2), ylabel="probability of ringing")
        axes.set(xlabel=f"distance below the threshold (tolerance {TOLERANCE})")

    return plot


def _plot_misses(distances: NDArray[np.int64], noise: NoiseSource) -> Callable[[Axes], None]:
    def plot(axes: Axes) -> None:
        missed = [1 - each for each in ring_law([int(each) for each in distances])]
        axes.plot(distances, [*map(float, missed)], color=COLOURS["tslm"], label="tslm")
        for name in PROGRESSIVE:
            silent = [1 - _rings(name, int(each), noise, None) for each in distances]
            axes.plot(distances, silent, color=COLOURS[name], label=name)
        axes.axhline(float(FNR), color="grey", ls="--", label="max_fnr")
        axes.set(xscale="log", yscale="log", ylim=(1e-5, 1.2), ylabel="probability of a miss")
        axes.set(xlabel=f"distance above the threshold (tolerance {TOLERANCE})")

    return plot


def _rings(mechanism: str, distance: int, noise: NoiseSource, max_fpr: Fraction | None) -> float:
    window = np.full(200_000, distance)
    return realised(mechanism, window, draws=1, noise=noise, max_fpr=max_fpr).rang


if __name__ == "__main__":
    main()
