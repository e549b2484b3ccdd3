"""The report on the SVT-Exp paper's evaluation: tables, plots, what agrees and what does not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from benchmarks.papers.pages import number, prose, table
from benchmarks.papers.svt import study
from benchmarks.papers.svt.data import load
from benchmarks.papers.svt.figures import figure_7, figure_8
from benchmarks.papers.svt.methods import NAMES, methods
from benchmarks.papers.svt.study import PRINTED_MEAN, PRINTED_OPTIMAL, needed_negatives, table_5
from benchmarks.papers.svt.theory import figure_3, figure_4, figure_5
from operators import svt_correction
from operators.svt import Exponential, Laplace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchmarks.papers.svt.data import Scores
    from benchmarks.papers.svt.study import Results

_NEGATIVES: Final = 200  # floor(m / c) of 10,000 items
_KOSARAK: Final = 41_270 // 50

_RULES = """\
Items are asked in random order whether as many records as the threshold T have them, until c said
yes; the c highest scores should. As in the paper: epsilon from 0.01 to 2, c = 50 (5 for Adult),
alpha = 0, k = floor(m / c), one threshold noise a run, a negative goes back to the end of the queue
(APPEND), 100 runs; NCR gives the top item c points, the next c - 1, and so on, over c (c + 1) / 2;
items below T give none. What differs, or had to be settled:

- *The scale is the monotone one for all methods*: the scores are counts, and adding a record moves
  none of them down, so noise has the scale c / epsilon_2 and the splits are those of the paper's
  Table 6, in place of its Algorithm 2 and Table 4 (2c / epsilon_2).
- *A run ends after 100 traversals* of the queue, or with the c-th positive; the paper says k_max
  and no number. Figure 8 has other caps; beyond 100 next to nothing changes. *Without append*
  is one traversal.
- BMS-POS, Kosarak and T40I10D100K cannot be had. T10I4D100K (*baskets*) and Online Retail
  (*retail*) stand in, with T in the middle between item c and item c + 1, rounded up: the paper
  prints T and no rule, and Binary's and Zipf's are such ones. It is read off the data, as there, so
  finding it is not part of what is private. *Adult* has the paper's T = 200.
- Four things were added after first results had been seen: *adult-middle* (Adult with the rule for
  T above), which is shown and in no count or average; SVT-Exp by RDP, for SVT-Gau by RDP to meet
  its like; ranking with c / epsilon_2; and epsilon = 0.5 for Figure 8's plot, where traversals
  matter most. No parameter of a method was.
- Zipf's scores are rounded down to whole records; no score crosses T by it.
- SVT-Exp and SVT-Lap have this library's laws, geometric and discrete Laplace, and SVT-Exp,
  optimal, this library's plan; the rest is continuous. Instead of asking items one by one, the
  traversal at which each rings first is drawn, given rho: a test compares the two.
- *SVT-Gau* as printed: sigma = sqrt(2 ln(1.25 / delta)) / epsilon for the threshold and for each of
  c positives, delta = 1 / n (n records; items where there are none). That is delta for every use,
  not for all of them together, and favours it. Theorem 2 does not cover it: ln(1 - F) of a Gaussian
  is not Lipschitz.
- *Figures 3 to 5* are computed from the paper's continuous noises and its scale 2c / epsilon_2;
  nothing in them is sampled.
- *RDP* is appendix I's way: Renyi accounting of the c positives, epsilon_1 + epsilon_2 and w as
  ever. For SVT-Gau by `dp-accounting`, delta / 2 for the threshold and for the positives; for
  SVT-Exp with min(e, a e^2 / 2) for a positive of pure loss e, all delta for the positives. We know
  of no proof for either: questions answered no are free by a bound in one direction, and
  a e^2 / 2 wants both. They are shown because the paper does; nothing here is charged that way.
- *Ranking* returns the c highest noisy scores, with exponential noise: 1 / epsilon_2 is the paper's
  upper bound, as printed, which pays for one answer and returns c; c / epsilon_2 is what SVT-Exp's
  own noise would give if all noisy values could be ranked."""


def reproduced(source: Path, runs: int, folder: Path) -> Iterator[str]:
    """Yield the report's lines, and write its plots.

    Args:
        source: where the data are.
        runs: of each mechanism.
        folder: where the plots go.
    """
    data = load(source)
    yield from lines_of(data, study.measured(data, runs, np.random.default_rng()), folder)


def lines_of(data: Mapping[str, Scores], found: Results, folder: Path) -> Iterator[str]:
    """Yield the report's lines, and write its plots.

    Args:
        data: the data sets there were.
        found: NCR.
        folder: where the plots go.
    """
    yield _RULES
    yield ""
    yield from _data(data)
    yield from figure_3()
    yield from figure_4()
    yield from figure_5()
    yield from _corrections()
    yield from figure_7(found, folder)
    yield from figure_8(found, folder)


def _data(data: Mapping[str, Scores]) -> Iterator[str]:
    yield "## Data\n"
    head: tuple[str, ...] = (
        "data",
        "records",
        "items m",
        "c",
        "k",
        "T",
        "items >= T",
        "item c",
        "item c + 1",
    )
    rows = [
        (
            name,
            f"{each.records:,}" if each.records else "-",
            f"{each.items:,}",
            str(each.alarms),
            str(each.negatives),
            f"{each.threshold:,}",
            str(np.count_nonzero(each.scores >= each.threshold)),
            f"{each.scores[each.alarms - 1]:,}",
            f"{each.scores[each.alarms]:,}",
        )
        for name, each in data.items()
    ]
    yield from table(head, rows)
    yield """
Noise at epsilon = 1, in records:
"""
    settled = {name: methods(each, 1.0) for name, each in data.items()}
    names = ("binary", "retail") if "retail" in data else ("binary",)
    head = ("method", *(f"{name}: {what}" for name in names for what in ("query", "rho", "r")))
    rows_of = []
    for method in NAMES:
        cells: list[str] = []
        for name in names:
            one = settled[name][method]
            cells += (number(one.query_scale), number(one.threshold_scale), str(one.correction))
        rows_of.append((method, *cells))
    yield from table(head, rows_of)
    yield """
Scales: mean of exponential, b of Laplace, beta of Gumbel, sigma of Gaussian noise.
"""


def _corrections() -> Iterator[str]:
    yield "## Table 5: the correction\n"
    rows, apart, needed, wrong = [], 0.0, {}, []
    for epsilon, printed in PRINTED_OPTIMAL.items():
        scale, threshold = table_5(epsilon, "lap", 1)
        exact = _correction(scale, threshold, "analytic")
        by_fft = _correction(scale, threshold, "fft")
        apart = max(apart, abs(by_fft / exact - 1))
        wrong.append(exact / printed - 1)
        needed[epsilon] = needed_negatives(printed, scale, threshold)
        own, own_threshold = table_5(epsilon, "exp", 1)
        full, full_threshold = table_5(epsilon, "exp", 2)
        k = _NEGATIVES if epsilon >= 0.1 else _KOSARAK
        rows.append(
            (
                f"{epsilon:g}",
                f"{printed:.2f}",
                f"{exact:.2f}",
                f"{by_fft:.2f}",
                f"{needed[epsilon]:.0f}",
                f"{_correction(own, own_threshold, 'analytic'):.2f}",
                f"{_correction(full, full_threshold, 'analytic'):.2f}",
                f"{own * math.log(k + 1):.2f}",
                f"{PRINTED_MEAN[epsilon]:.2f}",
                f"{scale:.2f}",
            )
        )
    head = (
        "epsilon",
        "printed optimal",
        "analytic",
        "by FFT",
        "k of the printed",
        "w of Exp",
        "w of Exp, 2c",
        "v alone",
        "printed mean",
        "mean",
    )
    yield from table(head, rows)
    yield ""
    few = [needed[each] for each in needed if each >= 0.1]
    many = [needed[each] for each in needed if each < 0.1]
    loose = max(abs(float(row[7]) / float(row[1]) - 1) for row in rows)
    yield prose(f"""c = 50, alpha = 0. *Analytic* and *by FFT* are `operators.svt_correction` at
k = {_NEGATIVES}, which is 10,000 items, with the w and the scale of the printed means: SVT-Lap's
w = (2c)^(2/3) and c / epsilon_2. *w of Exp* has SVT-Exp's own w of Table 4, *2c* Algorithm 2's
scale 2c / epsilon_2 as well. *v alone* is s ln(k + 1): exponential noise of *w of Exp* without any
threshold noise, k = {_KOSARAK} (Kosarak's 41,270 items) below epsilon = 0.1 and {_NEGATIVES} from
there.

**Agrees.** The mean row, to all printed digits but for the first entry, which should read
{table_5(0.01, "lap", 1)[0]:.1f}. The optimal correction is several times the mean, and the two
methods agree with each other to {apart:.0e} relative.

**Does not.** The optimal row. Equation 8 has no scale of its own, so r must be proportional to
1 / epsilon; the printed r epsilon is {35450.45 * 0.01:.1f}, {7147.15 * 0.05:.1f},
{2803.30 * 0.1:.1f}, {280.78:.1f} and {138.89 * 2:.1f}. With the scale of the mean row it would take
k = {min(many):.0f} and {max(many):.0f} for the first two and {min(few):.0f} to {max(few):.0f} for
the others; no data set of the paper has such an m / c, and at k = {_NEGATIVES} ours are
{min(wrong):+.1%} to {max(wrong):+.1%} off. The nearest that we found
is *v alone*, within {loose:.1%} everywhere: threshold noise left out, and the first two columns
taken for another data set than the last three. That is a guess, from trying these splits and scales
with the m / c of the paper's data sets.""")


def _correction(scale: float, threshold: float, method: Literal["analytic", "fft"]) -> float:
    return svt_correction(Exponential(scale), Laplace(threshold), _NEGATIVES, method=method)
