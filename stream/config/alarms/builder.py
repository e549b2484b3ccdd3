"""Alarms: from their YAML and SQL to alarms, in integers of the statistics."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from accountant.errors import ConfigError
from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from operators.registry import OFFERED, mechanism_of, price
from stream.config.alarms.aims import AimReader
from stream.config.alarms.bands import BandReader, ReadAlarm
from stream.config.alarms.baseline import baseline_of
from stream.config.alarms.contradictions import constant_condition
from stream.config.alarms.excluded import excluded
from stream.config.alarms.reduction import Tree
from stream.config.alarms.severities import levels_of, read_levels
from stream.config.alarms.silence import longest_run
from stream.config.alarms.statistics import assemble
from stream.config.alarms.thresholds import ThresholdReader, as_for
from stream.config.alarms.wanted import open_keys, settled
from stream.config.alarms.warnings import tell
from stream.config.findings import Refused
from stream.config.notify.building import build_lifecycle
from stream.config.sql.bands import BAND_SHAPE
from stream.config.sql.select import parse_sql
from stream.model.alarm import Alarm
from stream.model.feeds import Domain
from stream.model.fingerprints import fingerprint
from stream.model.regions import region_of
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.cumulative import CumulativeCalendar, looks_of
from stream.windows.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Mapping
    from zoneinfo import ZoneInfo

    from stream.config.alarms.severities import Level
    from stream.config.alarms.statistics import Counting
    from stream.config.alarms.thresholds import Levels
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.config.sql.comparisons import Asked
    from stream.config.sql.select import ParsedQuery
    from stream.config.tables import Table
    from stream.model.alarms import Budget
    from stream.model.feeds import Feed
    from stream.windows.calendars import Calendar

__all__ = ["AlarmBuilder"]

_MOST_CELLS = 10_000_000
_MOST_QUEUED = 1_000_000


@dataclass(frozen=True, slots=True)
class AlarmBuilder:
    """Builds the alarm of one alarm; errors go to ``findings``.

    Args:
        feeds: declared feeds.
        tables: public tables.
        budget: the wall.
        zone: time zone of days and schedules.
        findings: of the alarm.
    """

    feeds: Mapping[str, Feed]
    tables: Mapping[str, Table]
    budget: Budget
    zone: ZoneInfo
    findings: Findings

    def build(self, name: str, model: AlarmModel) -> Alarm | None:
        """Return an alarm, or ``None`` where it has an error."""
        with suppress(Refused):
            return self._built(name, model)
        return None

    def _built(self, name: str, model: AlarmModel) -> Alarm:
        findings, left_open = self.findings, open_keys(model)
        alarms, model = model.mechanism.max_alarms, settled(model, left_open)
        with findings.placing("sql"):
            parsed = self._parsed(model, self.feeds)
        for note in parsed.notes:
            findings.warn("sql", note.message, note.hint, note.offset)
        calendar = read = baseline = None
        with suppress(Refused):
            calendar = self._calendar(parsed, model)
        findings.refuse(excluded(model, parsed, left_open, calendar=calendar, budget=self.budget))
        lifecycle = build_lifecycle(model.lifecycle, parsed.group, findings.under("lifecycle"))
        if calendar is None or findings.errors:
            raise Refused
        levels = levels_of(model, parsed, findings)
        model, parsed = levels[0].model, levels[0].parsed
        how = model.mechanism
        domain, members = (
            Domain(names, tuple(parsed.feed.fields[name].domain or () for name in names))
            for names in (parsed.group, parsed.members)
        )
        counted = domain.times(members)
        if len(counted) > _MOST_CELLS:
            message = f"GROUP BY makes {len(counted):,} groups; the limit is {_MOST_CELLS:,}"
            hint = "group by fewer fields, or narrow a domain"
            raise findings.wrong("sql", message, hint, parsed.window_offset)
        tables = ThresholdReader(parsed.feed, counted, self.tables, findings)
        with suppress(Refused):
            read = read_levels(levels, lambda one: self._read(one, tables, left_open), findings)
        with suppress(Refused):
            baseline = baseline_of(model, parsed, tables)
        if read is None or findings.errors:
            raise Refused
        aim = replace(
            read.aim,
            alarms=alarms or read.aim.alarms,
            looks=looks_of(calendar),
            gaussian=self.budget.gaussian is not None,
        )
        if aim.max_fnr_in_silence is not None:
            windows = longest_run(calendar, self.budget.periods, parsed.feed.history) or 1
            asked = (windows * len(domain) - 1) * aim.questions
            aim = replace(aim, asked_in_silence=asked)
        of_event = self.budget.unit is PrivacyUnit.EVENT
        condition = replace(
            read.condition,
            monotone=_moves_one_way(read),
            # One event is then in one question alone.
            one_question=of_event and calendar.overlap == 1 == aim.questions,
            steady=of_event and parsed.feed.id is None and _is_steady(read),
            members=len(members),
            least=parsed.least,
        )
        alarm = Alarm(
            id=name,
            feed=parsed.feed,
            domain=domain,
            calendar=calendar,
            where=parsed.where,
            **vars(replace(read, aim=aim, condition=condition)),
            mechanism=how.name,
            **model.timing.model_dump(exclude={"reference_timeout_ms"}),
            sql=model.sql,
            fingerprint="",
            share=model.share or Fraction(0),
            baseline=baseline,
            false_alarms=model.false_alarms,
            max_delay_ms=model.max_delay,
            episodes=model.episodes,
            open=left_open,
            lifecycle=lifecycle,
            releases_counts=how.release == "counts",
            members=members,
            hold_ms=model.hold or 0,
        )
        if region_of(alarm).empty:
            message = "no event can meet WHERE, so nothing would be counted"
            hint = "write conditions that values of the declared domains can meet"
            findings.wrong("sql", message, hint, parsed.where_offset)
        return self._finished(alarm)

    def _finished(self, alarm: Alarm) -> Alarm:
        """Return the alarm with its fingerprint, if its runs can be."""
        queued = len(alarm.domain) * (alarm.aim.questions - 1) if alarm.aim.put_back else 0
        if queued > _MOST_QUEUED:
            message = f"up to {queued:,} groups of a window would be queried again; the limit is"
            message += f" {_MOST_QUEUED:,}"
            hint = "write a smaller repeat, or repeat_in: window"
            raise self.findings.wrong(("mechanism", alarm.mechanism, "repeat"), message, hint)
        try:
            aim = replace(alarm.aim, panes=alarm.aim.looks)  # as few as a window can have
            price(alarm.mechanism, alarm.condition, aim, band=alarm.band)
            tell(alarm, self.budget, self.findings)
        except ConfigError as error:  # its first word may be the key that is wrong
            place = ("mechanism", alarm.mechanism, error.message.split()[0].rstrip(",:"))
            raise self.findings.wrong(place, error.message, error.hint) from None
        return replace(alarm, fingerprint=fingerprint(alarm, self.budget))

    def _parsed(self, model: AlarmModel, feeds: Mapping[str, Feed]) -> ParsedQuery:
        """Return the SQL of an alarm, read against these feeds.

        Raises:
            SqlProblem: it is not in the grammar, or contradicts the declarations.
        """
        return parse_sql(model.sql, feeds=feeds, tables=list(self.tables), timezone=self.zone)

    def _calendar(self, parsed: ParsedQuery, model: AlarmModel) -> Calendar:
        schedule = None
        if model.active is not None:
            try:
                schedule = Schedule.parse(model.active, self.zone.key)
            except ValueError as error:
                hint = 'write active: "Mon-Fri 07:00-22:00"'
                raise self.findings.wrong("active", str(error), hint) from None
        size, step = parsed.size, parsed.step
        calendar: Calendar
        if size.days and not parsed.cumulative:
            calendar = LocalCalendar(size.days, step.days, self.zone.key, schedule)
        else:
            kind = CumulativeCalendar if parsed.cumulative else FixedCalendar
            calendar = kind(size.milliseconds, step.milliseconds, schedule)
        with self.findings.placing("active"):
            calendar.next_active(calendar.first_starting_at(0))
        return calendar

    def _read(self, level: Level, tables: ThresholdReader, left_open: tuple[str, ...]) -> ReadAlarm:
        """Return what the alarm counts, tests and promises, or one severity level of it."""
        parsed, model, findings = level.parsed, level.model, level.findings
        tables = replace(tables, findings=findings)
        asked, of_bands = parsed.band, mechanism_of(model.mechanism.name).bands is not None
        if (asked is not None) is not of_bands:
            names = " or ".join(name for name, one in OFFERED.items() if one.bands is not None)
            message = f"a band around REFERENCE and mechanism: {names} need each other"
            raise findings.wrong("sql", message, BAND_SHAPE, parsed.having_offset)
        if asked is not None:
            return BandReader(
                model=model,
                parsed=parsed,
                asked=asked,
                tables=tables,
                cap=self.budget.contribution.events_per_cell,
                per_user=self.budget.unit is PrivacyUnit.USER,
                findings=findings,
                feeds=self.feeds,
                reread=lambda feed: self._parsed(model, {parsed.feed.name: feed}),
            ).read()
        counting = self._counting(parsed, tables)
        aim, first = AimReader(model, counting, parsed.reader, findings, left_open).read()
        texts = tuple(atom.text for atom in counting.atoms)
        return ReadAlarm(counting.aggregates, counting.condition, aim, first, texts)

    def _counting(self, parsed: ParsedQuery, reader: ThresholdReader) -> Counting:
        """Return what the alarm counts and tests."""
        levels: dict[Asked, Levels] = {}
        for asked in dict.fromkeys(parsed.having.leaves()):
            with suppress(Refused):
                levels[asked] = reader.read(asked)
        if self.findings.errors:
            raise Refused
        self._refuse_constants(parsed, levels, reader.domain)
        with self.findings.placing("sql"):
            return assemble(
                parsed.having,
                levels,
                cap=self.budget.contribution.events_per_cell,
                offset=parsed.having_offset,
            )

    def _refuse_constants(
        self, parsed: ParsedQuery, levels: Mapping[Asked, Levels], domain: Domain
    ) -> None:
        """Refuse comparisons with one outcome; where there is none, a condition with one."""
        whole = (parsed.having, levels, "this condition", parsed.having_offset)
        per_cell = any(each.axis is not None for each in levels.values())
        for tree, read, text, offset in (
            *((Tree(one), {one: levels[one]}, one.text, one.threshold.offset) for one in levels),
            whole,
        ):
            constant = constant_condition(tree, read)
            if constant is None or (read is levels and self.findings.errors):
                continue
            outcome, cell = constant
            message = f"{text} is {'always' if outcome else 'never'} true"
            message += as_for(domain, cell) if per_cell else ""
            hint = "change the condition: the alarm would cost epsilon for nothing"
            self.findings.wrong("sql", message, hint, offset)
        if self.findings.errors:
            raise Refused


def _moves_one_way(read: ReadAlarm) -> bool:
    """Tell whether one more person moves all comparisons one way, guards included.

    No event weighs below zero, and none of two comparisons asks for more where the other asks for
    less.
    """
    formula = read.condition.formula
    ways = {literal in formula.atoms for literal in formula.literals}
    return len(ways) == 1 and all(spec.never_negative for spec in read.aggregates)


def _is_steady(read: ReadAlarm) -> bool:
    """Tell whether an event moves every step count it is in by one, whatever else is there.

    A distinct count forgets an event once its person comes again, an id once its copy does, sums
    are rounded to steps, and the score of several comparisons follows now one and now another.
    """
    one = set(read.condition.sensitivities) == {1} and len(read.condition.formula.literals) == 1
    return one and all(spec.kind is Weight.COUNT for spec in read.aggregates)
