"""The keys of a mechanism: what stands under ``mechanism: {svt: {...}}``, and who reads which.

Every key is declared once, in :class:`MechanismModel`; a mechanism's own mapping has those of them
that its descriptor names (``operators.descriptors.Mechanism.keys``), and no others.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, WrapValidator, create_model
from pydantic_core import PydanticUndefined

from operators.deciders import DECIDER_NAMES
from operators.descriptors import WINDOW_KEYS, Mechanism
from operators.registry import DEFAULT, OFFERED
from operators.svt.terms import MOST_ALARMS, MOST_QUESTIONS
from stream.config.closed import Closed
from stream.config.scalars import (
    Epsilon,
    Name,
    Probability,
    Text,
    Whole,
    closest,
    within,
    wrong,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.config.yamlfile import Loc

__all__ = [
    "AUTO",
    "OWN_KEYS",
    "MechanismModel",
    "Mechanisms",
    "Release",
    "WrittenMechanism",
    "refusal",
]

AUTO: Final = "auto"
"""Written where something is left to ``tocsin plan``."""

if TYPE_CHECKING:
    DeciderName = str
else:
    DeciderName = Literal[AUTO, *DECIDER_NAMES]

Release = Literal["alarms", "counts"]
"""What leaves of an alarm's windows: which groups ring, or their noisy counts, too."""

RepeatIn = Literal["window", "run"]
"""Where a cell that did not ring is asked again: at once, or among the next window's cells."""

BoundedError = Literal["fnr", "fpr"]
"""Which rate holds up to the threshold itself: misses, or false alarms."""


class ReferenceModel(Closed):
    """What a band lies around: a number, a table's value such as ``usual[shop]``, or a feed."""

    short: ClassVar[str] = "value"

    value: Text | None = None
    """a number, or a public table's value for a group field: usual[shop]"""
    feed: Name | None = None
    """a public feed without personal data: the same aggregate of it"""


class BoundModel(Closed):
    """What a decider asks of its private bound of the values."""

    theta: Probability | None = None
    """fraction of the events that the bound does not change, as 0.95"""
    epsilon: Epsilon | None = None
    """the bound's part of the alarm's epsilon; default: a third"""


class LevelsModel(Closed):
    """Which noise levels a progressive mechanism reads."""

    first: Epsilon | None = None
    """epsilon of the coarsest level; at most a tenth of the last level's"""
    rounds: Whole | None = None
    """number of levels in geometric progression, with the first and the last"""
    refinement: Whole | None = None
    """number of equal parts of the interval between two levels"""
    finest_share: Probability | None = None
    """fraction of max_fnr and max_fpr for the last level"""


def _up_to(most: int) -> WrapValidator:
    return within(1, f"{{key}} is not from 1 to {most:,}", "write {key}: 10", most)


class MechanismModel(Closed):
    """How an alarm is decided: a mechanism, and the keys of all of them."""

    name: str = DEFAULT.name
    max_fpr: Probability | None = None
    """highest probability of a false alarm beyond the tolerance; default: max_fnr"""
    max_fnr_given_no_alarm: Probability | None = None
    """highest probability of a miss given that the SVT run has not fired yet"""
    bounded_error: BoundedError = "fnr"
    """the error that is bounded right up to the threshold: fnr (misses) or fpr (false alarms)"""
    levels: LevelsModel | None = None
    """noise levels of a progressive mechanism"""
    max_alarms: Annotated[Whole, _up_to(MOST_ALARMS)] | None = None
    """alarms that end one SVT run"""
    repeat: Annotated[Whole, _up_to(MOST_QUESTIONS)] | None = None
    """how often one group of one window is queried, until it fires"""
    repeat_in: RepeatIn | None = None
    """where it is queried again: in the same window, or among the groups of the next"""
    release: Release = "alarms"
    """what is published of a window: alarms, or also the noisy counts of its groups"""
    decider: DeciderName | None = None
    """how a band is decided; auto takes the one with the highest utility"""
    bound: BoundModel | None = None
    """how decider: svt bounds the values privately"""
    epsilon: Epsilon | None = None
    """of a band: epsilon for one group in one window, in quotes"""
    reference: ReferenceModel | None = None
    """centre of the band: a number, usual[shop], or {feed: forecast}"""

    @property
    def reference_feed(self) -> str | None:
        """The feed that a band's reference is counted on, if it is."""
        return None if self.reference is None else self.reference.feed

    def at(self, key: str) -> Loc:
        """Return where a key of the mechanism stands, from the alarm on."""
        return ("mechanism", self.name, key)


_LEFT_OPEN: Final = Mechanism(
    name=AUTO, releases="tocsin lock chooses one", keys=(*WINDOW_KEYS, "max_alarms")
)
_WRITTEN: Final = {**OFFERED, AUTO: _LEFT_OPEN}

OWN_KEYS: Final = {
    name: tuple(key for key in MechanismModel.model_fields if key in one.keys)
    for name, one in _WRITTEN.items()
}
"""Which keys stand under the name of each mechanism."""


def refusal(key: str, mechanism: str) -> tuple[str, str] | None:
    """Return why a mechanism does not read a key, and a hint; ``None`` where no mechanism does."""
    if key in (refused := _WRITTEN[mechanism].refuses):
        return refused[key]
    readers = [name for name, one in OFFERED.items() if key in one.keys]
    if not readers:
        return None
    message = f"mechanism {mechanism} has no key {key}"
    return message, f"remove {key}, or use mechanism: {', '.join(readers)}"


class _Own(Closed):
    """What stands under the name of a mechanism."""

    said_by = MechanismModel


class _Mechanisms(Closed):
    """One mechanism by its name, alone or with its keys."""

    words: ClassVar[tuple[str, ...]] = tuple(_WRITTEN)


_Mechanisms.said_by = _Mechanisms  # its keys have descriptions of their own


def _own(mechanism: Mechanism) -> Any:
    """Return the model of what stands under the name of a mechanism."""
    fields: dict[str, Any] = {}
    for key in OWN_KEYS[mechanism.name]:
        field = copy(MechanismModel.model_fields[key])
        if key in mechanism.needs:
            field.default = PydanticUndefined
        fields[key] = (field.annotation, field)
    return create_model(mechanism.name, __base__=_Own, **fields)


_OF_EACH: Any = {
    name: (_own(one) | None, Field(default=None, description=one.releases))
    for name, one in _WRITTEN.items()
}
Mechanisms = create_model("Mechanisms", __base__=_Mechanisms, **_OF_EACH)
"""What reads a mapping with one of the mechanisms."""


def _read(value: Any, read: Callable[[Any], Any]) -> MechanismModel:
    """Return the one mechanism that is written, its keys beside its name."""
    names = [value.strip()] if isinstance(value, str) else list(value)
    if len(names) != 1 or isinstance(value, list):
        message = "an alarm takes exactly one mechanism"
        raise wrong(message, "write mechanism: {svt: {max_alarms: 3}}")
    (name,) = names
    if name not in _WRITTEN:
        raise wrong("unknown mechanism", closest(name, OFFERED))
    own = getattr(read({name: {}} if isinstance(value, str) else value), name)
    keys = {key: getattr(own, key) for key in own.model_fields_set}
    return MechanismModel.model_construct(name=name, **keys)


if TYPE_CHECKING:
    WrittenMechanism = MechanismModel
else:
    WrittenMechanism = Annotated[Mechanisms, WrapValidator(_read)]
