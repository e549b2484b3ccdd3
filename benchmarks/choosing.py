"""Tables and a plot of ``docs/research/prices.md``: ``python -m benchmarks.choosing``.

``--write`` puts the tables into the page, between their marks, and the plot into ``docs/images``.
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
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from operators.base import Plan

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "research" / "prices.md"
IMAGES: Final = ROOT / "docs" / "images"

RATES: Final = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10))
FNR: Final = Fraction(1, 20)
TOLERANCE: Final = 9
TOLERANCES: Final = (0, 1, 5, 10, 20, 50)
PROGRESSIVE: Final = ("ppwlm", "dppwlm")
FOR_FORMULAS: Final = ("tslm", "dppwlm", "probe", "probe-ent")
WINDOW: Final = 100
"""Cells of a window where a table does not say otherwise."""

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
    """Print the tables, and write page and plot where asked."""
    parser = argparse.ArgumentParser(description="Tables and a plot of docs/research/prices.md.")
    parser.add_argument("--write", action="store_true", help="write the page's tables and its plot")
    options = parser.parse_args()
    noise = NoiseSource()
    tables = exact_tables() | sampled_tables(noise)
    for name, lines in tables.items():
        print(f"{name}\n", *lines, "", sep="\n")
    if options.write:
        PAGE.write_text(_replaced(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
        _write_plot(noise)


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
        worst = [
            float(plan(each, TOLERANCE, max_fpr=rate).epsilon) for each in ("tslm", *PROGRESSIVE)
        ]
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


def _write_plot(noise: NoiseSource) -> None:
    """Draw what a cell realises by its distance."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # only a written page needs it

    IMAGES.mkdir(exist_ok=True)
    far = np.unique(np.geomspace(1, 5000, 26).round().astype(np.int64))
    distances = np.concatenate((-far[::-1], [0], far))
    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2)
    for name in PROGRESSIVE:
        found = [realised(name, np.full(WINDOW, at), draws=60, noise=noise) for at in distances]
        for axes, losses in zip(
            panels,
            ([one.mean for one in found], [one.dearest for one in found]),
            strict=True,
        ):
            axes.plot(distances, losses, label=name)
    titles = "mean of 100 cells, all at that distance", "dearest of the 100"
    for axes, title in zip(panels, titles, strict=True):
        fixed, worst = (float(plan(name, TOLERANCE).epsilon) for name in ("tslm", "dppwlm"))
        axes.axhline(fixed, color="C3", label="tslm: always")
        axes.axhline(worst, color="grey", ls="--", label="reserved by ppwlm and dppwlm")
        axes.axvspan(-2 * TOLERANCE, 0, color="grey", alpha=0.2, label="either answer is right")
        axes.set_xscale("symlog", linthresh=2 * TOLERANCE)
        axes.set(ylim=(0, None), title=title, ylabel="realised epsilon")
        axes.set(xlabel=f"distance from the threshold (tolerance {TOLERANCE})")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(IMAGES / "choosing-distance.png", dpi=90)


if __name__ == "__main__":
    main()
