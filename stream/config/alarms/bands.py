"""Band alarms: from their keys, SQL and reference to what is counted and what decides it.

A band is a public reference, give or take tau. What lies outside should ring: with ``tight`` it
does so but for ``max_fnr``, everywhere; of other deciders, warnings say from what distance on.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import sentence_of
from operators.base import Band
from operators.conditions.condition import Aim
from operators.conditions.widths import Relative, half_widths
from operators.deciders import (
    Average,
    ExponentialBand,
    HistogramBand,
    LaplaceBand,
    OverDomain,
    PrivateBound,
    Quantile,
    TightBand,
    choose,
    effective_from,
    kept_from,
    planned,
)
from stream.config.alarms.band_feeds import GivenBand, feed_reference
from stream.config.alarms.band_statistics import (
    MOST_STATISTICS,
    BandCounting,
    kind_of,
    span_of,
    unit_of,
)
from stream.config.alarms.reduction import COUNTS, Function
from stream.config.alarms.thresholds import as_for, in_steps
from stream.config.findings import Refused
from stream.model.alarm import FirstTolerances
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.conditions.condition import Condition
    from operators.conditions.widths import HalfWidth
    from operators.deciders import Decider, Kind
    from stream.config.yamlfile import Loc
    from stream.model.alarm import AggregateSpec, ReferenceFeed

__all__ = ["MOST_STATISTICS", "BandReader", "ReadAlarm"]

_MOST_COUNTED: Final = 10_000_000
_FARTHEST: Final = 1 << 60
_ONE: Final = Fraction(1)
_REFERENCE: Final = ("mechanism", "decider", "reference")


@dataclass(frozen=True, eq=False)
class ReadAlarm:
    """What an alarm counts, tests and promises.

    Args:
        aggregates: its statistics.
        condition: when a cell should ring.
        aim: what is promised.
        first: what the tolerances of a first phase follow from.
        texts: every atom as SQL, in the order of the condition's formula.
        band: what is watched, where that is a band.
        reference: where the band's references are counted.
    """

    aggregates: tuple[AggregateSpec, ...]
    condition: Condition
    aim: Aim
    first: FirstTolerances
    texts: tuple[str, ...]
    band: Band | None = None
    reference: ReferenceFeed | None = None


@dataclass(frozen=True, slots=True)
class BandReader(GivenBand):
    """Reads one band alarm; errors, warnings and notes go to ``findings``."""

    def read(self) -> ReadAlarm:
        """Return the alarm.

        Raises:
            Refused: it has an error.
        """
        self._check_keys()
        feed_reference = None
        with suppress(Refused):
            feed_reference = self._feed_reference()
        references, tau = self._references(), self._tau()
        if self.findings.errors:
            raise Refused
        measure = self.asked.measure
        try:
            kind = kind_of(measure, self.cap, repeats=self._repeats)
        except ValueError as error:
            message = f"no decider supports {measure.text}: {sentence_of(error)}"
            hint = "write a fraction of fewer decimals, as 0.9"
            raise self.findings.wrong("sql", message, hint, measure.offset) from None
        if feed_reference is None:
            self._refuse_constants(tau, references)
        decider = self._decider(kind, tau)
        # Rows around a reference would have to be counted before it is known.
        waits = feed_reference is not None and isinstance(kind, Quantile)
        if waits and isinstance(decider, TightBand | HistogramBand):
            decider = OverDomain(decider)
        self._check_size(decider)
        counting = BandCounting.of(decider, kind, measure, references=references)
        known = references if feed_reference is None else None
        self._warn(decider, kind, known)
        distance = f"{measure.text} - REFERENCE"
        return ReadAlarm(
            aggregates=counting.aggregates,
            condition=counting.condition,
            aim=Aim(self.model.max_fnr, (0, 0)),
            first=FirstTolerances((None, None)),
            texts=(
                f"{distance} >= {self.asked.tau_text}",
                f"{distance} > -{self.asked.tau_text}",
            ),
            band=Band(decider, references, self._resolution),
            reference=feed_reference,
        )

    @property
    def _repeats(self) -> bool:
        """Whether one event may hide another from some statistics and not from others.

        Under unit ``event``, one that repeats an id counts where it weighs something else. Under
        unit ``user`` both go together; and ``hist`` adds up nothing that this would widen, unless
        it reads its rows off others.
        """
        if self.per_user or self.parsed.feed.id is None:
            return False
        how = self.model.mechanism
        return how.reference_feed is not None or how.decider != "hist"

    @property
    def _epsilon(self) -> Fraction:
        """The loss as written, which ``_check_keys`` asks for."""
        return self.model.mechanism.epsilon or _ONE

    @property
    def _resolution(self) -> Fraction:
        """What one unit of the aggregate is in the field's own unit."""
        return unit_of(self.asked.measure)

    @property
    def _at_decider(self) -> Loc:
        """Where the decider is chosen."""
        how = self.model.mechanism
        return ("mechanism",) if how.decider is None else how.at("decider")

    def _check_keys(self) -> None:
        """Refuse a reference that is none, or two."""
        written = self.model.mechanism.reference
        if written is not None and (written.feed is None) == (written.value is None):
            hint = "write reference: 200, or reference: usual[shop] with tables: {usual: usual.csv}"
            message = "the reference is not a number, a table's value or a feed"
            self.findings.wrong(_REFERENCE, message, hint)

    def _tau(self) -> HalfWidth:
        """Return the half-width in units of the aggregate, or which share of a reference it is."""
        if self.asked.relative:
            return Relative(self.asked.tau)
        with self.findings.placing("sql", offset=self.asked.tau_offset):
            return int(self._in_granules(self.asked.tau, "tau"))

    def _feed_reference(self) -> ReferenceFeed | None:
        """Return where references are counted; ``None`` where they are not."""
        written = self.model.mechanism.reference
        if written is None or written.feed is None or written.value is not None:
            return None
        return feed_reference(self, written.feed)

    def _references(self) -> NDArray[np.int64]:
        """Return the reference of every cell, in granules; 0 where they are counted."""
        at, written = _REFERENCE, self.model.mechanism.reference
        if written is None or written.value is None:
            return np.zeros(len(self.tables.domain), dtype=np.int64)
        if self.model.timing.reference_timeout_ms is not None:
            message = "reference_timeout needs a reference on a feed"
            self.findings.wrong(("timing", "reference_timeout"), message, "remove it")
        return self.tables.per_cell(
            written.value,
            self.parsed.reader,
            lambda number: self._in_granules(number, "reference"),
            at,
            what="reference",
            hint="write reference: 200, or reference: usual[shop]",
            kind=int,
        )

    def _in_granules(self, number: Fraction, what: str) -> Fraction:
        """Return a number in granules."""
        measure, of = self.asked.measure, ""
        if measure.function not in COUNTS:
            part = "a thousandth of " if measure.function is Function.AVG else ""
            of = f"{part}the resolution of `{measure.field}`"
        return in_steps(number, self._resolution, what, of, most=_FARTHEST)

    def _refuse_constants(self, tau: HalfWidth, references: NDArray[np.int64]) -> None:
        """Refuse bands that hold all values of a cell, or none."""
        least, most = span_of(self.asked.measure)
        widths = half_widths(tau, references)
        never = np.zeros(references.shape, dtype=np.bool_)
        if least is not None and most is not None:
            never = (references - widths < least) & (references + widths > most)
        always = np.zeros(references.shape, dtype=np.bool_)
        if least is not None:
            always |= references + widths <= least
        if most is not None:
            always |= references - widths >= most
        for cells, where in ((never, "within"), (always, "outside")):
            if cells.any():
                message = f"{self.asked.measure.text} is always {where} this band"
                message += as_for(self.tables.domain, int(np.flatnonzero(cells)[0]))
                hint = "write another reference, or another tau"
                self.findings.wrong("sql", message, hint, self.asked.offset)
        if self.findings.errors:
            raise Refused

    def _decider(self, kind: Kind, tau: HalfWidth) -> Decider:
        """Return the decider, chosen where that is asked for."""
        name: str = self.model.mechanism.decider or "auto"
        promised, bound = self.model.max_fnr, self.model.mechanism.bound
        at = self._at_decider
        with self.findings.placing(at):
            if name == "auto":
                choice = choose(
                    kind,
                    self._epsilon,
                    tau,
                    promised,
                    boundary=promised,
                    written=lambda number: decimal(number * self._resolution),
                )
                name = choice.decider
                self.findings.note(at, f"decider: auto chooses {name}: {choice.why}")
            if name == "tight" and bound is None:
                return TightBand.planned(kind, self._epsilon, tau, boundary=promised)
            private = None
            if bound is not None:
                private = PrivateBound(bound.theta or PrivateBound().theta, bound.epsilon)
            return planned(name, kind, self._epsilon, tau, promised, bound=private)

    def _check_size(self, decider: Decider) -> None:
        rows, cells = len(decider.statistics), len(self.tables.domain)
        if rows > MOST_STATISTICS or rows * cells > _MOST_COUNTED:
            raise self.findings.wrong(
                self._at_decider,
                f"{decider.name} needs {rows} statistics for {cells} groups; the limit is"
                f" {MOST_STATISTICS} a group and {_MOST_COUNTED} in all",
                "write decider: tight, or declare a coarser resolution for the field",
            )

    def _warn(self, decider: Decider, kind: Kind, references: NDArray[np.int64] | None) -> None:
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
            fires = "the alarm fires"
            if isinstance(kind, Quantile) and decider.name == "em":
                fires = "noise decides whether the alarm fires"
            self.findings.warn(
                "sql",
                f"{self.asked.measure.text} of an empty group is in no band: {fires}",
                "remove groups that may be empty from the domain, or expect their alarms",
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
        distance, hint = (
            decimal(least * self._resolution),
            "write a larger tau, or a larger epsilon",
        )
        reached = f"with a tau of {distance} or more"
        if isinstance(decider.tau, Relative):
            least_reference = decider.tau.reached_from(least) * self._resolution
            reached = f"with a reference of {decimal(least_reference)} or more"
        if least >= _FARTHEST:
            reached, hint = "with a larger epsilon", "write a larger epsilon"
        self.findings.warn(
            "sql",
            f"the band is narrow: at the reference, {decider.name} fires with probability"
            f" {float(self.model.max_fnr):g} or less only {reached}",
            hint,
            offset=self.asked.tau_offset,
        )

    def _warn_of_misses(self, decider: Decider, tau: int | None) -> None:
        """Say where a decider keeps max_fnr, if not everywhere outside its band."""
        promised = f"max_fnr {decimal(self.model.max_fnr)}"
        message = f"it is not known at which distance {decider.name} keeps {promised}"
        if isinstance(decider, LaplaceBand | ExponentialBand) and tau is not None:
            kept = kept_from(decider, float(self.model.max_fnr), tau)
            message = f"{decider.name} keeps {promised} nowhere"
            if kept is not None:
                distance = decimal(kept * self._resolution)
                message = (
                    f"{decider.name} keeps {promised} only at a distance of {distance} or more from"
                )
                message += " the reference"
                if isinstance(decider.tau, Relative):
                    message += ", where that is the smallest"
        hint = "write decider: tight, which keeps it everywhere outside the band"
        self.findings.warn(self._at_decider, message, hint)
