"""What is said of keys that have another name, stand elsewhere, or belong to another mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from operators.registry import OFFERED
from stream.config.alarms.mechanism_keys import OWN_KEYS, refusal
from stream.config.delivery.keys import LifecycleModel
from stream.config.keys import TimingModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream.config.keys import AlarmModel
    from stream.config.yamlfile import Loc

__all__ = ["misplaced_keys", "of_place"]

_RENAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "budget": {
        "unit": "privacy_unit",
        "promise": "privacy",
        "on_overrun": "on_shortfall",
        "predicates_per_window": "max_groups_per_window",
        "events_per_cell": "max_events_per_group",
        "windows_per_period": "max_windows_per_period",
    },
    "alarms": {
        "usual": "baseline",
        "false_rings": "false_alarms",
        "max_fnr_in_silence": "max_fnr_given_no_alarm",
        "promise": "bounded_error",
        "alarms_per_period": "max_alarms",
        "append": "repeat",
        "append_to": "repeat_in",
    },
}
"""By the section of a file, then by the name before."""

_GONE: Final = frozenset({"apportion", "refine", "first_share", "first_tolerance"})
"""Keys of alarms that nothing reads any more: ProBE has its paper's rule, others need none."""

_OF_LIFECYCLES: Final = frozenset(
    field.alias or name for name, field in LifecycleModel.model_fields.items()
)
_OF_ONE: Final = 3  # a key of an alarm itself: alarms, its name, the key

_ELSEWHERE: Final[dict[str, Loc]] = {
    "tolerance": ("tolerance",),
    "hold": ("hold",),
    "reference_timeout": ("timing", "reference_timeout"),
}
"""Keys that only some mechanisms read, and that yet stand beside those of every alarm."""


def misplaced_keys(model: AlarmModel) -> Iterator[tuple[Loc, str, str]]:
    """Yield where, what is wrong and a hint, for keys beside an alarm's own that it cannot have.

    Args:
        model: the alarm.
    """
    for key, at in _ELSEWHERE.items():
        holder = model.timing if len(at) > 1 else model
        written = key in holder.model_fields_set and getattr(holder, key) is not None
        if written and key not in OFFERED[model.mechanism.name].keys:
            message, hint = refusal(key, model.mechanism.name) or ("", "")
            yield at, message, hint


def of_place(loc: Loc) -> tuple[str, str] | None:
    """Return what is wrong with a key that is not read at its place, and where it belongs.

    Args:
        loc: the key's path.

    Returns:
        ``None`` where it belongs nowhere.
    """
    section, key = str(loc[0]), str(loc[-1])
    now = _RENAMED.get(section, {}).get(key, key)
    message = (
        f"`{key}` is `{now}` now" if now != key else f"`{key}` is not a key of an alarm itself"
    )
    if section == "budget":
        return None if now == key else (message, f"write {now}: ...")
    if section != "alarms":
        return None
    if len(loc) == _OF_ONE:
        return _of_alarm(key, now, message)
    if len(loc) <= _OF_ONE or loc[2] != "mechanism":
        return None
    if (said := refusal(now, str(loc[3]))) is not None:
        return said if now == key else (message, said[1])
    return None


def _of_alarm(key: str, now: str, message: str) -> tuple[str, str] | None:
    if key in _GONE:
        return f"`{key}` is gone: one noise decides a condition of any comparisons", "remove it"
    if key in TimingModel.model_fields:
        return message, f"write it under timing: {{{key}: ...}}"
    if key in _OF_LIFECYCLES:
        return message, f"write it under lifecycle: {{{key}: ...}}"
    for name, keys in OWN_KEYS.items():
        if now in keys:
            return message, f"write it under mechanism: {{{name}: {{{now}: ...}}}}"
    return (message, f"write {now}: ...") if now != key else None
