"""Many sets of random queries per size, and other distributions: ``benchmarks.overlap_sets``.

``python -m benchmarks.overlap_sets --write`` writes ``reports/overlap-sets.md``. Thirty sets of the
census queries of Parallel Composition, section 7.2, per size (its Figures 4 to 6), and three sets
of queries over ten attributes whose four random quantities are, one at a time, exponential or
normal in place of uniform (its Figures 7, 9 and 10). The paper doesn't say the scales: an eighth, a
quarter and a half of the range stand in. Attributes have 10 or 100 values here.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accountant.loss.maxoverlap import average_l1_error, maximum_overlap, utility_gain
from accountant.regions.regions import Region
from benchmarks import report
from benchmarks.overlap import ATTRIBUTES, census

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["QUANTITIES", "SPREADS", "Spread", "drawn", "main", "run"]

SETS, SIZES = 30, (25, 100, 500, 1_000, 2_000)
DRAWS, FEW = 3, (50, 100, 1_000)
QUANTITIES = ("predicates", "attributes", "values", "which values")
SCALES = (1 / 8, 1 / 4, 1 / 2)
WORK_LIMIT = 50_000_000
REPORT = Path(__file__).parent / "reports" / "overlap-sets.md"


@dataclass(frozen=True, slots=True)
class Spread:
    """Which of the four quantities is not uniform.

    Args:
        quantity: one of ``QUANTITIES``, exponential if it is a number and normal if a choice;
            empty if all are uniform.
        scale: of its law, as a share of the range.
    """

    quantity: str = ""
    scale: float = 0.0

    @property
    def name(self) -> str:
        """As tables call it."""
        if not self.quantity:
            return "all uniform"
        shape = "normal" if self.quantity in QUANTITIES[1::2] else "exponential"
        return f"{self.quantity}: {shape}, {self.scale:g}"

    def number(self, rng: Generator, most: int, quantity: str) -> int:
        """Draw a number from 1 to ``most``."""
        if quantity != self.quantity:
            return int(rng.integers(1, most + 1))
        return 1 + min(most - 1, int(rng.exponential(self.scale * most)))

    def choice(self, rng: Generator, of: int, many: int, quantity: str) -> list[int]:
        """Draw that many of the first so many numbers, those in the middle likelier or not."""
        weights = None
        if quantity == self.quantity:
            weights = np.exp(-(((np.arange(of) - (of - 1) / 2) / (self.scale * of)) ** 2) / 2)
            weights /= weights.sum()
        return [int(each) for each in rng.choice(of, many, replace=False, p=weights)]


SPREADS = (Spread(), *(Spread(each, scale) for each in QUANTITIES for scale in SCALES))


def drawn(
    rng: Generator, queries: int, spread: Spread, *, attributes: int = ATTRIBUTES
) -> list[Region]:
    """Return random queries, over ten attributes."""
    sizes = 10 ** rng.integers(1, 3, attributes)
    regions = []
    for _ in range(queries):
        many = spread.number(rng, attributes, "predicates")
        conditions: dict[str, object] = {}
        for at in spread.choice(rng, attributes, many, "attributes"):
            values = spread.number(rng, int(sizes[at]), "values")
            conditions[f"a{at}"] = spread.choice(rng, int(sizes[at]), values, "which values")
        regions.append(Region.of(conditions))
    return regions


def run(sets: int = SETS, sizes: tuple[int, ...] = SIZES) -> list[str]:
    """Return the rows of the census table."""
    rows = []
    for size in sizes:
        gains, saved, seconds, exact = [], [], [], 0
        for number in range(sets):
            regions = census(np.random.default_rng([size, number]), size)
            began_s = time.perf_counter()
            found = maximum_overlap(regions)
            seconds.append(time.perf_counter() - began_s)
            gains.append(float(utility_gain(found)))
            exact += found.exact
            squared = maximum_overlap(regions, composition="gdp")
            saved.append(average_l1_error(squared, size, 1, noise="gaussian").saved)
        rows.append(
            f"| {size:,} | {sets} | {exact} | {np.mean(gains):.1%} | {min(gains):.1%} | "
            f"{max(gains):.1%} | {np.mean(saved):.1%} | {np.mean(seconds):.2f} | "
            f"{max(seconds):.2f} |"
        )
    return rows


def distributions(sets: int = DRAWS, sizes: tuple[int, ...] = FEW) -> list[str]:
    """Return the rows of the other distributions' table."""
    rows = []
    for spread in SPREADS:
        cells = []
        for size in sizes:
            certain, attained, exact = [], [], 0
            for number in range(sets):
                regions = drawn(np.random.default_rng([size, number]), size, spread)
                found = maximum_overlap(regions, work_limit=WORK_LIMIT)
                certain.append(float(utility_gain(found)))
                attained.append(1 - float(found.value) / size)
                exact += found.exact
            cells.append(f"{np.mean(certain):.1%} | {np.mean(attained):.1%} | {exact}")
        rows.append(f"| {spread.name} | {' | '.join(cells)} |")
    return rows


def main() -> None:
    """Measure, print, and write the report where asked."""
    parser = argparse.ArgumentParser(description="Many sets of queries, other distributions.")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    options = parser.parse_args()
    note = report.machine()
    sizes = "".join(f" gain, {size:,} | at most | exact |" for size in FEW)
    lines = [
        "# Maximum overlap: many sets, other distributions",
        "",
        note,
        "",
        "`python -m benchmarks.overlap_sets --write`; the module's docstring has the queries.",
        "",
        "## Figures 4 to 6: census queries",
        "",
        "Gains over all sets (Equation 6), and what Gaussian noise shrinks by (from Equation 7).",
        "",
        "| queries | sets | exact | mean gain | least | most | l1 saved | mean s | longest s |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        *run(),
        "",
        "## Figures 7, 9 and 10: other distributions",
        "",
        f"Means of {DRAWS} sets within {WORK_LIMIT:,} steps each: the gain that is certain, and",
        "the largest that there can be, as a row was found that loses the rest; and how many sets",
        "were exact. In the paper uniform is the largest of *predicates*, the least of *values*.",
        "",
        f"| what is not uniform |{sizes}",
        "|---|" + "--:|" * (3 * len(FEW)),
        *distributions(),
        "",
    ]
    print("\n".join(lines))
    if options.write:
        REPORT.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
