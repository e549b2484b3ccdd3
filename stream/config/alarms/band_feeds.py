"""A band's reference that is counted on another, public feed: what has to fit, and what does not.

The alarm's own SELECT is read once more, against the other feed: what it filters, groups and adds
up has to mean the same there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from accountant.arguments import sentence_of
from accountant.errors import ConfigError
from stream.config.alarms.band_statistics import MOST_STATISTICS, reference_aggregates
from stream.config.alarms.reduction import COUNTS, Function
from stream.config.scalars import closest
from stream.config.sql.nodes import SqlProblem
from stream.model.alarm import ReferenceFeed
from stream.model.feeds import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from operators.deciders import Average, Quantile
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.config.sql.comparisons import Measure
    from stream.config.sql.select import ParsedQuery
    from stream.model.alarm import AggregateSpec
    from stream.model.feeds import Feed

__all__ = ["FeedReferenceReader"]

_CONSTANT: Final = "write reference: 200, or reference: usual[shop] with tables: {usual: usual.csv}"


@dataclass(frozen=True, slots=True)
class FeedReferenceReader:
    """Reads ``reference: {feed: ...}`` of one alarm.

    Args:
        model: the alarm's keys.
        parsed: its SQL.
        feeds: declared feeds.
        reread: its SQL read against another feed; raises ``SqlProblem``.
        findings: receives errors and notes.
    """

    model: AlarmModel
    parsed: ParsedQuery
    feeds: Mapping[str, Feed]
    reread: Callable[[Feed], ParsedQuery]
    findings: Findings

    def read(self, measure: Measure, name: str) -> ReferenceFeed:
        """Return where the references are counted.

        Args:
            measure: the alarm's aggregate.
            name: of the feed.

        Raises:
            Refused: something does not fit.
        """
        at = ("mechanism", "decider", "reference", "feed")
        with self.findings.placing(at):
            feed = self._public(name)
            self._check_times(feed)
            read = self._read_on(feed)
            counted = measure if read.band is None else read.band.measure
            self._check_fields(feed, counted)
            aggregates = self._counted(feed, counted)
        if feed.clock is Clock.APPEND_TIME:
            self.findings.note(
                at,
                f"references that are late in `{name}` count as 0; use clock: watermarks there if"
                " it may lag",
            )
        timeout_ms = self.model.timing.reference_timeout or self.model.timing.decide_timeout
        return ReferenceFeed(feed, read.where, *aggregates, timeout_ms)

    def _public(self, name: str) -> Feed:
        """Return another feed than the alarm's own."""
        if name == self.parsed.feed.name:
            message = f"`{name}` has the events that this alarm protects, but a reference is public"
            raise ConfigError(message, hint="use a feed without personal data")
        if name not in self.feeds:
            raise ConfigError(f"`{name}` is not a feed", hint=closest(name, self.feeds))
        return self.feeds[name]

    def _check_times(self, feed: Feed) -> None:
        """Refuse a feed whose windows might never end beside the alarm's."""
        own = self.parsed.feed
        if own.clock is not Clock.WATERMARKS:
            return
        if feed.clock is not Clock.WATERMARKS:
            raise ConfigError(
                f"`{own.name}` has clock: watermarks, but its reference `{feed.name}` has not",
                hint=f"write clock: watermarks in `{feed.name}`",
            )
        if feed.history is None:
            return
        whole = own.history is not None and (
            feed.history[0] <= own.history[0] and own.history[1] <= feed.history[1]
        )
        if not whole:
            raise ConfigError(
                f"the history of `{feed.name}` does not cover that of `{own.name}`",
                hint="declare the same history",
            )

    def _read_on(self, feed: Feed) -> ParsedQuery:
        """Return the alarm's SQL as read against a feed."""
        try:
            return self.reread(feed)
        except SqlProblem as problem:
            hint = problem.hint or "declare these fields as in the alarm's feed"
            message = f"the SQL does not fit `{feed.name}`: {problem.message}"
            raise ConfigError(message, hint=hint) from None

    def _counted(
        self, feed: Feed, measure: Measure
    ) -> tuple[tuple[AggregateSpec, ...], Average | Quantile | None]:
        """Return what is counted on a feed; of a quantile, at every resolution of its clip."""
        least, most = measure.span
        if measure.function is Function.QUANTILE and most is not None and least is not None:
            points = most - least + 1
            if points > MOST_STATISTICS:
                raise ConfigError(
                    f"the clip of `{measure.field}` in `{feed.name}` has {points} steps; a"
                    f" {measure.text} of a feed takes at most {MOST_STATISTICS}",
                    hint="declare a coarser resolution or a narrower clip, or use a table",
                )
        try:
            domains = [feed.fields[name].domain or () for name in self.parsed.group]
            return reference_aggregates(measure, prod(map(len, domains)))
        except ValueError as error:
            raise ConfigError(f"{measure.text}: {sentence_of(error)}", hint=_CONSTANT) from None

    def _check_fields(self, feed: Feed, measure: Measure) -> None:
        """Refuse other groups, or another unit of the aggregate."""
        own = self.parsed.feed
        for name in self.parsed.group:
            if feed.fields[name].domain != own.fields[name].domain:
                raise ConfigError(
                    f"`{name}` has another domain in `{feed.name}` than in `{own.name}`",
                    hint="declare the same values in the same order",
                )
        if measure.function in COUNTS or measure.field is None:
            return
        if feed.fields[measure.field].resolution != own.fields[measure.field].resolution:
            raise ConfigError(
                f"`{measure.field}` has another resolution in `{feed.name}` than in `{own.name}`",
                hint="declare the same resolution; clips may differ",
            )
