"""What more traversals of the queue bring: the SVT-Exp paper's Figures 8 and 11."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.papers.pages import prose, table
from benchmarks.papers.svt.methods import BEST, NAMES
from benchmarks.papers.svt.plots import curves
from benchmarks.papers.svt.study import (
    NO_APPEND,
    RIVALS,
    TRAVERSALS,
    ahead,
    average,
    behind,
    counted,
    duels,
    higher,
)
from benchmarks.papers.svt.trials import CAPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchmarks.papers.svt.study import Measure, Results
    from benchmarks.papers.svt.trials import Scored

__all__ = ["figure_8", "figure_11"]

_VARIED: Final = 0.5  # epsilon of the plots: where traversals matter most

_MEAN: Final = "SVT-Exp, mean"


def figure_8(found: Results, folder: Path) -> Iterator[str]:
    """Yield the section on NCR by traversals, and write its plot."""
    yield "## Figure 8: more traversals"
    yield ""
    yield from _opening(found, "ncr", folder / "traversals.png")
    found = counted(found)
    first, tenth, last = (average(found, BEST, cap) for cap in (1, 10, CAPS[-1]))
    rival_first, rival_last = (average(found, "SVT-Lap", cap) for cap in (1, CAPS[-1]))
    settled = average(found, BEST, TRAVERSALS)
    lost = {cap: [each for each in duels(found, RIVALS, cap) if each.behind] for cap in CAPS}
    early = dict.fromkeys(each.data for each in lost[NO_APPEND])
    yield prose(f"""**Agrees.** With one traversal the optimal correction is too high and not always
ahead; a few more are enough, {tenth:.3f} of the final {last:.3f} after ten, up from {first:.3f}.
What the others gain is next to nothing ({rival_first:.3f} to {rival_last:.3f} for SVT-Lap): they
have given all c answers in the first traversal, wrong ones among them.

**Does not.** The paper puts the need for more traversals on T40I10D100K alone, and has it over in
less than five. Here it falls behind by more than two standard errors on
{", ".join(early) or "no data set"} with one traversal ({len(lost[1])} cases), in {len(lost[5])}
cases with 5, {len(lost[10])} with 10, {len(lost[20])} with 20 and {len(lost[50])} with 50. From
{TRAVERSALS} traversals on next to nothing changes ({settled:.3f} and {last:.3f}). The paper lets
the budget vary with the traversals; here epsilon is the same for all, as traversals are free.""")
    yield ""


def figure_11(found: Results, folder: Path) -> Iterator[str]:
    """Yield the section on F1 by traversals, and write its plot."""
    yield "## Figure 11: F1 by traversals"
    yield ""
    yield from _opening(found, "f1", folder / "f1_traversals.png")
    found = counted(found)
    first, tenth, last = (average(found, BEST, cap, "f1") for cap in (1, 10, CAPS[-1]))
    rival_first, rival_last = (average(found, "SVT-Lap", cap, "f1") for cap in (1, CAPS[-1]))
    lost = {cap: behind(duels(found, RIVALS, cap, measure="f1")) for cap in CAPS}
    falling = {
        name: (_at(every, NO_APPEND), _at(every, CAPS[-1]))
        for (name, epsilon), every in found.items()
        if epsilon == _VARIED and _at(every, NO_APPEND) > _at(every, CAPS[-1])
    }
    fallen = ", ".join(f"{name} {one:.3f} to {last:.3f}" for name, (one, last) in falling.items())
    ncr = behind(duels(found, RIVALS, NO_APPEND))
    gains = average(found, BEST, CAPS[-1]) - average(found, BEST, NO_APPEND)
    yield prose(f"""**Agrees.** The trends are those of NCR: {first:.3f} with one traversal,
{tenth:.3f} with ten and {last:.3f} in the end, where SVT-Lap stays at {rival_first:.3f} to
{rival_last:.3f}.

**Does not.** As in Figure 8, more than one data set needs them: with one traversal it is behind by
more than two standard errors in {lost[NO_APPEND]} cases (NCR: {ncr}), with 5 in {lost[5]}, with 10
in {lost[10]}, with 20 in {lost[20]} and with 100 in {lost[100]}. F1 gains less by them than NCR,
{last - first:.3f} and {gains:.3f}, and may fall: at epsilon = {_VARIED:g} on
{fallen or "none of them"}.""")
    yield ""


def _by_cap(found: Results, measure: Measure) -> Iterator[str]:
    """Yield the table of averages and of cases won and lost by number of traversals.

    Args:
        found: the runs that count.
        measure: NCR or F1.
    """
    names = (BEST, _MEAN, "SVT-Lap", "SVT-Exp, none", "SVT-Gau")
    rows = []
    for cap in CAPS:
        means = (f"{average(found, name, cap, measure):.3f}" for name in names)
        every = (duels(found, of, cap, measure=measure) for of in (RIVALS, (_MEAN,)))
        won = (f"{higher(cases)} / {ahead(cases)} / {behind(cases)}" for cases in every)
        rows.append((str(cap), *means, *won))
    yield from table(("traversals", *names, "rivals", "mean correction"), rows)
    yield ""


def _at(every: Mapping[str, Scored], cap: int) -> float:
    """Return the mean F1 of SVT-Exp with the optimal correction."""
    return float(every[BEST].f1[:, CAPS.index(cap)].mean())


def _opening(found: Results, measure: Measure, path: Path) -> Iterator[str]:
    label = measure.upper()
    yield f"![{label} by traversals at epsilon = {_VARIED:g}]({path.name})"
    yield ""
    panels = {
        f"{name}, epsilon = {epsilon:g}": {
            method: getattr(every[method], measure).mean(axis=0).tolist() for method in NAMES
        }
        for (name, epsilon), every in found.items()
        if epsilon == _VARIED
    }
    curves(path, CAPS, "traversals of the queue", panels, label)
    found = counted(found)
    yield f"Average {label} over data sets and epsilons; then the cases in which SVT-Exp, optimal"
    yield "is higher / higher by more than two standard errors / lower by more than two, against"
    yield f"its three rivals ({len(duels(found, RIVALS, 1))} cases) and against the mean correction"
    yield f"({len(found)})."
    yield ""
    yield from _by_cap(found, measure)
