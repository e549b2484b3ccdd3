"""Mechanisms by the name they have in a configuration: one line for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accountant.arguments import TEXT, expect
from accountant.errors import ConfigError
from operators.deciders.mechanism import DECIDER
from operators.descriptors import check_asked
from operators.formulas.mirrored import Mirrored, mirrored
from operators.formulas.probe import PROBE
from operators.formulas.probe_ent import PROBE_ENT
from operators.panes.windows import PANES
from operators.single.nlm import NLM
from operators.single.progressive import DPPWLM, PPWLM
from operators.single.threshold import TSLM
from operators.svt.mechanism import SVT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from operators.base import Band, Operator, Plan
    from operators.conditions.condition import Aim, Condition
    from operators.descriptors import Mechanism

__all__ = [
    "ALL",
    "DEFAULT",
    "MECHANISMS",
    "OFFERED",
    "RUN_MECHANISMS",
    "create",
    "mechanism_of",
    "price",
]

ALL: Final[Mapping[str, Mechanism]] = {
    each.name: each
    for each in (
        TSLM,
        PPWLM,
        DPPWLM,
        PROBE,
        PROBE_ENT,
        SVT,
        PANES,
        DECIDER,
        NLM,
    )
}
"""Every mechanism by its name, in the order in which they are listed and drawn."""

DEFAULT: Final = TSLM
"""What decides where nothing else is written: no other keeps the promise of one window for less."""

OFFERED: Final = {name: one for name, one in ALL.items() if one.promised}
"""Those that a configuration may name."""

MECHANISMS: Final = tuple(name for name, one in OFFERED.items() if one.by_window)
"""Names of those that keep the promise on misses, window by window."""
RUN_MECHANISMS: Final = tuple(name for name, one in OFFERED.items() if one.run is not None)
"""Names of those that keep it question by question and share a budget between windows."""


def mechanism_of(name: str) -> Mechanism:
    """Return a mechanism by its name.

    Raises:
        ConfigError: there is none of this name.
    """
    expect(TEXT, mechanism=name)
    found = ALL.get(name)
    if found is None:
        raise ConfigError(f"unknown mechanism {name!r}", hint=_HINT)
    return found


def create(
    mechanism: str,
    condition: Condition,
    aim: Aim,
    *,
    band: Band | None = None,
    experimental: bool = False,
) -> Operator:
    """Plan the operator of one query.

    Args:
        mechanism: its name as in the configuration.
        condition: when a cell should ring.
        aim: what the analyst asked for.
        band: what is watched instead, by a mechanism of bands.
        experimental: also allow mechanisms that do not keep the promise (never set from a
            configuration file).

    Raises:
        ConfigError: an unknown or experimental mechanism, one that does not take the condition, or
            an aim it cannot keep.
        ValueError: not one tolerance per atom.
    """
    found = _allowed(mechanism, experimental=experimental)
    check_asked(condition, aim)
    if aim.promise == "false_alarms":
        return Mirrored(found.operator(*mirrored(condition, aim), band))
    return found.operator(condition, aim, band)


def price(mechanism: str, condition: Condition, aim: Aim, *, band: Band | None = None) -> Plan:
    """Return the plan of :func:`create`'s operator, without making what only decisions need.

    Args:
        mechanism: its name as in the configuration.
        condition: when a cell should ring.
        aim: what the analyst asked for.
        band: what is watched instead.

    Raises:
        ConfigError: as :func:`create`.
        ValueError: not one tolerance per atom.
    """
    found = _allowed(mechanism, experimental=False)
    check_asked(condition, aim)
    if aim.promise == "false_alarms":
        return found.price(*mirrored(condition, aim), band)
    return found.price(condition, aim, band)


_HINT: Final = f"write one of: {', '.join((*MECHANISMS, *RUN_MECHANISMS))}"


def _allowed(name: str, *, experimental: bool) -> Mechanism:
    found = mechanism_of(name)
    if not found.promised and not experimental:
        raise ConfigError(
            f"mechanism {name!r} is for experiments only: it does not bound misses by max_fnr",
            hint=_HINT,
        )
    return found
