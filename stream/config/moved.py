"""What is said of keys that have another name, stand elsewhere, or belong to another mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from operators.registry import OFFERED
from stream.config.alarms.mechanism_keys import OWN_KEYS, refusal
from stream.config.closed import keys_of
from stream.config.delivery.keys import LifecycleModel
from stream.config.keys import TimingModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream.config.findings import Problem
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

_PLACES: Final = {
    **{
        key: f"mechanism: {{{name}: {{{key}: ...}}}}"
        for name, keys in reversed(OWN_KEYS.items())
        for key in keys
    },
    **{key: f"lifecycle: {{{key}: ...}}" for key in keys_of(LifecycleModel)},
    **{key: f"timing: {{{key}: ...}}" for key in TimingModel.model_fields},
}
"""Where keys belong that do not stand beside an alarm's own."""


def misplaced_keys(model: AlarmModel) -> Iterator[Problem]:
    """Yield where, what is wrong and a hint, for keys beside an alarm's own that it cannot have."""
    how, timing = model.mechanism, model.timing
    for holder, key in ((model, "tolerance"), (model, "hold"), (timing, "reference_timeout")):
        written = key in holder.model_fields_set and getattr(holder, key) is not None
        if written and key not in OFFERED[how.name].keys:
            at = ("timing", key) if holder is timing else key
            yield at, *(refusal(key, how.name) or ("", ""))


def of_place(loc: Loc) -> tuple[str, str] | None:
    """Return what is wrong with a key that is not read at its place, and where it belongs.

    Args:
        loc: the key's path.

    Returns:
        ``None`` where it belongs nowhere.
    """
    section, key, now = str(loc[0]), str(loc[-1]), _RENAMED.get(str(loc[0]), {}).get(str(loc[-1]))
    message = f"`{key}` is `{now}` now" if now else f"`{key}` is not a key of an alarm itself"
    match loc:
        case ("alarms", _, _) if key in _GONE:
            return f"`{key}` is gone: one noise decides a condition of any comparisons", "remove it"
        case ("alarms", _, _) if (now or key) in _PLACES:
            return message, f"write it under {_PLACES[now or key]}"
        case ("alarms", _, "mechanism", name, *_):
            said = refusal(now or key, str(name))
            return (message, said[1]) if said and now else said
    plain = section == "budget" or len(loc) == len(("alarms", "name", "key"))
    return (message, f"write {now}: ...") if now and plain else None
