"""Operators by the name they have in a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from accountant.errors import ConfigError
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.formulas.tslm import SharedTslm
from operators.single.adapter import Single, promise_of
from operators.single.nlm import Nlm
from operators.single.progressive import Dppwlm, Ppwlm
from operators.single.tslm import Tslm
from operators.svt.mechanism import Svt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from operators.base import Operator, Plan, Promise
    from operators.conditions.atoms import IntegerTest
    from operators.conditions.condition import Aim, Condition
    from operators.single.adapter import CellOperator

__all__ = ["MECHANISMS", "PHASED", "RUN_MECHANISMS", "create", "price"]

MECHANISMS: Final[tuple[str, ...]] = ("tslm", "ppwlm", "dppwlm", "probe", "probe-ent")
"""Mechanisms that keep the promise on misses, window by window."""
RUN_MECHANISMS: Final[tuple[str, ...]] = ("svt",)
"""Those that keep it question by question and share a budget between windows: runs with a state.

All that is neither here nor there is for experiments.
"""

PHASED: Final = frozenset({"probe", "probe-ent"})
"""Mechanisms with a first phase of its own tolerance."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Maker:
    """How a mechanism is made: for one literal, and for formulas of any size (or not at all)."""

    literal: Callable[[IntegerTest, Promise], CellOperator] | None = None
    literal_price: Callable[[IntegerTest, Promise], Plan] | None = None
    formula: Callable[[Condition, Aim], Operator] | None = None
    formula_price: Callable[[Condition, Aim], Plan] | None = None


_MAKERS: Final[Mapping[str, _Maker]] = {
    "tslm": _Maker(Tslm.planned, Tslm.priced, SharedTslm.planned, SharedTslm.priced),
    "ppwlm": _Maker(Ppwlm.planned),
    "dppwlm": _Maker(Dppwlm.planned),
    "nlm": _Maker(Nlm.planned),
    "probe": _Maker(formula=Probe.planned, formula_price=Probe.priced),
    "probe-ent": _Maker(formula=ProbeEnt.planned, formula_price=ProbeEnt.priced),
    "svt": _Maker(formula=Svt.planned, formula_price=Svt.priced),
}


def create(
    mechanism: str, condition: Condition, aim: Aim, *, experimental: bool = False
) -> Operator:
    """Plan the operator of one query.

    Args:
        mechanism: its name as in the configuration.
        condition: when a cell should ring.
        aim: what the analyst asked for.
        experimental: also allow mechanisms that do not keep the promise (never set from a
            configuration file).

    Raises:
        ConfigError: an unknown or experimental mechanism, one that does not take several literals,
            or an aim it cannot keep.
        ValueError: not one tolerance per atom.
    """
    maker = _maker(mechanism, condition, aim, experimental=experimental)
    if maker.literal is not None and len(condition.formula.literals) == 1:
        literal = condition.formula.literals[0]
        operator = maker.literal(condition.test(literal), promise_of(aim))
        return Single(condition=condition, operator=operator)
    return _for_formulas(mechanism, maker.formula)(condition, aim)


def price(mechanism: str, condition: Condition, aim: Aim) -> Plan:
    """Return the plan of :func:`create`'s operator, without making what only decisions need.

    Args:
        mechanism: its name as in the configuration.
        condition: when a cell should ring.
        aim: what the analyst asked for.

    Raises:
        ConfigError: as :func:`create`.
        ValueError: not one tolerance per atom.
    """
    maker = _maker(mechanism, condition, aim, experimental=False)
    if maker.literal is None or len(condition.formula.literals) > 1:
        return _for_formulas(mechanism, maker.formula_price)(condition, aim)
    if maker.literal_price is None:
        return create(mechanism, condition, aim).plan
    return maker.literal_price(condition.test(condition.formula.literals[0]), promise_of(aim))


def _maker(mechanism: str, condition: Condition, aim: Aim, *, experimental: bool) -> _Maker:
    names = (*MECHANISMS, *RUN_MECHANISMS)
    known = ", ".join(names)
    maker = _MAKERS.get(mechanism)
    if maker is None:
        raise ConfigError(f"unknown mechanism {mechanism!r}", hint=f"write one of: {known}")
    if mechanism not in names and not experimental:
        raise ConfigError(
            f"mechanism {mechanism!r} does not keep max_fnr and is for experiments only",
            hint=f"write one of: {known}",
        )
    if len(aim.tolerances) != len(condition.formula.atoms):
        raise ValueError("an aim has one tolerance for each atom of the formula")
    return maker


def _for_formulas(
    mechanism: str, make: Callable[[Condition, Aim], T] | None
) -> Callable[[Condition, Aim], T]:
    if make is None:
        raise ConfigError(
            f"mechanism {mechanism!r} decides one comparison, and this condition combines several",
            hint="write mechanism: probe-ent, or tslm",
        )
    return make
