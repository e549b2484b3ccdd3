"""Band alarms: from their keys, SQL and reference to what is counted and what decides it.

A band is a public reference, give or take tau. What lies outside should ring: with ``tight`` it
does so but for ``max_fnr``, everywhere; of other deciders, warnings say from what distance on.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import sentence_of
from accountant.errors import ConfigError
from operators.base import Band
from operators.conditions.condition import Aim
from operators.conditions.widths import Relative, half_widths
from operators.deciders import (
    Average,
    HistogramBand,
    OverDomain,
    PrivateBound,
    Quantile,
    TightBand,
    choose,
    planned,
)
from stream.config.alarms.band_statistics import (
    MOST_STATISTICS,
    counting_of,
    in_units,
    kind_of,
    reference_aggregates,
)
from stream.config.alarms.reduction import COUNTS, FARTHEST, Function
from stream.config.alarms.thresholds import as_for, in_steps
from stream.config.findings import Refused
from stream.config.scalars import closest
from stream.config.sql.nodes import SqlProblem
from stream.model.alarm import FirstTolerances, ReferenceFeed
from stream.model.feeds import Clock
from stream.model.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from operators.conditions.condition import Condition
    from operators.conditions.widths import HalfWidth
    from operators.deciders import Decider, Kind
    from stream.config.alarms.thresholds import ThresholdReader
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.config.sql.bands import BandAsked
    from stream.config.sql.comparisons import Measure
    from stream.config.sql.select import ParsedQuery
    from stream.model.alarm import AggregateSpec
    from stream.model.feeds import Feed

__all__ = ["BandReader", "ReadAlarm"]

_MOST_COUNTED: Final = 10_000_000
_DECIDER: Final = ("mechanism", "decider", "decider")
_REFERENCE: Final = ("mechanism", "decider", "reference")
_CONSTANT: Final = "write reference: 200, or reference: usual[shop] with tables: {usual: usual.csv}"
_ALWAYS: Final = (-math.inf, math.inf)


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
class BandReader:
    """Reads one band alarm, as it is written.

    Args:
        model: the alarm's keys.
        parsed: its SQL.
        asked: the band in it.
        tables: reads public tables for the alarm's domain.
        cap: how many events of one neighbour may count in a cell.
        per_user: whether a neighbour is a person.
        findings: receives errors, warnings and notes.
        feeds: declared feeds.
        reread: its SQL read against another feed; raises ``SqlProblem``.
    """

    model: AlarmModel
    parsed: ParsedQuery
    asked: BandAsked
    tables: ThresholdReader
    cap: int
    per_user: bool
    findings: Findings
    feeds: Mapping[str, Feed]
    reread: Callable[[Feed], ParsedQuery]

    def read(self) -> ReadAlarm:
        """Return the alarm.

        Raises:
            Refused: it has an error.
        """
        references, feed_reference = np.zeros(len(self.tables.domain), dtype=np.int64), None
        with suppress(Refused):
            references, feed_reference = self._reference(references)
        tau = self._tau()
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
        aggregates, condition = counting_of(decider, kind, measure, references)
        self._warn(decider, kind)
        distance = f"{measure.text} - REFERENCE"
        return ReadAlarm(
            aggregates=aggregates,
            condition=condition,
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
    def _resolution(self) -> Fraction:
        """What one unit of the aggregate is in the field's own unit."""
        return in_units(self.asked.measure).unit

    def _tau(self) -> HalfWidth:
        """Return the half-width in units of the aggregate, or which share of a reference it is."""
        if self.asked.relative:
            return Relative(self.asked.tau)
        with self.findings.placing("sql", offset=self.asked.tau_offset):
            return self._in_granules(self.asked.tau, "tau")

    def _reference(
        self, nothing: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], ReferenceFeed | None]:
        """Return the reference of every cell, in granules, or nothing and where it is counted."""
        written = self.model.mechanism.reference
        if written is None:
            return nothing, None
        if (written.feed is None) == (written.value is None):
            message = "the reference is not a number, a table's value or a feed"
            raise self.findings.wrong(_REFERENCE, message, _CONSTANT)
        if written.feed is not None:
            return nothing, self._feed_reference(written.feed)
        if self.model.timing.reference_timeout_ms is not None:
            message = "reference_timeout needs a reference on a feed"
            self.findings.wrong(("timing", "reference_timeout"), message, "remove it")
        references = self.tables.per_cell(
            written.value or "",
            self.parsed.reader,
            lambda number: Fraction(self._in_granules(number, "reference")),
            _REFERENCE,
            what="reference",
            hint=_CONSTANT,
            kind=int,
        )
        return references, None

    def _feed_reference(self, name: str) -> ReferenceFeed:
        """Return where the references are counted.

        Raises:
            Refused: something does not fit.
        """
        at = (*_REFERENCE, "feed")
        with self.findings.placing(at):
            if name not in self.feeds:
                raise ConfigError(f"`{name}` is not a feed", hint=closest(name, self.feeds))
            feed = self.feeds[name]
            read = self._read_on(feed)
            counted = self.asked.measure if read.band is None else read.band.measure
            self._check(feed, counted)
            aggregates = self._counted(feed, counted)
        if feed.clock is Clock.APPEND_TIME:
            self.findings.note(
                at,
                f"references that are late in `{name}` count as 0; use clock: watermarks there if"
                " it may lag",
            )
        timeout_ms = self.model.timing.reference_timeout_ms or self.model.timing.decide_timeout_ms
        return ReferenceFeed(feed, read.where, *aggregates, timeout_ms)

    def _read_on(self, feed: Feed) -> ParsedQuery:
        """Return the alarm's SQL as read against a feed."""
        try:
            return self.reread(feed)
        except SqlProblem as problem:
            hint = problem.hint or "declare these fields as in the alarm's feed"
            message = f"the SQL does not fit `{feed.name}`: {problem.message}"
            raise ConfigError(message, hint=hint) from None

    def _check(self, feed: Feed, measure: Measure) -> None:
        """Refuse other windows, other groups, or another unit of the aggregate."""
        own = self.parsed.feed
        (first, last), (start, end) = (each.history or _ALWAYS for each in (feed, own))
        if own.clock is Clock.WATERMARKS and (
            feed.clock is not own.clock or first > start or end > last
        ):
            raise ConfigError(
                f"windows of `{own.name}`, with clock: watermarks, may never end in `{feed.name}`",
                hint=f"write clock: watermarks and the same history in `{feed.name}`",
            )
        unlike = [
            name
            for name in self.parsed.group
            if feed.fields[name].domain != own.fields[name].domain
        ]
        name = measure.field
        if measure.function not in COUNTS and name is not None:
            same = feed.fields[name].resolution == own.fields[name].resolution
            unlike += [] if same else [name]
        if unlike:
            raise ConfigError(
                f"`{unlike[0]}` has another domain or resolution in `{feed.name}` than in"
                f" `{own.name}`",
                hint="declare the same domain and resolution; clips may differ",
            )

    def _counted(
        self, feed: Feed, measure: Measure
    ) -> tuple[tuple[AggregateSpec, ...], Average | Quantile | None]:
        """Return what is counted on a feed; of a quantile, at every resolution of its clip."""
        if measure.function is Function.QUANTILE:
            points = measure.hi - measure.lo + 1
            if points > MOST_STATISTICS:
                raise ConfigError(
                    f"the clip of `{measure.field}` in `{feed.name}` has {points} steps; a"
                    f" {measure.text} of a feed takes at most {MOST_STATISTICS}",
                    hint="declare a coarser resolution or a narrower clip, or use a table",
                )
        try:
            return reference_aggregates(measure, len(self.tables.domain))
        except ValueError as error:
            raise ConfigError(f"{measure.text}: {sentence_of(error)}", hint=_CONSTANT) from None

    def _in_granules(self, number: Fraction, what: str) -> int:
        """Return a number in granules."""
        measure, of = self.asked.measure, ""
        if measure.function not in COUNTS:
            part = "a thousandth of " if measure.function is Function.AVG else ""
            of = f"{part}the resolution of `{measure.field}`"
        return in_steps(number, self._resolution, what, of, most=FARTHEST)

    def _refuse_constants(self, tau: HalfWidth, references: NDArray[np.int64]) -> None:
        """Refuse bands that hold all values of a cell, or none."""
        least, most = in_units(self.asked.measure).ends
        widths = half_widths(tau, references)
        low, high = references - widths, references + widths
        never, always = (low < least) & (high > most), (high <= least) | (low >= most)
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
        how, promised = self.model.mechanism, self.model.max_fnr
        name, bound = how.decider or "auto", how.bound
        epsilon = how.epsilon or Fraction(1)  # one without is refused before
        with self.findings.placing(_DECIDER):
            if name == "auto":
                choice = choose(
                    kind,
                    epsilon,
                    tau,
                    promised,
                    boundary=promised,
                    written=lambda number: decimal(number * self._resolution),
                )
                name = choice.decider
                self.findings.note(_DECIDER, f"decider: auto chooses {name}: {choice.why}")
            if name == "tight" and bound is None:
                return TightBand.planned(kind, epsilon, tau, boundary=promised)
            private = None
            if bound is not None:
                private = PrivateBound(bound.theta or PrivateBound().theta, bound.epsilon)
            return planned(name, kind, epsilon, tau, promised, bound=private)

    def _check_size(self, decider: Decider) -> None:
        rows, cells = len(decider.statistics), len(self.tables.domain)
        if rows > MOST_STATISTICS or rows * cells > _MOST_COUNTED:
            raise self.findings.wrong(
                _DECIDER,
                f"{decider.name} needs {rows} statistics for {cells} groups; the limit is"
                f" {MOST_STATISTICS} a group and {_MOST_COUNTED} in all",
                "write decider: tight, or declare a coarser resolution for the field",
            )

    def _warn(self, decider: Decider, kind: Kind) -> None:
        """Warn of empty cells, and of a decider that does not keep max_fnr everywhere."""
        if isinstance(kind, Quantile | Average):
            self.findings.warn(
                "sql",
                f"{self.asked.measure.text} of an empty group is in no band: the alarm may fire",
                "remove groups that may be empty from the domain, or expect their alarms",
                offset=self.asked.measure.offset,
            )
        if decider.name != "tight":
            self.findings.warn(
                _DECIDER,
                f"{decider.name} keeps max_fnr {decimal(self.model.max_fnr)} far from the reference"
                " only, if at all",
                "write decider: tight, which keeps it everywhere outside the band",
            )
