"""What ``check`` warns of in a band alarm: cells that ring as they should be, and silent ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from operators.conditions.widths import Relative, half_widths
from operators.deciders import (
    Average,
    ExponentialBand,
    LaplaceBand,
    Quantile,
    effective_from,
    kept_from,
)
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from operators.deciders import Decider, Kind
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.config.sql.bands import BandAsked
    from stream.config.yamlfile import Loc

__all__ = ["BandWarnings", "at_decider"]

_FARTHEST: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class BandWarnings:
    """Warns of one band alarm, in ``findings``.

    Args:
        model: the alarm's keys.
        asked: its band.
        unit: what one unit of the aggregate is in the field's own unit.
        findings: receives the warnings.
    """

    model: AlarmModel
    asked: BandAsked
    unit: Fraction
    findings: Findings

    def tell(self, decider: Decider, kind: Kind, references: NDArray[np.int64] | None) -> None:
        """Warn of empty cells, of what is kept from a distance on only, and of narrow bands.

        Args:
            decider: planned for the alarm.
            kind: its aggregate.
            references: shape (cells,), int64; ``None`` where they are counted.
        """
        tau: int | None = None
        if not isinstance(decider.tau, Relative):
            tau = decider.tau
        elif references is not None:
            tau = int(half_widths(decider.tau, references).min())
        if isinstance(kind, Quantile | Average):
            rings = "it rings"
            if isinstance(kind, Quantile) and decider.name == "em":
                rings = "a draw decides about an empty cell"
            self.findings.warn(
                "sql",
                f"{self.asked.measure.text} of nothing is within no band: {rings}",
                "take predicates that may stay empty out of the domain, or expect their alarms",
                offset=self.asked.measure.offset,
            )
        if decider.name != "tight":
            self._warn_of_misses(decider, tau)
        if isinstance(kind, Quantile | Average) or tau is None:
            return
        least = effective_from(decider, kind, self.model.max_fnr)
        if least is not None and tau < least:
            self._warn_of_width(decider, least)

    def _warn_of_width(self, decider: Decider, least: int) -> None:
        """Say from what half-width, or reference, on cells that meet it seldom ring."""
        distance, hint = decimal(least * self.unit), "write a larger band, or a larger epsilon"
        reached = f"from {distance} on, its effectiveness threshold"
        if isinstance(decider.tau, Relative):
            reached = (
                f"from a reference of {decimal(decider.tau.reached_from(least) * self.unit)} on"
            )
        if least >= _FARTHEST:
            reached, hint = "from no half-width on", "write a larger epsilon"
        self.findings.warn(
            "sql",
            f"the band is narrow for this epsilon: {decider.name} is right with probability"
            f" {float(1 - self.model.max_fnr):g} about a cell that meets its reference {reached}",
            hint,
            offset=self.asked.tau_offset,
        )

    def _warn_of_misses(self, decider: Decider, tau: int | None) -> None:
        """Say where a decider keeps max_fnr, if not everywhere outside its band."""
        promised = f"max_fnr {decimal(self.model.max_fnr)}"
        message = f"no distance is known from which {decider.name} keeps {promised}"
        if isinstance(decider, LaplaceBand | ExponentialBand) and tau is not None:
            kept = kept_from(decider, float(self.model.max_fnr), tau)
            message = f"{decider.name} keeps {promised} at no distance from its reference"
            if kept is not None:
                distance = decimal(kept * self.unit)
                message = f"{decider.name} keeps {promised} from a distance of {distance} on only"
                if isinstance(decider.tau, Relative):
                    message += ", where the reference is least"
        hint = "write decider: tight, which keeps it everywhere outside the band"
        self.findings.warn(at_decider(self.model), message, hint)


def at_decider(model: AlarmModel) -> Loc:
    """Return where an alarm's decider is chosen."""
    return ("mechanism",) if model.mechanism.decider is None else model.mechanism.at("decider")
