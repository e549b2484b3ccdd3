"""Time and bracket of the min-entropy, from levels as charges store them and from distinct costs.

``python -m benchmarks.minentropy`` prints a table in Markdown; ``--write`` puts it into
``reports/minentropy.md``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.minentropy import MinEntropy, min_entropy, min_entropy_levels
from benchmarks import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

__all__ = ["main", "run"]

REPORT = Path(__file__).parent / "reports" / "minentropy.md"
_WHAT = """\
`python -m benchmarks.minentropy --write`. Levels: best of 5 runs. Distinct costs: uniform from 0 up
to the given spread; the worst of 10 draws for time, bracket and states. *Closed* is the share of
draws with a bracket below 1e-9 nats; half of a closed bracket's width is the margin for rounding.
The hardest inputs are 20 to 200 distinct costs within a narrow spread: too many vertices to list,
too few to fill the slack that is left.
"""

ROUNDS = 5
DRAWS = 10
SPREADS = (0.1, 0.5, 1.0, 2.0, 4.0)
SIZES = (12, 20, 50, 100, 200, 1_000, 5_000)
TWELVE = 0.05 * 1.4 ** np.arange(12)
HALVED = [50_000, 25_000, 12_500, 6_250, 3_125, 1_563, *([260] * 5), 262]


def run() -> dict[str, float]:
    """Measure on this machine.

    Returns:
        Per case the milliseconds (best of a few rounds), the width of the bracket in nats and the
        states searched; of random distinct costs, up to the given spread, the worst of ten draws.
    """
    measured: dict[str, float] = {}
    for name, work in _of_levels():
        spent_ms, found = min((_timed(work) for _ in range(ROUNDS)), key=lambda pair: pair[0])
        measured |= _figures(name, spent_ms, [found])
    rng = np.random.default_rng(0)
    for size in SIZES:
        for spread in SPREADS:
            draws = [rng.uniform(0, spread, size) for _ in range(DRAWS)]
            runs = [_of_costs(draw) for draw in draws]
            name = f"{size} distinct up to {spread:g}"
            measured |= _figures(name, max(ms for ms, _ in runs), [found for _, found in runs])
    return measured


def main() -> None:
    """Print what ``run`` measures as Markdown, and write the report where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    options = parser.parse_args()
    note = report.machine()
    text = "\n".join(["# Min-entropy: time and bracket", "", note, "", _WHAT, *_table(run()), ""])
    print(text)
    if options.write:
        REPORT.write_text(text, encoding="utf-8")


def _table(measured: Mapping[str, float]) -> Iterator[str]:
    yield "| case | ms | bracket, nats | states | closed |"
    yield "|---|--:|--:|--:|--:|"
    for key, spent_ms in measured.items():
        if key.startswith("ms["):
            of = key.removeprefix("ms")
            cells = (
                f"{spent_ms:.1f}",
                f"{measured[f'width{of}']:.1e}",
                f"{measured[f'nodes{of}']:,.0f}",
                f"{measured[f'closed{of}']:.0%}",
            )
            yield f"| {of[1:-1]} | " + " | ".join(cells) + " |"


def _of_levels() -> Iterator[tuple[str, Callable[[], MinEntropy]]]:
    even = np.linspace(0.1, 1.5, 12)
    flat = [8_333] * 11 + [8_337]
    listed = np.repeat(TWELVE, HALVED)
    yield "544 on 4 levels, alike", lambda: min_entropy_levels([0.1, 0.3, 0.7, 1.2], [136] * 4)
    yield (
        "544 on 4 levels, thinning",
        lambda: min_entropy_levels([0.05, 0.1, 0.2, 0.4], [400, 100, 34, 10]),
    )
    yield "100,000 on 12 levels, alike", lambda: min_entropy_levels(even, flat)
    yield "100,000 on 12 levels, thinning", lambda: min_entropy_levels(TWELVE, HALVED)
    yield "100,000 on 12 levels, as a list", lambda: min_entropy(listed)


def _of_costs(costs: NDArray[np.float64]) -> tuple[float, MinEntropy]:
    return _timed(lambda: min_entropy(costs))


def _timed(work: Callable[[], MinEntropy]) -> tuple[float, MinEntropy]:
    began_s = time.perf_counter()
    found = work()
    return (time.perf_counter() - began_s) * 1e3, found


def _figures(name: str, spent_ms: float, found: list[MinEntropy]) -> dict[str, float]:
    widths = [one.upper - one.lower for one in found]
    return {
        f"ms[{name}]": spent_ms,
        f"width[{name}]": max(widths),
        f"nodes[{name}]": max(one.nodes for one in found),
        f"closed[{name}]": sum(width < 1e-9 for width in widths) / len(widths),
    }


if __name__ == "__main__":
    main()
