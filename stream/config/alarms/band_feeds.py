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
    from stream.config.alarms.thresholds import ThresholdReader
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.config.sql.bands import BandAsked
    from stream.config.sql.comparisons import Measure
    from stream.config.sql.select import ParsedQuery
    from stream.model.alarm import AggregateSpec
    from stream.model.feeds import Feed

__all__ = ["GivenBand", "feed_reference"]

_CONSTANT: Final = "write reference: 200, or reference: usual[shop] with tables: {usual: usual.csv}"


@dataclass(frozen=True, slots=True)
class GivenBand:
    """One band alarm, as it is written.

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


def feed_reference(band: GivenBand, name: str) -> ReferenceFeed:
    """Return where the references are counted.

    Args:
        band: the alarm.
        name: of the feed.

    Raises:
        Refused: something does not fit.
    """
    at = ("mechanism", "decider", "reference", "feed")
    with band.findings.placing(at):
        feed = _public(band, name)
        _check_times(band, feed)
        read = _read_on(band, feed)
        counted = band.asked.measure if read.band is None else read.band.measure
        _check_fields(band, feed, counted)
        aggregates = _counted(band, feed, counted)
    if feed.clock is Clock.APPEND_TIME:
        band.findings.note(
            at,
            f"references that are late in `{name}` count as 0; use clock: watermarks there if"
            " it may lag",
        )
    timeout_ms = band.model.timing.reference_timeout_ms or band.model.timing.decide_timeout_ms
    return ReferenceFeed(feed, read.where, *aggregates, timeout_ms)


def _public(band: GivenBand, name: str) -> Feed:
    """Return another feed than the alarm's own."""
    if name == band.parsed.feed.name:
        message = f"`{name}` has the events that this alarm protects, but a reference is public"
        raise ConfigError(message, hint="use a feed without personal data")
    if name not in band.feeds:
        raise ConfigError(f"`{name}` is not a feed", hint=closest(name, band.feeds))
    return band.feeds[name]


def _check_times(band: GivenBand, feed: Feed) -> None:
    """Refuse a feed whose windows might never end beside the alarm's."""
    own = band.parsed.feed
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


def _read_on(band: GivenBand, feed: Feed) -> ParsedQuery:
    """Return the alarm's SQL as read against a feed."""
    try:
        return band.reread(feed)
    except SqlProblem as problem:
        hint = problem.hint or "declare these fields as in the alarm's feed"
        message = f"the SQL does not fit `{feed.name}`: {problem.message}"
        raise ConfigError(message, hint=hint) from None


def _counted(
    band: GivenBand, feed: Feed, measure: Measure
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
        domains = [feed.fields[name].domain or () for name in band.parsed.group]
        return reference_aggregates(measure, prod(map(len, domains)))
    except ValueError as error:
        raise ConfigError(f"{measure.text}: {sentence_of(error)}", hint=_CONSTANT) from None


def _check_fields(band: GivenBand, feed: Feed, measure: Measure) -> None:
    """Refuse other groups, or another unit of the aggregate."""
    own = band.parsed.feed
    for name in band.parsed.group:
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
