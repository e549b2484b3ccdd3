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

    def read(self, measure: Measure, name: str) -> ReferenceFeed | None:
        """Return where the references are counted, or ``None`` where something does not fit.

        Args:
            measure: the alarm's aggregate.
            name: of the feed.
        """
        at = ("mechanism", "decider", "reference", "feed")
        try:
            feed = self._public(name)
            self._check_times(feed)
            read = self._read_on(feed)
            counted = measure if read.band is None else read.band.measure
            self._check_fields(feed, counted)
            aggregates = self._counted(feed, counted)
        except ConfigError as error:
            self.findings.wrong(at, error.message, error.hint)
            return None
        if feed.clock is Clock.APPEND_TIME:
            self.findings.note(
                at,
                f"what is not in `{name}` at the cut counts as nothing: where it may lag, let its"
                " writer say with marks how far it is (clock: punctuation)",
            )
        timeout_ms = self.model.timing.reference_timeout or self.model.timing.decide_timeout
        return ReferenceFeed(feed, read.where, *aggregates, timeout_ms)

    def _public(self, name: str) -> Feed:
        """Return another feed than the alarm's own."""
        if name == self.parsed.feed.name:
            message = f"the events of `{name}` are what this alarm protects: a reference is public"
            raise ConfigError(message, hint="take a feed that holds nobody's data")
        if name not in self.feeds:
            raise ConfigError(f"`{name}` is not a feed", hint=closest(name, self.feeds))
        return self.feeds[name]

    def _check_times(self, feed: Feed) -> None:
        """Refuse a feed whose windows might never end beside the alarm's."""
        own = self.parsed.feed
        if own.clock is not Clock.PUNCTUATION:
            return
        if feed.clock is not Clock.PUNCTUATION:
            raise ConfigError(
                f"`{own.name}` goes by marks and `{feed.name}` by the clock, which says nothing of"
                " when the references of a replayed window are whole",
                hint=f"write clock: punctuation in `{feed.name}`",
            )
        if feed.history is None:
            return
        whole = own.history is not None and (
            feed.history[0] <= own.history[0] and own.history[1] <= feed.history[1]
        )
        if not whole:
            raise ConfigError(
                f"the history of `{feed.name}` does not hold that of `{own.name}`",
                hint="declare the same history",
            )

    def _read_on(self, feed: Feed) -> ParsedQuery:
        """Return the alarm's SQL as read against a feed."""
        try:
            return self.reread(feed)
        except SqlProblem as problem:
            hint = problem.hint or "declare the fields that the SQL reads as in the alarm's feed"
            message = f"the SQL does not fit `{feed.name}`: {problem.message}"
            raise ConfigError(message, hint=hint) from None

    def _counted(
        self, feed: Feed, measure: Measure
    ) -> tuple[tuple[AggregateSpec, ...], Average | Quantile | None]:
        """Return what is counted on a feed; of a quantile, at every granule of its clip."""
        least, most = measure.on(feed).span
        if measure.function is Function.QUANTILE and most is not None and least is not None:
            points = most - least + 1
            if points > MOST_STATISTICS:
                raise ConfigError(
                    f"the clip of `{measure.field}` in `{feed.name}` holds {points} granules: a"
                    f" counted {measure.text} takes at most {MOST_STATISTICS}",
                    hint="declare a coarser granule or a narrower clip, or take a table",
                )
        try:
            domains = [feed.fields[name].domain or () for name in self.parsed.group]
            return reference_aggregates(measure, feed, prod(map(len, domains)))
        except ValueError as error:
            raise ConfigError(f"{measure.text}: {sentence_of(error)}", hint=_CONSTANT) from None

    def _check_fields(self, feed: Feed, measure: Measure) -> None:
        """Refuse other groups, or another unit of the aggregate."""
        own = self.parsed.feed
        for name in self.parsed.group:
            if feed.fields[name].domain != own.fields[name].domain:
                raise ConfigError(
                    f"`{feed.name}` declares another domain for `{name}` than `{own.name}`",
                    hint="declare the same values in the same order, as by one file",
                )
        if measure.function in COUNTS or measure.field is None:
            return
        if feed.fields[measure.field].granule != own.fields[measure.field].granule:
            raise ConfigError(
                f"`{feed.name}` declares another granule for `{measure.field}` than `{own.name}`",
                hint="declare the same granule; clips may differ",
            )
