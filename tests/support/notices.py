"""Notices of every kind, as decisions and alarms lead to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from stream.decisions.lifecycle import State, step
from stream.model.lifecycles import Lifecycle
from tests.support.published import HOUR_MS, alarm_of, decision_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.decisions.lifecycle import Notice

__all__ = ["PUBLISHED_MS", "notices"]

PUBLISHED_MS = 2 * HOUR_MS
_TERMS = Lifecycle(
    labels={"severity": "page"},
    annotations={"summary": "{alarm} is {status} since {since}"},
)


@dataclass(frozen=True, slots=True)
class _Hour:
    rings: bool = False
    denied: bool = False
    unanswered: int = 0
    whole: bool = True


_HOURS = (
    _Hour(rings=True),
    _Hour(rings=True),
    _Hour(denied=True),
    _Hour(unanswered=1),
    _Hour(whole=False),
    _Hour(),
)


def notices(predicate: Mapping[str, str]) -> list[Notice]:
    """Return what is said while a predicate rings twice, gets no answer three times, and is silent.

    Without an answer are a denied window, one in which a run was spent, and one whose alarms are
    not all there; the last decision is of a version that did not say when the next window begins.

    Args:
        predicate: the group's values by field.
    """
    state, found = State(), []
    for number, hour in enumerate(_HOURS):
        alarms = [alarm_of(number, predicate)] if hour.rings else []
        decision = decision_of(
            number, denied=hour.denied, unanswered=hour.unanswered, alarms=alarms
        )
        if number == len(_HOURS) - 1:
            decision = msgspec.structs.replace(decision, next_start="")
        state, said = step(state, decision, alarms, _TERMS, whole=hour.whole)
        found += said
    return found
