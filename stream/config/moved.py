"""Refusals of keys that belong elsewhere, or to another mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from operators.registry import OFFERED
from stream.config.alarms.mechanism_keys import OWN_KEYS, refusal
from stream.config.closed import keys_of
from stream.config.keys import TimingModel
from stream.config.notify.keys import LifecycleModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.config.findings import Problem
    from stream.config.keys import AlarmModel
    from stream.config.yamlfile import Loc

__all__ = ["misplaced_keys", "of_place"]

_PLACES: Final = {
    **{
        key: f"mechanism: {{{name}: {{{key}: ...}}}}"
        for name, keys in reversed(OWN_KEYS.items())
        for key in keys
    },
    **{key: f"lifecycle: {{{key}: ...}}" for key in keys_of(LifecycleModel)},
    **{key: f"timing: {{{key}: ...}}" for key in keys_of(TimingModel)},
}
"""Where keys belong that do not stand beside an alarm's own."""


def misplaced_keys(model: AlarmModel) -> Iterator[Problem]:
    """Yield where, what is wrong and a hint, for keys beside an alarm's own that it cannot have."""
    how = model.mechanism
    for at, written in (
        (("tolerance",), "tolerance" in model.model_fields_set),
        (("hold",), model.hold is not None),
        (("timing", "reference_timeout"), model.timing.reference_timeout_ms is not None),
    ):
        if written and at[-1] not in OFFERED[how.name].keys:
            yield at, *(refusal(at[-1], how.name) or ("", ""))


def of_place(loc: Loc) -> tuple[str, str] | None:
    """Return what is wrong with a key that is not read at its place, and where it belongs.

    Args:
        loc: the key's path.

    Returns:
        ``None`` where it belongs nowhere.
    """
    match loc:
        case ("alarms", _, key) if key in _PLACES:
            return f"`{key}` is in the wrong place", f"write {_PLACES[str(key)]}"
        case ("alarms", _, "mechanism", name, key):
            return refusal(str(key), str(name))
    return None
