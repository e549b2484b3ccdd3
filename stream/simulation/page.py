"""A simulation as one HTML page: tables, plots and what they mean; nothing is loaded from anywhere.

Importing this imports matplotlib.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from stream.simulation.advice import CAVEAT, advice_on
from stream.simulation.plots import entropy_plot, loss_plot, rates_plot
from stream.simulation.results import AUDIENCE
from stream.simulation.tables import (
    NOTHING_TRUE,
    broken,
    facts,
    own_tolerance,
    tolerance_cell,
    untried_lines,
)

if TYPE_CHECKING:
    from stream.simulation.advice import Advice
    from stream.simulation.results import AlarmResults, Measured, Rate, Simulation

__all__ = ["html_page"]

_STYLE: Final = """
:root {
  color-scheme: light dark;
  --page: #fbfbf9; --card: #ffffff; --ink: #1d2430; --quiet: #5c6675; --line: #dfe2e7;
  --grid: #e6e8ec; --own: #eef4ff; --warn: #fff4e0; --warn-ink: #7a4a00; --warn-line: #e8a33d;
  --tslm: #2563eb; --ppwlm: #c2570c; --dppwlm: #15803d; --probe: #a21caf; --probe-ent: #0e7490;
  --nlm: #6b7280;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171c; --card: #1c2027; --ink: #e6e9ee; --quiet: #9aa4b2; --line: #323944;
    --grid: #2c323b; --own: #1f2b40; --warn: #35290f; --warn-ink: #ffd591; --warn-line: #a8741a;
    --tslm: #6ea8fe; --ppwlm: #fb9a55; --dppwlm: #55c27d; --probe: #e27bec; --probe-ent: #4cc3dc;
    --nlm: #a3abb8;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 1.2rem 0 .2rem; line-height: 1.2; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .3rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p { max-width: 48rem; margin: .5rem 0; }
.quiet { color: var(--quiet); }
.only { background: var(--warn); color: var(--warn-ink); border: 1px solid var(--warn-line);
  border-radius: .5rem; padding: .7rem 1rem; font-weight: 600; max-width: none; }
.advice { background: var(--card); border: 1px solid var(--line); border-left: .3rem solid
  var(--tslm); border-radius: .4rem; padding: .7rem 1rem; max-width: none; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  padding: .7rem 1rem; overflow-x: auto; font-size: .85rem; line-height: 1.45; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
  gap: 1rem; margin: 1rem 0; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .8rem; min-width: 0; }
figure.wide { grid-column: 1 / -1; }
figure svg { display: block; width: 100%; height: auto; color: var(--ink); }
figure svg text { font-family: inherit; }
figcaption { color: var(--quiet); font-size: .85rem; margin-top: .5rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--card); }
table { border-collapse: collapse; width: 100%; font-size: .87rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .42rem .7rem; text-align: right; white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; vertical-align: bottom; }
thead tr:last-child th { border-bottom: 1px solid var(--line); }
thead .group { text-align: center; border-bottom: 1px solid var(--line); }
tbody tr + tr td { border-top: 1px solid var(--line); }
td:first-child, th:first-child { text-align: left; }
tr.own td { background: var(--own); font-weight: 600; }
tr.base td { color: var(--quiet); }
td small { color: var(--quiet); font-weight: 400; display: block; line-height: 1.2; }
.dot { display: inline-block; width: .65rem; height: .65rem; border-radius: 50%;
  margin-right: .45rem; }
.mark { font-size: .72rem; font-weight: 600; border: 1px solid currentColor;
  border-radius: .3rem; padding: 0 .3rem; margin-left: .4rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.2rem; max-width: 60rem; }
dt { font-weight: 600; } dd { margin: 0; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .6rem; } }
@media print { .scroll { overflow: visible; } figure { break-inside: avoid; } }
"""

_MEASURES: Final = {
    "missed": (
        "the measured false negative rate (FNR): of all cells (one predicate of one window) whose"
        " condition is true of the exact counts, how many did not ring. It is promised to be at"
        " most max_fnr for every cell by itself; the mean over a history is usually far less, since"
        " most true cells lie well beyond their threshold."
    ),
    "false": (
        "the measured false positive rate (FPR): of all cells that are false beyond their"
        " tolerance, how many rang. A cell is false beyond tolerance where the condition would"
        " not even hold with every comparison granted twice its tolerance."
    ),
    "uncertain rang": (
        "of the cells between the two, how many rang. There either answer counts as right; a"
        " larger tolerance costs less and makes these cells more."
    ),
    "worst epsilon": (
        "the loss of one cell at worst, known before any data is read; it is reserved in the"
        " budget. Whether it fits is what `tocsin plan` says of all alarms together."
    ),
    "mean to max": (
        "what a cell really lost (ex post), which is settled in the budget. Mechanisms that stop"
        " early lose little on cells far from their threshold."
    ),
    "dearest cells": (
        "what one person loses to a window at most: the sum over the dearest cells that one person"
        " reaches; mean over the windows."
    ),
    "min-entropy": (
        "the least uncertainty left to an adversary who guesses which predicate a record"
        " satisfies, by the realised losses, as a share of what there was before: 1 where nothing"
        " was lost, near 0 where the adversary may be sure (MIDE, Definition 6); mean over the"
        " windows."
    ),
    "intervals": (
        "Clopper-Pearson, at 95% confidence: about the mechanism on this history, not about what"
        " another history would show."
    ),
}


def html_page(simulation: Simulation) -> str:
    """Return the whole page.

    Args:
        simulation: what was found out.
    """
    sections = "".join(
        _section(results, simulation, at) for at, results in enumerate(simulation.results)
    )
    name = escape(simulation.alarms.file)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>Simulation of {name}: custodian only</title>\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<p class="only">{escape(_sentence(AUDIENCE))}</p>\n'
        f"<h1>Simulation of {name}</h1>\n"
        f'<p class="quiet">Every window of the history was decided {simulation.runs} times with'
        " fresh noise, for every setting below. No ledger was opened, nothing was charged and"
        " nothing was released.</p>\n"
        f"{sections}{_legend()}</main>\n</body>\n</html>\n"
    )


def _section(results: AlarmResults, simulation: Simulation, at: int) -> str:
    advice = advice_on(results)
    several = len(results.query.aim.tolerances) > 1
    nothing = bool(results.measured) and not results.measured[0].tally.true
    notes = [f"{_sentence(NOTHING_TRUE)}: the miss rate cannot be measured."] * nothing
    notes += [
        f"{which} missed more than max_fnr allows: please report this." for which in broken(results)
    ]
    return (
        f'<section>\n<h2 id="alarm-{at}">{escape(results.query.id)}</h2>\n'
        f'<p class="quiet">{escape(facts(results, simulation))}</p>\n'
        f"<pre>{escape(results.query.sql.strip())}</pre>\n"
        + (f'<p class="quiet">{escape(own_tolerance(results))}</p>\n' if several else "")
        + f'<p class="advice">{escape(advice.text)}<br><span class="quiet">{escape(CAVEAT)}</span>'
        "</p>\n"
        + "".join(f'<p class="only">{escape(note)}</p>\n' for note in notes)
        + (_plots(results, at) + _table(results, simulation, advice) if results.measured else "")
        + _untried(results)
        + "</section>\n"
    )


def _plots(results: AlarmResults, at: int) -> str:
    drawn = [
        _figure(
            rates_plot(results, name=f"rates{at}"),
            "Misses and false alarms against what they cost. Every dot is a tolerance, a larger dot"
            " a wider one; bars are 95% intervals.",
            wide=True,
        ),
        _figure(
            loss_plot(results, name=f"loss{at}"),
            "What cells really lost, at the configured tolerance: the further left, the better.",
        ),
    ]
    if results.counted.cells > 1:
        drawn.append(
            _figure(
                entropy_plot(results, name=f"entropy{at}"),
                "How unsure an adversary stays: the higher, the better.",
            )
        )
    return f'<div class="plots">\n{"".join(drawn)}</div>\n'


def _figure(svg: str, caption: str, *, wide: bool = False) -> str:
    labelled = svg.replace('role="img"', f'role="img" aria-label="{escape(caption)}"', 1)
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}>{labelled}<figcaption>{escape(caption)}</figcaption></figure>\n"


def _table(results: AlarmResults, simulation: Simulation, advice: Advice) -> str:
    dearest = simulation.by_person
    cells = results.counted.cells > 1
    columns = ["mechanism", "tolerance", "max_fnr", "missed %", "false %", "uncertain rang %"]
    columns += ["worst", "mean", "median", "95%", "max"]
    columns += [f"dearest {simulation.reached[results.query.id]} cells"] * dearest
    columns += ["min-entropy"] * cells + ["fits"]
    losses = 5 + dearest
    heading = (
        '<tr><th colspan="3"></th><th class="group" colspan="3">measured rates</th>'
        f'<th class="group" colspan="{losses}">epsilon</th><th colspan="{1 + cells}"></th></tr>'
        "<tr>" + "".join(f"<th>{escape(each)}</th>" for each in columns) + "</tr>"
    )
    rows = "".join(_row(one, results, simulation, advice) for one in results.measured)
    return (
        f'<div class="scroll"><table><thead>{heading}</thead>\n<tbody>\n{rows}</tbody></table>'
        "</div>\n"
    )


def _row(one: Measured, results: AlarmResults, simulation: Simulation, advice: Advice) -> str:
    setting, losses = one.setting, one.losses
    marks = ["configured"] * setting.configured + ["recommended"] * (one is advice.best)
    marks += ["baseline"] * setting.baseline
    name = (
        f'<span class="dot" style="background: var(--{escape(setting.mechanism)})"></span>'
        + escape(setting.mechanism)
        + "".join(f'<span class="mark">{mark}</span>' for mark in marks)
    )
    cells = [
        name,
        escape(tolerance_cell(setting, results)),
        f"{float(setting.aim.max_fnr):g}",
        *(_rate(rate) for rate in (one.fnr, one.fpr, one.uncertain)),
        f"{float(one.plan.epsilon):.3g}",
        f"{losses.mean:.3g}",
        f"{losses.quantile(0.5):.3g}",
        f"{losses.quantile(0.95):.3g}",
        f"{losses.most:.3g}",
    ]
    cells += [f"{one.dearest.mean:.3g}"] * simulation.by_person
    cells += [f"{one.entropy:.3f}"] * (results.counted.cells > 1)
    cells.append("yes" if one.fits else "no")
    kind = ' class="own"' if setting.configured else ' class="base"' if setting.baseline else ""
    return f"<tr{kind}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "&ndash;"
    low, high = rate.interval
    return f"{100 * rate.value:.3g}<small>{100 * low:.3g} to {100 * high:.3g}</small>"


def _untried(results: AlarmResults) -> str:
    if not results.untried:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in untried_lines(results))
    return f"<h3>Not tried</h3>\n<ul>{items}</ul>\n"


def _legend() -> str:
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in _MEASURES.items()
    )
    return f'<section>\n<h2 id="measures">What is measured</h2>\n<dl>{items}</dl>\n</section>\n'


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
