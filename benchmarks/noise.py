"""Noise and decisions per second: our exact integers beside OpenDP's vector Laplace, in one run.

``python -m benchmarks noise``; needs the ``bench`` extra for the ratio.
"""

from __future__ import annotations

import time
from fractions import Fraction
from functools import partial
from pathlib import Path
from sys import path
from typing import TYPE_CHECKING

import numpy as np

path.insert(0, str(Path(__file__).resolve().parents[1]))  # a script: the tree is not on its path

from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.noise.source import NoiseSource
from operators.single.progressive import Dppwlm
from operators.single.tslm import Tslm

if TYPE_CHECKING:
    from collections.abc import Callable

RATES = {"0.001": Fraction(1, 1000), "0.1": Fraction(1, 10), "1": Fraction(1)}
VARIATES = 4_000_000
THEIR_VARIATES = 100_000
GROUPS = 1_000_000
ROUNDS = 3


def run() -> dict[str, float]:
    """Measure on this machine.

    Returns:
        Per rate t: our discrete Laplace variates/s, OpenDP's discrete (integer) and continuous
        (float) vector Laplace variates/s, and the ratio of ours to each; then TSLM decisions/s for
        1e6 groups in the operator alone, the seconds of one such window, and those of a window
        of 1e5 groups by DPPWLM, spread about their thresholds and all upon them. One thread.
        OpenDP's figures include its lists in and out: its Python interface has no other way.
    """
    measured: dict[str, float] = {}
    noise = NoiseSource()
    for name, t in RATES.items():
        ours = VARIATES / _best(partial(noise.discrete_laplace, t, VARIATES))
        measured[f"discrete_laplace_per_s[t={name}]"] = ours
        for law, draw in (("integer", _opendp(t, int)), ("float", _opendp(t, float, nan=False))):
            theirs = THEIR_VARIATES / _best(draw)
            measured[f"opendp_{law}_vector_laplace_per_s[t={name}]"] = theirs
            measured[f"ratio_to_opendp_{law}[t={name}]"] = ours / theirs
    thresholds = np.full(GROUPS, 120, dtype=np.int64)
    operator = Tslm.planned(
        IntegerTest(Comparison.GT, thresholds, 1), Promise(Fraction(1, 20), tolerance=9)
    )
    statistics = np.random.default_rng(0).integers(0, 240, GROUPS)
    seconds = _best(lambda: operator.decide(statistics, noise))
    measured["tslm_decisions_per_s"] = GROUPS / seconds
    measured["tslm_window_of_1e6_s"] = seconds
    some = GROUPS // 10
    progressive = Dppwlm.planned(
        IntegerTest(Comparison.GT, thresholds[:some], 1), Promise(Fraction(1, 20), tolerance=9)
    )
    for name, asked in (("spread", statistics[:some]), ("on_threshold", thresholds[:some])):
        seconds = _best(partial(progressive.decide, asked, noise))
        measured[f"dppwlm_window_of_1e5_s[{name}]"] = seconds
    return measured


def _best(work: Callable[[], object]) -> float:
    """Return the least seconds of a few rounds, after one to warm up."""
    work()
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _opendp(t: Fraction, kind: type, **domain: bool) -> Callable[[], object]:
    import opendp.prelude as dp  # noqa: PLC0415  # only the benchmark's extra installs it

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=kind, **domain)), dp.l1_distance(T=kind)
    mechanism = dp.m.make_laplace(*space, scale=float(1 / t))
    zeros = [kind()] * THEIR_VARIATES
    return lambda: mechanism(zeros)
