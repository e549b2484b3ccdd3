"""Which setting a custodian may want, in words, and what is wrong with choosing it this way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stream.config.alarms.tolerances import tolerance_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream.simulation.results import AlarmResults, Measured

__all__ = ["CAVEAT", "Advice", "advice_on", "described"]

CAVEAT: Final = (
    "This was chosen by looking at private data: a setting picked this way tells something about"
    " the history, which no budget accounts for. Choose on a history outside the live budget (older"
    " than its first period, or of people it does not protect), or on synthetic events."
)


@dataclass(frozen=True, slots=True)
class Advice:
    """What one might do.

    Args:
        best: the cheapest setting that keeps at least what the configuration asks for and fits.
        wider: a cheaper one that fits and asks for less, if there is one.
        text: both in words.
    """

    best: Measured | None
    wider: Measured | None
    text: str


def advice_on(results: AlarmResults) -> Advice:
    """Return the cheapest setting by mean realised loss whose worst case the budget carries.

    A wider uncertain region always costs less, so what is cheapest is said twice: among settings
    that ask for no less than the configuration, and among all.
    """
    able = [
        each
        for each in results.measured
        if each.fits
        and each.keeps
        and not each.setting.baseline
        and not each.setting.at_end(results.query)
    ]
    best = _cheapest(each for each in able if _as_strict(each, results))
    wider = _cheapest(able)
    if not results.measured:
        return Advice(None, None, "Nothing that was tried can answer this alarm.")
    if wider is None:
        return Advice(None, None, "None of these settings fits the budget: see `tocsin plan`.")
    if best is None:
        text = (
            "No setting that asks for as much as the configuration fits the budget. The cheapest"
            f" that fits is {described(wider, results)}: {_paid(wider)}."
        )
        return Advice(None, wider, text)
    text = f"Cheapest for what you ask: {described(best, results)}: {_paid(best)}."
    if best.setting.configured:
        text = f"Your own setting is the cheapest for what you ask: {_paid(best)}."
    if wider is best:
        return Advice(best, None, text)
    text += (
        f" Cheaper, but asking for less: {described(wider, results)}: {_paid(wider)};"
        f" it rings in {_share(wider.uncertain.value)} of the cells where either answer counts as"
        f" right ({_share(_uncertain_share(wider))} of all cells, before"
        f" {_share(_uncertain_share(best))})."
    )
    return Advice(best, wider, text)


def described(one: Measured, results: AlarmResults) -> str:
    """Return a setting as a configuration writes it."""
    query, aim, mechanism = results.query, one.setting.aim, one.setting.mechanism
    tolerance = tolerance_text(query, aim.tolerances)
    return f"mechanism: {mechanism}, tolerance: {tolerance}, max_fnr: {float(aim.max_fnr):g}"


def _cheapest(candidates: Iterable[Measured]) -> Measured | None:
    return min(
        candidates,
        key=lambda each: (each.charged * each.losses.mean, each.charged * each.plan.epsilon),
        default=None,
    )


def _as_strict(one: Measured, results: AlarmResults) -> bool:
    asked, aim = results.query.aim, one.setting.aim
    return aim.max_fnr <= asked.max_fnr and all(
        tried <= own for tried, own in zip(aim.tolerances, asked.tolerances, strict=True)
    )


def _paid(one: Measured) -> str:
    mean, worst = (one.charged * each for each in (one.losses.mean, float(one.plan.epsilon)))
    who = "a cell" if one.charged == 1 else f"an event in {one.charged} windows"
    return f"{who} loses {mean:.3g} on average and {worst:.3g} at worst"


def _uncertain_share(one: Measured) -> float:
    tally = one.tally
    return tally.uncertain / (tally.true + tally.false + tally.uncertain)


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.1%}"
