"""Plots of a simulation as inline SVG: no colour of their own, no reference to anything outside.

Colours are CSS variables of the page, so that one drawing serves light and dark.
"""

from __future__ import annotations

import io
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from matplotlib import rc_context
from matplotlib.figure import Figure

from operators.registry import ALL
from stream.simulation.settings import AS_WRITTEN, BASELINES, TRIED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from fractions import Fraction

    from matplotlib.axes import Axes

    from stream.simulation.results import AlarmResults, Measured, Rate

__all__ = ["MECHANISM_COLOURS", "entropy_plot", "false_plot", "loss_plot", "missed_plot"]

MECHANISM_COLOURS: Final = {
    name: f"--{name}" for name in ALL if name in {*TRIED, *AS_WRITTEN, *BASELINES}
}
"""CSS variable of every mechanism's colour."""

# Colours that nothing else has: they are replaced once matplotlib has written them.
_INK: Final = "#010203"
_GRID: Final = "#010204"
_STAND_INS: Final = {
    mechanism: f"#0a0b{at:02x}" for at, mechanism in enumerate(MECHANISM_COLOURS, start=16)
}
_STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _GRID,
    "grid.linewidth": 0.8,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
}
_DASHES: Final = ("-", "--", ":", "-.")
_SIZE: Final = (4.1, 3.7)  # inches: words stay legible where a phone scales them to its width
_COLUMNS: Final = 3  # of a legend


def missed_plot(results: AlarmResults, *, name: str) -> str:
    """Return the measured FNR against the mean realised loss, a line per mechanism.

    Args:
        results: of one alarm, at least one setting.
        name: unique on the page.
    """
    bounds = [one.setting.aim.max_fnr for one in results.measured]
    return _rates_plot(results, name, "true alarms missed, %", lambda one: one.fnr, bounds)


def false_plot(results: AlarmResults, *, name: str) -> str:
    """Return the measured FPR likewise; see :func:`missed_plot`."""
    aims = [one.setting.aim for one in results.measured]
    bounds = [aim.max_fpr for aim in aims if aim.max_fpr is not None]
    return _rates_plot(results, name, "false alarms rung, %", lambda one: one.fpr, bounds)


def loss_plot(results: AlarmResults, *, name: str) -> str:
    """Return which share of the cells lost more than so much, at the configured tolerance.

    Args:
        results: of one alarm, at least one setting.
        name: unique on the page.
    """

    def draw(axes: Axes) -> None:
        for one in _at_configured_tolerance(results):
            losses = one.losses
            lost = (0.0, *losses.epsilons)
            above = [1.0, *(max(0.0, 1 - share) for share in accumulate(losses.shares))]
            axes.step(
                lost,
                [100 * share for share in above],
                where="post",
                label=one.setting.mechanism,
                **_look(one.setting.mechanism, "-"),
            )
        axes.set_title("cells that lost more than this, %")
        axes.set_xlabel("realised loss of a cell (epsilon)")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 105)

    return _svg(draw, name)


def entropy_plot(results: AlarmResults, *, name: str) -> str:
    """Return the normalised min-entropy against the tolerance, a line per mechanism.

    Args:
        results: of one alarm, at least one setting.
        name: unique on the page.
    """

    def draw(axes: Axes) -> None:
        factors = sorted({float(one.setting.factor) for one in results.measured})
        for mechanism, line, dash in _lines(results):
            axes.plot(
                [factors.index(float(one.setting.factor)) for one in line],
                [one.entropy for one in line],
                marker="o",
                markersize=4.5,
                label=mechanism,
                **_look(mechanism, dash),
            )
        axes.set_title("min-entropy left, share of all")
        axes.set_xlabel("tolerance, times the configured one")
        axes.set_xticks(range(len(factors)), [f"{factor:g}" for factor in factors])
        axes.margins(x=0.1)
        lowest = min(one.entropy for one in results.measured)
        axes.set_ylim(max(0.0, lowest - 0.1), 1.02)

    return _svg(draw, name)


def _rates_plot(
    results: AlarmResults,
    name: str,
    title: str,
    rate_of: Callable[[Measured], Rate],
    bounds: Sequence[Fraction],
) -> str:
    """Return a measured rate and what was promised of it."""

    def draw(axes: Axes) -> None:
        _rates(axes, results, rate_of)
        axes.set_title(title)
        for bound in dict.fromkeys(bounds):
            _bound(axes, float(bound), f"at most {100 * float(bound):g}%")
        axes.set_xlabel("mean loss of a cell (epsilon)")
        axes.set_ylim(bottom=0)

    return _svg(draw, name)


def _rates(axes: Axes, results: AlarmResults, rate_of: Callable[[Measured], Rate]) -> None:
    factors = sorted({one.setting.factor for one in results.measured})
    shown = False
    for mechanism, line, dash in _lines(results):
        known = [one for one in line if rate_of(one).value is not None]
        shown = shown or bool(known)
        rates = [rate_of(one) for one in known]
        values = [100 * (rate.value or 0.0) for rate in rates]
        bars = [
            [max(0.0, at - 100 * rate.interval[0]) for at, rate in zip(values, rates, strict=True)],
            [max(0.0, 100 * rate.interval[1] - at) for at, rate in zip(values, rates, strict=True)],
        ]
        look = _look(mechanism, dash)
        means = [one.losses.mean for one in known]
        axes.errorbar(
            means, values, yerr=bars, capsize=2.5, elinewidth=0.9, label=mechanism, **look
        )
        sizes = [12 + 16 * factors.index(one.setting.factor) for one in known]
        axes.scatter(means, values, s=sizes, color=look["color"], zorder=look["zorder"] + 0.1)
    if not shown:
        axes.text(0.5, 0.5, "no such cell", transform=axes.transAxes, ha="center", va="center")


def _bound(axes: Axes, rate: float, text: str) -> None:
    """Draw a promised rate across a panel."""
    axes.axhline(100 * rate, color=_INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(
        text,
        (1, 100 * rate),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        xytext=(0, 3),
        ha="right",
        fontsize=8,
    )


def _look(mechanism: str, dash: str) -> dict[str, Any]:
    """Return how a mechanism is drawn; baselines lie below the others."""
    above = mechanism not in BASELINES
    return {"color": _STAND_INS[mechanism], "linestyle": dash, "zorder": 2.2 + 0.2 * above}


def _lines(results: AlarmResults) -> Iterable[tuple[str, list[Measured], str]]:
    """Yield, per mechanism and max_fnr, its settings by tolerance, and how the line is dashed."""
    groups: dict[tuple[str, Any], list[Measured]] = {}
    for one in results.measured:
        if one.setting.at_end(results.query):
            continue
        groups.setdefault((one.setting.mechanism, one.setting.aim.max_fnr), []).append(one)
    rates = sorted({rate for _, rate in groups}, reverse=True)
    for mechanism in MECHANISM_COLOURS:
        for rate in rates:
            line = sorted(groups.get((mechanism, rate), []), key=lambda one: one.setting.factor)
            if line:
                yield mechanism, line, _DASHES[rates.index(rate) % len(_DASHES)]


def _at_configured_tolerance(results: AlarmResults) -> list[Measured]:
    """Return one setting per mechanism, as near to the configuration as was tried."""
    asked = results.query.aim

    def distance(one: Measured) -> tuple[float, float]:
        return (
            abs(float(one.setting.factor) - 1),
            abs(float(one.setting.aim.max_fnr - asked.max_fnr)),
        )

    tried = (
        [one for one in results.measured if one.setting.mechanism == mechanism]
        for mechanism in MECHANISM_COLOURS
    )
    return [min(each, key=distance) for each in tried if each]


def _svg(draw: Callable[[Axes], None], name: str) -> str:
    """Return a drawing in which every mechanism is named once, below."""
    with rc_context(_STYLE):
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots()
        figure.patch.set_alpha(0)
        axes.patch.set_alpha(0)
        draw(axes)
        handles, labels = axes.get_legend_handles_labels()
        if once := dict(zip(labels, handles, strict=True)):
            handles, labels = list(once.values()), list(once)
            figure.legend(handles, labels, loc="outside lower center", ncols=_COLUMNS)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return _inline(written.getvalue(), name)


def _inline(text: str, name: str) -> str:
    """Return an SVG file as an element of a page: no prologue, names of its own, its colours."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\b(id|xlink:href|clip-path)="(#|url\(#)?', rf'\1="\2{name}-', text)
    text = re.sub(r"url\(#(?!" + re.escape(name) + ")", f"url(#{name}-", text)
    text = re.sub(r"; font-family: [^;\"]*", "", text)
    replaced = {_INK: "currentColor", _GRID: "var(--grid)"}
    for mechanism, stand_in in _STAND_INS.items():
        replaced[stand_in] = f"var({MECHANISM_COLOURS[mechanism]})"
    for stand_in, colour in replaced.items():
        text = text.replace(stand_in, colour)
    return re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"', r'<svg \1role="img"', text, count=1)
