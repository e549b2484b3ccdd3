"""Operators by the name they have in a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from operators.nlm import Nlm
from operators.progressive import Dppwlm, Ppwlm
from operators.tslm import Tslm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from operators.atoms import IntegerTest
    from operators.base import Operator, Plan, Promise

__all__ = ["MECHANISMS", "create", "price"]

MECHANISMS: Final[tuple[str, ...]] = ("tslm", "ppwlm", "dppwlm")
"""Mechanisms that keep the whole promise; the others are for experiments."""

_PLANNERS: Final[Mapping[str, Callable[[IntegerTest, Promise], Operator]]] = {
    "tslm": Tslm.planned,
    "ppwlm": Ppwlm.planned,
    "dppwlm": Dppwlm.planned,
    "nlm": Nlm.planned,
}
_PRICERS: Final[Mapping[str, Callable[[IntegerTest, Promise], Plan]]] = {"tslm": Tslm.priced}


def create(
    mechanism: str, test: IntegerTest, promise: Promise, *, experimental: bool = False
) -> Operator:
    """Plan the operator of one query.

    Args:
        mechanism: its name as in the configuration.
        test: the query's integer test.
        promise: what the analyst asked for.
        experimental: also allow mechanisms that do not keep the promise (never set from a
            configuration file).

    Raises:
        ConfigError: an unknown or experimental mechanism, or a promise it cannot keep.
    """
    known = ", ".join(MECHANISMS)
    planner = _PLANNERS.get(mechanism)
    if planner is None:
        raise ConfigError(f"unknown mechanism {mechanism!r}", hint=f"write one of: {known}")
    if mechanism not in MECHANISMS and not experimental:
        raise ConfigError(
            f"mechanism {mechanism!r} does not keep max_fnr and is for experiments only",
            hint=f"write one of: {known}",
        )
    return planner(test, promise)


def price(mechanism: str, test: IntegerTest, promise: Promise) -> Plan:
    """Return the plan of :func:`create`'s operator, without making what only decisions need.

    Args:
        mechanism: its name as in the configuration.
        test: the query's integer test.
        promise: what the analyst asked for.

    Raises:
        ConfigError: as :func:`create`.
    """
    pricer = _PRICERS.get(mechanism)
    return create(mechanism, test, promise).plan if pricer is None else pricer(test, promise)
