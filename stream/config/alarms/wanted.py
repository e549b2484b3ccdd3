"""Alarms that say what is wanted and leave how to ``tocsin plan``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from operators.registry import DEFAULT
from stream.config.alarms.mechanism_keys import AUTO
from stream.config.keys import AUTO_TOLERANCE

if TYPE_CHECKING:
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.model.alarms import Budget

__all__ = [
    "OPEN_WORDS",
    "WRITTEN_HINT",
    "check_gaussian",
    "check_promise",
    "check_wanted",
    "is_searched",
    "open_keys",
    "settled",
]

OPEN_WORDS: Final = ("mechanism", "tolerance")
"""Keys that may be left open by the word ``auto``."""

WRITTEN_HINT: Final = "write mechanism and tolerance, without false_alarms and max_delay"
"""The hint where an alarm cannot be searched for."""

_ALSO_FOUND: Final = {"max_fpr": "max_fpr", "max_alarms": "alarms_per_period"}


def open_keys(model: AlarmModel) -> tuple[str, ...]:
    """Return the keys that are left to ``tocsin plan``; none of an alarm that says how.

    Left out beside ``false_alarms``, a tolerance is as good as ``auto``, and so is a mechanism
    where the tolerance is open too: each alone has a default.
    """
    written = model.model_fields_set
    tolerance = model.tolerance is AUTO_TOLERANCE or (
        model.false_alarms is not None and "tolerance" not in written
    )
    mechanism = model.mechanism.name == AUTO or (tolerance and "mechanism" not in written)
    if not tolerance and not mechanism:
        return ()
    found = ["mechanism"] * mechanism + ["tolerance"] * tolerance
    return (
        *found,
        *(what for key, what in _ALSO_FOUND.items() if getattr(model.mechanism, key) is None),
    )


def settled(model: AlarmModel, open_: tuple[str, ...]) -> AlarmModel:
    """Return an alarm with defaults in the place of its open keys, to be read as any other."""
    if not open_:
        return model
    update: dict[str, object] = {}
    if "tolerance" in open_:
        update["tolerance"] = {"": Fraction(0)}
    if "mechanism" in open_:  # how many alarms a run has is no question of the one that stands in
        stand_in = {"name": DEFAULT.name, "max_alarms": None}
        update["mechanism"] = model.mechanism.model_copy(update=stand_in)
    return model.model_copy(update=update)


def check_gaussian(open_: tuple[str, ...], budget: Budget, findings: Findings) -> None:
    """Refuse keys that are left to `tocsin plan`: it does not plan under a Gaussian promise.

    Args:
        open_: keys that `tocsin plan` is to find.
        budget: the wall; of a pure one, nothing is refused.
        findings: receives errors.
    """
    if budget.gaussian is not None and open_:
        what = f"{' and '.join(open_)} cannot be left to `tocsin plan` under it"
        findings.wrong((), f"privacy: gdp: {what}", "write them, or privacy: pure", key=True)


def check_promise(model: AlarmModel, open_: tuple[str, ...], findings: Findings) -> None:
    """Refuse a promise on false alarms that lacks its rate, or whose rest is to be found."""
    if model.mechanism.bounded_error == "fnr":
        return
    at = model.mechanism.at("bounded_error")
    if model.mechanism.max_fpr is None:
        message = "bounded_error: fpr needs max_fpr: it is the bound"
        findings.wrong(at, message, "write max_fpr: 0.05")
    if is_searched(model, open_):
        message = "bounded_error: fpr leaves nothing to be found: tocsin plan searches for"
        message += " alarms that bound misses"
        findings.wrong(at, message, WRITTEN_HINT)


def is_searched(model: AlarmModel, open_: tuple[str, ...]) -> bool:
    """Return whether ``tocsin plan`` looks for ways to make an alarm, or checks its own."""
    return bool(open_) or model.false_alarms is not None or model.max_delay is not None


def check_wanted(model: AlarmModel, open_: tuple[str, ...], findings: Findings) -> None:
    """Refuse a number of false alarms without a baseline, and open keys without either.

    A longest delay is read where ways are looked for or checked, so that it takes both as well.
    """
    if not is_searched(model, open_):
        return
    missing = [key for key in ("baseline", "false_alarms") if getattr(model, key) is None]
    if missing:
        findings.wrong(
            (),
            "false alarms are counted where aggregates are at their baseline, and what is left to"
            f" `tocsin plan` is found by them: {' and '.join(missing)} is missing",
            "write baseline: 60 and false_alarms: 1 per week, or a mechanism and a tolerance",
            key=True,
        )
