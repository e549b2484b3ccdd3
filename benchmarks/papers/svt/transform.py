"""The SVT-Exp paper's Algorithms 3 and 4 as printed, and what a bucket size is worth: Figure 17.

The library has a transform of its own (``operators.svt_correction``, by "fft"), on a million points
and with the masses in the middle of their cells.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.signal import fftconvolve

from benchmarks.papers.pages import number, prose, table
from benchmarks.papers.svt.exact import pairs
from benchmarks.papers.svt.plots import Curve, Panel, drawn
from operators import svt_correction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from benchmarks.papers.svt.exact import Pair
    from operators.svt.correction import Noise

__all__ = ["BUCKETS", "Transformed", "figure_17", "printed", "timed"]

BUCKETS: Final = (1_001, 2_001, 5_001, 10_001, 20_001, 50_001, 100_001, 200_001, 500_001)
"""Bucket sizes m; the paper's Figure 9 has 20,001."""

_EPSILON: Final = 0.03  # of Figure 9, as are alpha = 0 and k = 10
_NEGATIVES: Final = 10
_OUTSIDE: Final = 1e-9  # e; the paper names none
_REPEATS: Final = 5
_PLACES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Transformed:
    """One bucket size.

    Args:
        buckets: m.
        spent_s: processor time of one correction, the middle of several.
        norms: l2 norm of the error of p over a thousand places: with the masses at the lower ends
            of their cells, and in the middle.
        off: relative errors of the correction, likewise.
    """

    buckets: int
    spent_s: float
    norms: tuple[float, float]
    off: tuple[float, float]


def printed(pair: Pair, buckets: int, outside: float) -> tuple[NDArray[np.float64], float]:
    """Return the masses of v - rho on a lattice, from minus to plus twice the boundary.

    Args:
        pair: exponential and Laplace noise.
        buckets: m.
        outside: e; the boundary B leaves as much of the exponential noise beyond it.

    Returns:
        Masses, shape (4 m - 1,), the outermost two pairs those of what lies beyond, and the width
        of a cell; at entry n the lower ends of both cells add up to n - 2 m widths.

    Source: SVT-Exp, Algorithms 3 and 4.
    """
    boundary = -np.log(outside) * pair.query.scale
    width = boundary / (buckets - 1)
    masses = (_discretised(noise, buckets, width) for noise in (pair.query, pair.threshold))
    return fftconvolve(*masses), width


def timed(buckets: Sequence[int] = BUCKETS) -> tuple[float, list[Transformed]]:
    """Measure the transform beside the closed form; return the latter's seconds first.

    Args:
        buckets: sizes to measure.
    """
    pair = pairs(1, _EPSILON, halved=True)["SVT-Exp"]
    exact = svt_correction(pair.query, pair.threshold, _NEGATIVES)
    places = np.linspace(0, -np.log(_OUTSIDE) * pair.query.scale, _PLACES)
    true = np.array([pair.apart(r, _NEGATIVES) for r in places.tolist()])
    found = []
    for m in buckets:
        spent = _seconds(partial(_corrected, pair, m, middle=False))
        norms, off = [], []
        for middle in (False, True):
            r, lattice, success = _corrected(pair, m, middle=middle)
            near = np.interp(places, lattice, success)
            norms.append(float(np.linalg.norm(near - true)))
            off.append(abs(r / exact - 1))
        found.append(Transformed(m, spent, (norms[0], norms[1]), (off[0], off[1])))
    closed = _seconds(lambda: svt_correction(pair.query, pair.threshold, _NEGATIVES))
    return closed, found


def figure_17(closed_s: float, found: Sequence[Transformed], folder: Path) -> Iterator[str]:
    """Yield the section on the time of the transform, and write its plot."""
    yield "## Figure 17: time of the transform"
    yield ""
    yield "![time and error by bucket size](transform.png)"
    yield ""
    x = [each.buckets for each in found]
    time_of = {
        "transform": Curve(x, [each.spent_s for each in found]),
        "closed form": Curve(x, [closed_s] * len(x), 1),
    }
    norms_of, off_of = (
        {
            name: Curve(x, [getattr(each, what)[at] for each in found], at)
            for at, name in enumerate(("masses at the lower end", "masses in the middle"))
        }
        for what in ("norms", "off")
    )
    panels = (
        Panel("processor time", "bucket size m", "seconds", time_of, "xy"),
        Panel("error of p(r)", "bucket size m", "l2 norm", norms_of, "xy"),
        Panel("error of the correction", "bucket size m", "relative", off_of, "xy"),
    )
    drawn(folder / "transform.png", panels, 3)
    rows = [
        (
            f"{each.buckets:,}",
            f"{1e3 * each.spent_s:.2f}",
            *(number(one) for two in zip(each.norms, each.off, strict=True) for one in two),
        )
        for each in found
    ]
    at_end, in_middle = "at the end", "in the middle"
    head = ("m", "ms", f"l2, {at_end}", f"r, {at_end}", f"l2, {in_middle}", f"r, {in_middle}")
    yield from table(head, rows)
    yield ""
    first, last = found[0], found[-1]
    grown = last.spent_s / first.spent_s
    yield prose(f"""Parameters of Figure 9: epsilon = {_EPSILON:g}, alpha = 0, k = {_NEGATIVES};
c = 1, epsilon halved, e = {_OUTSIDE:g}, which the paper does not name. Processor time of one
correction, the middle of {_REPEATS}; the l2 norm is over {_PLACES:,} places from 0 to the boundary.
Algorithm 4 does not say where in its cell a mass lies: *at the end* takes i u for cell i, *in the
middle* half a cell more.

**Agrees.** The closed form takes {1e3 * closed_s:.2f} ms whatever m is; the transform's time grows
about as m does ({grown:.0f} times for {last.buckets / first.buckets:.0f} times the buckets) and its
error falls. The smallest size here takes {1e3 * first.spent_s:.2f} ms, and its error of p is below
0.01 in both readings, as the paper has it of the smallest of its own.

**Does not.** That such an error leaves next to none in the correction: with the masses at the ends
r is off by {first.off[0]:.1%} at m = {first.buckets:,} and by {number(last.off[0])} at
{last.buckets:,}, as both errors fall as 1 / m only. In the middle they begin at
{number(first.norms[1])} and {number(first.off[1])} and fall as 1 / m^2, until what lies beyond the
boundary is all that is left. With a closed form, or masses in the middle, there is nothing to trade
time for: the library's own transform has them there.""")
    yield ""


def _discretised(noise: Noise, buckets: int, width: float) -> NDArray[np.float64]:
    """Return Algorithm 4's masses: below, of every cell from 1 - m to m - 2, and above."""
    edges = np.arange(1 - buckets, buckets, dtype=np.float64) * width
    above = noise.survival(edges)
    return np.concatenate([[1 - above[0]], -np.diff(above), [above[-1]]])


def _corrected(
    pair: Pair, buckets: int, *, middle: bool
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the correction, the lattice and the success on it; between its points it is linear."""
    masses, width = printed(pair, buckets, _OUTSIDE)
    places = (np.arange(masses.size, dtype=np.float64) - 2 * buckets) * width
    gamma = np.cumsum(masses)
    if middle:
        # Two masses in the middle add up to a cell more; half of that mass lies below.
        places, gamma = places + width, gamma - masses / 2
    success = np.maximum(gamma, 0) ** _NEGATIVES * (1 - gamma)
    at = int(np.argmax(success))
    low, top, high = success[at - 1 : at + 2]
    # Printed, the highest place of the lattice; else the top of the parabola through three.
    offset = (low - high) / (2 * (low - 2 * top + high)) if middle else 0.0
    return float(places[at] + offset * width), places, success


def _seconds(of: Callable[[], object]) -> float:
    spent = []
    for _ in range(_REPEATS):
        began = time.process_time()
        of()
        spent.append(time.process_time() - began)
    return median(spent)
