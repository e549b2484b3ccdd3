"""What mechanisms give away of one row together, as a trade-off function: the maximum overlap.

A row is in some of the regions; what is known of it is the product of their trade-off functions,
and of whoever is the worst row the lower envelope of these products.

Source: Parallel Composition, Theorems 5 and 6. Proofs: ``docs/research/proofs/tradeoff.md``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from accountant.arguments import expect, instance_of, several
from accountant.errors import ArgumentError
from accountant.loss.maxoverlap.solver import maximum_overlap
from accountant.loss.tradeoff.curve import TradeOff, lower_envelope
from accountant.loss.tradeoff.families import identity
from accountant.loss.tradeoff.product import PIECES, Between, tensor, tensor_power
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape, row_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["overlapping"]

_MOST_PRODUCTS: Final = 32
"""More kinds of rows than this are not told apart."""


def overlapping(
    regions: Sequence[Region], curves: Sequence[TradeOff], pieces: int = PIECES
) -> Between:
    """Return bounds of the maximum overlap of mechanisms, each about its own region.

    All of them together are private by ``low``. Where rows are of at most 32 kinds (by the curves
    of the regions that hold them, those left out that others go beyond), both bounds are those of
    their products. Else ``low`` takes as many times the envelope of all curves as regions can share
    a row, and ``high`` is what one row loses.

    Args:
        regions: where each mechanism looks; an empty one counts nothing.
        curves: how private each is, in their order.
        pieces: as in :func:`tensor`.

    Raises:
        ValueError: as many curves as regions are needed.

    Source: Parallel Composition, Theorem 6.
    """
    expect(several(instance_of(Region)), regions=regions)
    expect(several(instance_of(TradeOff)), curves=curves)
    if len(regions) != len(curves):
        raise ArgumentError(
            "as many trade-off functions as regions are needed",
            hint="give one for every region, in their order",
        )
    nothing = identity()
    counted = [
        (region, curve)
        for region, curve in zip(regions, curves, strict=True)
        if not region.empty and curve != nothing
    ]
    if not counted:
        return Between(nothing, nothing)
    kinds = _kinds(counted)
    if kinds is None:
        return _coarse(counted, pieces)
    products = [tensor(list(kind.elements()), pieces) for kind in kinds]
    return Between(
        lower_envelope([each.low for each in products]),
        lower_envelope([each.high for each in products]),
    )


def _kinds(counted: Sequence[tuple[Region, TradeOff]]) -> list[Counter[TradeOff]] | None:
    """Return the curves that rows of each kind are in, without kinds that lose less than another.

    ``None`` where there are too many.
    """
    shapes = {Shape(region.canonical, f"{at}"): curve for at, (region, curve) in enumerate(counted)}
    classes = row_classes(frozenset(shapes))
    if classes is None:
        return None
    kinds: list[Counter[TradeOff]] = []
    for members in classes:
        kind = Counter(shapes[shape] for shape in members)
        if not any(kind <= other for other in kinds):
            kinds = [other for other in kinds if not other <= kind]
            kinds.append(kind)
    return kinds if len(kinds) <= _MOST_PRODUCTS else None


def _coarse(counted: Sequence[tuple[Region, TradeOff]], pieces: int) -> Between:
    """Return bounds by how many regions share a row."""
    regions, curves = zip(*counted, strict=True)
    overlap = maximum_overlap(regions)
    most = int(overlap.upper_bound)
    if most == len(counted):
        low = tensor(curves, pieces).low
    else:
        low = tensor_power(lower_envelope(curves), most, pieces).low
    return Between(low, tensor([curves[at] for at in overlap.members], pieces).high)
