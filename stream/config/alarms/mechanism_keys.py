"""Which keys of an alarm its mechanism reads: one pydantic model for each, and their union.

``stream.config.keys`` knows every key of every mechanism and checks its value. Here each key has to
be one that the alarm's own mechanism reads, as its descriptor says (``operators.base.Mechanism``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Union

from pydantic import ConfigDict, Discriminator, Tag, TypeAdapter, ValidationError, create_model

from operators.registry import ALL, DEFAULT, OFFERED
from stream.config.keys import EXAMPLES
from stream.config.scalars import closest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from operators.descriptors import Mechanism
    from stream.config.keys import AlarmModel

__all__ = ["misplaced_keys", "named_wrongly"]

_OWNED: Final = tuple(dict.fromkeys(key for one in OFFERED.values() for key in one.keys))
_LACKING: Final = {
    "alarms_per_period": "; {mechanism} has no runs of windows",
    "release": "; {mechanism} has no noisy counts to release",
    "hold": "; {mechanism} asks all predicates of a window, or none",
    "levels": "; {mechanism} decides at one level",
    "append": "; {mechanism} has no runs of windows",
    "promise": "; {mechanism} promises misses, and no false alarms, up to the threshold",
    "append_to": "; {mechanism} has no runs of windows",
    "max_fnr_in_silence": "; {mechanism} has no runs: its windows tell nothing of each other",
}
"""What is said of a mechanism that does not read a key, where more can be said than that."""

_HINTS: Final = {"release": "remove it, or write mechanism: {readers}"}


def named_wrongly(mechanism: str) -> tuple[str, str] | None:
    """Return what is wrong with a mechanism's name, and a hint; ``None`` where nothing is."""
    if mechanism in OFFERED:
        return None
    if mechanism in ALL:
        message = f"{mechanism} is a baseline for experiments: it does not keep max_fnr"
        return message, f"write mechanism: {DEFAULT.name}"
    return "this mechanism is not known", closest(mechanism, OFFERED)


def misplaced_keys(model: AlarmModel) -> Iterator[tuple[str, str, str]]:
    """Yield where, what is wrong and a hint, for keys that its mechanism does not read, or lacks.

    Args:
        model: the alarm, of a mechanism that is known.
    """
    written = {"mechanism": model.mechanism}
    for key in _OWNED:
        value = getattr(model, key)
        if key in model.model_fields_set and value is not None:
            written[key] = value
    try:
        _OWN.validate_python(written)
    except ValidationError as error:
        for detail in error.errors():
            key = str(detail["loc"][-1])
            if detail["type"] == "missing":
                message = f"mechanism: {model.mechanism} needs {key}"
                yield "mechanism", message, f"write {EXAMPLES[key]}"
            else:
                yield key, *_refusal(key, model.mechanism)


def _refusal(key: str, mechanism: str) -> tuple[str, str]:
    """Return why a mechanism does not read a key, and a hint."""
    if key in (refused := OFFERED[mechanism].refuses):
        return refused[key]
    readers = " or ".join(name for name, one in OFFERED.items() if key in one.keys)
    lacking = _LACKING.get(key, "; {mechanism} reads none").format(mechanism=mechanism)
    hint = _HINTS.get(key, "remove it, or change mechanism").format(readers=readers)
    return f"{key} is for mechanism: {readers}{lacking}", hint


def _keys_of(mechanism: Mechanism) -> Any:
    name, needs = mechanism.name, mechanism.needs
    fields: dict[str, Any] = {key: (Any, ... if key in needs else None) for key in mechanism.keys}
    own = create_model(name, __config__=ConfigDict(extra="forbid"), mechanism=(str, ...), **fields)
    return Annotated[own, Tag(name)]


_UNION: Any = Annotated[
    Union[tuple(map(_keys_of, OFFERED.values()))],  # noqa: UP007  # made at run time
    Discriminator(lambda written: written["mechanism"]),
]
_OWN: Final = TypeAdapter(_UNION)
