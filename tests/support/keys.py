"""Keys of an alarm that a test writes apart, put where the configuration has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_TIMING = ("grace", "publish_delay", "decide_timeout", "reference_timeout", "max_age")
_LIFECYCLE = ("for", "of", "resolve_after", "labels", "annotations")
_MECHANISM = (
    *("max_fpr", "max_fnr_given_no_alarm", "bounded_error", "levels", "max_alarms", "repeat"),
    *("repeat_in", "release", "decider", "bound", "epsilon", "reference"),
)
_HOLDER = {
    **dict.fromkeys(_TIMING, "timing"),
    **dict.fromkeys(_LIFECYCLE, "lifecycle"),
    **dict.fromkeys(_MECHANISM, "mechanism"),
}
_TABLE = re.compile(r"^(⟦?)(\w+(?:\[.*\]|, .*))$")
_QUOTED = r"\1'\2'"
"""What a table's value, or one with a comma, is between braces."""
_NAMED = re.compile(r"\{([⟦a-z-]+): \{(.*)\}\}")


def nested(lines: Iterable[str]) -> list[str]:
    """Return lines ``key: value`` with keys of mechanism, timing and lifecycle under these.

    Args:
        lines: one key each, under its holder or not; others are returned as they are. Keys of a
            mechanism that is not named are those of the default one.
    """
    found: list[str] = []
    inside: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        key, _, value = line.partition(": ")
        holder = _HOLDER.get(key, key)
        if holder not in {"mechanism", "timing", "lifecycle"}:
            found.append(line)
            continue
        if holder not in inside:
            found.append(holder)
        held = inside.setdefault(holder, [])
        if holder != key:
            held.append(f"{key}: {_TABLE.sub(_QUOTED, value)}")
        elif holder != "mechanism":
            held.append(value[1:-1])
        elif (match := _NAMED.fullmatch(value)) is not None:
            name = match[1]
            held.append(match[2])
        else:
            name = value
    return [_line(each, name or "tslm", inside.get(each)) for each in found]


def _line(key, name, held):
    if held is None:
        return key
    value = f"{{{', '.join(held)}}}"
    if key == "mechanism":
        value = f"{{{name}: {value}}}" if held else name
    return f"{key}: {value}"
