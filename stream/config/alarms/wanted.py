"""Alarms that say what is wanted and leave how to ``tocsin plan``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from operators.registry import DEFAULT
from stream.config.alarms.mechanism_keys import AUTO
from stream.config.keys import AUTO_TOLERANCE

if TYPE_CHECKING:
    from stream.config.keys import AlarmModel

__all__ = ["open_keys", "settled"]

_ALSO_FOUND: Final = ("max_fpr", "max_alarms")


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
        *(key for key in _ALSO_FOUND if getattr(model.mechanism, key) is None),
    )


def settled(model: AlarmModel, open_: tuple[str, ...]) -> AlarmModel:
    """Return an alarm with defaults in the place of its open keys, to be read as any other."""
    update: dict[str, object] = {}
    if "tolerance" in open_:
        update["tolerance"] = {"": Fraction(0)}
    if "mechanism" in open_:  # how many alarms a run has is no question of the one that stands in
        stand_in = {"name": DEFAULT.name, "max_alarms": None}
        update["mechanism"] = model.mechanism.model_copy(update=stand_in)
    return model.model_copy(update=update)
