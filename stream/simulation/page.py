"""A simulation as one HTML page: tables, plots and what they mean; nothing is loaded from anywhere.

The page itself is ``templates/page.html``. Importing this imports matplotlib.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from operators.registry import ALL
from stream.planning.pages import template_of
from stream.simulation.advice import CAVEAT, advice_on
from stream.simulation.plots import (
    MECHANISM_COLOURS,
    entropy_plot,
    false_plot,
    loss_plot,
    missed_plot,
)
from stream.simulation.results import AUDIENCE
from stream.simulation.tables import (
    delay_ms,
    delay_steps,
    facts,
    own_tolerance,
    tolerance_cell,
    untried_lines,
    warnings_on,
)
from stream.windows.shown import delay_text

if TYPE_CHECKING:
    from stream.simulation.results import AlarmResults, Measured, Simulation

__all__ = ["html_page"]


def html_page(simulation: Simulation) -> str:
    """Return the whole page.

    Args:
        simulation: what was found out.
    """
    return template_of("stream.simulation", "page.html").render(
        file=simulation.alarms.file,
        audience=_sentence(AUDIENCE),
        caveat=CAVEAT,
        simulation=simulation,
        sections=[
            _section(results, simulation, at) for at, results in enumerate(simulation.results)
        ],
        tolerance_cell=tolerance_cell,
        delays=_delays,
        colours={name: ALL[name].colours for name in MECHANISM_COLOURS},
    )


def _section(results: AlarmResults, simulation: Simulation, at: int) -> dict[str, Any]:
    """Return what the template says of one alarm, the one of number ``at`` on the page."""
    several = len(results.query.aim.tolerances) > 1
    return {
        "results": results,
        "advice": advice_on(results),
        "facts": facts(results, simulation),
        "own_tolerance": own_tolerance(results) if several else None,
        "notes": [f"{note.plain}." for note in warnings_on(results)],
        "figures": _figures(results, at) if results.measured else [],
        "untried": untried_lines(results),
    }


def _delays(one: Measured, results: AlarmResults) -> list[tuple[str, str]]:
    """Return the median and the 95% delay of an early alarm, each with its name."""
    spans = [delay_ms(steps, results) for steps in delay_steps(one)[:2]]
    told = ["\u2013" if span is None else delay_text(span) for span in spans]
    return list(zip(("median delay", "95% delay"), told, strict=True))


class _Figure(NamedTuple):
    """A drawing, labelled for those who cannot see it, and what it shows."""

    svg: str
    caption: str

    @classmethod
    def of(cls, svg: str, caption: str) -> _Figure:
        label = f'role="img" aria-label="{escape(caption)}"'
        return cls(svg.replace('role="img"', label, 1), caption)


def _figures(results: AlarmResults, at: int) -> list[_Figure]:
    """Return the drawings of one alarm."""
    drawn = [
        _Figure.of(
            missed_plot(results, name=f"missed{at}"),
            "True alarms that were missed, against what they cost. Every dot is a tolerance, a"
            " larger dot a wider one; bars are 95% intervals.",
        ),
        _Figure.of(
            false_plot(results, name=f"false{at}"), "False alarms that rang, drawn likewise."
        ),
        _Figure.of(
            loss_plot(results, name=f"loss{at}"),
            "What cells really lost, at the configured tolerance: the further left, the better.",
        ),
    ]
    if len(results.query.domain) > 1:
        drawn.append(
            _Figure.of(
                entropy_plot(results, name=f"entropy{at}"),
                "How unsure an adversary stays: the higher, the better.",
            )
        )
    return drawn


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
