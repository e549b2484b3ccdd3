"""Maximum overlap of random queries, as in Parallel Composition: ``python -m benchmarks.overlap``.

``--write`` puts the tables into ``reports/overlap.md``. The queries are those of the paper's
sections 7.1 and 7.2, drawn from fixed seeds:

- *census*: income in (0, i) for one of 5,000 ends i; age (5 values), marital status (4), race (7)
  and gender (2) each one value or all, all choices equally likely. The paper's own workload.
- *census, ranges*: the same, with income between two of the ends and, for the other attributes,
  a random set of values; with weights, epsilons of 0.1 to 1.0 in tenths.
- *uniform*: 10 attributes; a query asks for 1 to 10 of them, and for 1 to all values of each, every
  number and choice equally likely. The paper has attributes of 10 to 10**6 values; here 10, 100 or
  1,000, since each query lists its values. *uniform, ranges* has neighbouring values instead, of
  10 to 10**6.
- *other distributions*: as *uniform*, of 10 or 100 values, where one of four quantities is
  exponential or normal. The paper doesn't say the scales: an eighth, a quarter and a half of the
  range stand in.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accountant.loss.maxoverlap import average_l1_error, maximum_overlap, utility_gain
from accountant.loss.maxoverlap.colouring import colouring_bound
from accountant.regions.regions import Region
from benchmarks.papers.pages import table
from benchmarks.report import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.random import Generator

INCOMES, INCOME_STEP = 5_000, 150
CENSUS = {"age": 5, "marital": 4, "race": 7, "gender": 2}
ATTRIBUTES = 10
WORK_LIMIT = 2_000_000_000
SETS, SIZES = 30, (25, 100, 500, 1_000, 2_000)
DRAWS, FEW, FEW_STEPS = 3, (50, 100, 1_000), 50_000_000
QUANTITIES = ("predicates", "attributes", "values", "which values")
SCALES = (1 / 8, 1 / 4, 1 / 2)
REPORT = Path(__file__).parent / "reports" / "overlap.md"


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


def uniform(rng: Generator, queries: int, *, ranges: bool = False) -> list[Region]:
    """Return the paper's uniform queries, over ten attributes; with ranges, of neighbours."""
    sizes = 10 ** rng.integers(1, 7 if ranges else 4, ATTRIBUTES)
    regions = []
    for _ in range(queries):
        chosen = rng.choice(ATTRIBUTES, rng.integers(1, ATTRIBUTES + 1), replace=False)
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


def drawn(rng: Generator, queries: int, spread: Spread) -> list[Region]:
    """Return random queries over ten attributes."""
    sizes = 10 ** rng.integers(1, 3, ATTRIBUTES)
    regions = []
    for _ in range(queries):
        many = spread.number(rng, ATTRIBUTES, "predicates")
        conditions: dict[str, object] = {}
        for at in spread.choice(rng, ATTRIBUTES, many, "attributes"):
            values = spread.number(rng, int(sizes[at]), "values")
            conditions[f"a{at}"] = spread.choice(rng, int(sizes[at]), values, "which values")
        regions.append(Region.of(conditions))
    return regions


WORKLOADS: Sequence[tuple[str, Callable[[Generator, int], list[Region]], Sequence[int]]] = (
    ("census", census, (100, 500, 1_000, 2_000)),
    ("census, ranges", partial(census, ranges=True), (500, 2_000)),
    ("census, ranges, weights", partial(census, ranges=True), (500, 2_000)),
    ("uniform", uniform, (100, 350, 1_000)),
    ("uniform, ranges", partial(uniform, ranges=True), (100, 350, 1_000)),
)


def bounds() -> Iterator[tuple[str, ...]]:
    """Yield a row for each workload and size: the plain sum, colours, our bound and its gain."""
    for name, draw, sizes in WORKLOADS:
        for size in sizes:
            rng = np.random.default_rng(size)
            regions, tenths = draw(rng, size), [10] * size
            if name.endswith("weights"):
                tenths = rng.integers(1, 11, size).tolist()
            colours = colouring_bound(regions, tenths) / 10
            began_s = time.perf_counter()
            weights = [Fraction(each, 10) for each in tenths]
            found = maximum_overlap(regions, weights, work_limit=WORK_LIMIT)
            took_s = time.perf_counter() - began_s
            plain, bound = float(found.plain), float(found.upper_bound)
            worst = "exact" if found.exact else f"{float(found.value):g}"
            gain = f"{float(utility_gain(found)):.1%}"
            sums = f"{plain:g}", f"{colours:g}", f"{bound:g}", worst
            yield name, f"{size:,}", *sums, f"{took_s:.1f}", f"{1 - colours / plain:.1%}", gain


def gains(sets: int = SETS, sizes: Sequence[int] = SIZES) -> Iterator[tuple[str, ...]]:
    """Yield a row for each size of the census: gains over many sets, and what they took."""
    for size in sizes:
        found, saved, seconds, exact = [], [], [], 0
        for number in range(sets):
            regions = census(np.random.default_rng([size, number]), size)
            began_s = time.perf_counter()
            one = maximum_overlap(regions)
            seconds.append(time.perf_counter() - began_s)
            found.append(float(utility_gain(one)))
            exact += one.exact
            squared = maximum_overlap(regions, composition="gdp")
            saved.append(average_l1_error(squared, size, 1, noise="gaussian").saved)
        shares = (np.mean(found), min(found), max(found), np.mean(saved))
        times = (np.mean(seconds), max(seconds))
        yield (
            *(f"{size:,}", str(sets), str(exact)),
            *(f"{share:.1%}" for share in shares),
            *(f"{each:.2f}" for each in times),
        )


def distributions(sets: int = DRAWS, sizes: Sequence[int] = FEW) -> Iterator[tuple[str, ...]]:
    """Yield a row for each quantity that is not uniform: by size, its gain within some steps."""
    for spread in (Spread(), *(Spread(each, scale) for each in QUANTITIES for scale in SCALES)):
        cells = [spread.name]
        for size in sizes:
            found = [
                maximum_overlap(
                    drawn(np.random.default_rng([size, number]), size, spread),
                    work_limit=FEW_STEPS,
                )
                for number in range(sets)
            ]
            certain = np.mean([float(utility_gain(one)) for one in found])
            attained = np.mean([1 - float(one.value) / size for one in found])
            cells += [f"{certain:.1%}", f"{attained:.1%}", str(sum(one.exact for one in found))]
        yield tuple(cells)


def _lines() -> Iterator[str]:
    yield f"""\
`python -m benchmarks.overlap --write`; the module's docstring has the queries. Bounds and rows are
the same on every machine, as work is limited and not time. The gain is the share of noise that
parallel composition saves (Parallel Composition, section 3.3): one minus bound over plain sum.

## Bounds

What the worst row loses, within {WORK_LIMIT:,} steps each, beside our own colouring of the queries
and the plain sum.
"""
    heads = ("workload", "queries", "plain sum", "colours", "bound", "worst row", "s")
    yield from table((*heads, "gain, colours", "gain"), bounds())
    yield """
## Figures 4 to 6: census queries

Gains over all sets (Equation 6), and what Gaussian noise shrinks by (from Equation 7).
"""
    heads = ("queries", "sets", "exact", "mean gain", "least", "most", "l1 saved")
    yield from table((*heads, "mean s", "longest s"), gains())
    yield f"""
## Figures 7, 9 and 10: other distributions

Means of {DRAWS} sets within {FEW_STEPS:,} steps each: the gain that is certain, and the largest
that there can be, as a row was found that loses the rest; and how many sets were exact. In the
paper uniform is the largest of *groups*, the least of *values*.
"""
    sizes = (head for size in FEW for head in (f"gain, {size:,}", "at most", "exact"))
    yield from table(("what is not uniform", *sizes), distributions())


def main() -> None:
    """Measure, print, and write the report where asked."""
    written(REPORT, "Maximum overlap", _lines)


if __name__ == "__main__":
    main()
