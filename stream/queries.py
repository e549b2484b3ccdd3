"""Alarms: from their YAML and SQL to ``stream.model.Query``, in integers of the statistic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from accountant.errors import ConfigError
from accountant.units import PrivacyUnit
from operators.atoms import Comparison, IntegerTest
from operators.base import Promise
from operators.registry import MECHANISMS
from stream.declare import decimal, whole_steps
from stream.definition import fingerprint
from stream.model import AggregateKind, AggregateSpec, Clock, Domain, Query
from stream.regions import region_of
from stream.scalars import closest
from stream.schedule import Schedule
from stream.sql import SqlProblem, parse_sql
from stream.tables import canonical
from stream.windows import FixedCalendar, LocalCalendar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from zoneinfo import ZoneInfo

    from numpy.typing import NDArray

    from stream.configmodel import AlarmModel
    from stream.findings import Findings
    from stream.model import Budget, Feed
    from stream.sql import ParsedQuery
    from stream.tables import Table
    from stream.windows import Calendar
    from stream.yamlfile import Loc

__all__ = ["QueryBuilder"]

_IDLE_SLACK_MS = 2_000  # finding a partition idle, storing, deciding
_LATER = ("probe", "probe-ent", "svt", "decider")
_LARGEST_STATISTIC = 2**62
_MOST_CELLS = 10_000_000
_MOST_ROW_ERRORS = 20
_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class QueryBuilder:
    """Builds the queries of one file; errors go to ``findings``.

    Args:
        feeds: declared feeds.
        tables: public tables.
        budget: the wall.
        zone: time zone of days and schedules.
        timezone: its IANA name.
        findings: receives errors and warnings.
    """

    feeds: Mapping[str, Feed]
    tables: Mapping[str, Table]
    budget: Budget
    zone: ZoneInfo
    timezone: str
    findings: Findings

    def build(self, name: str, model: AlarmModel) -> Query | None:
        """Return the query of an alarm, or ``None`` where it has an error."""
        before = len(self.findings.errors)
        loc: Loc = ("alarms", name)
        self._check_mechanism(model.mechanism, loc)
        if model.max_fnr + (model.max_fpr or model.max_fnr) >= 1:
            self.findings.wrong(
                (*loc, "max_fnr" if model.max_fpr is None else "max_fpr"),
                "max_fnr and max_fpr together reach 1: a coin keeps that promise",
                "write smaller probabilities, as 0.05",
            )
        for key in ("decide_timeout", "max_age"):
            if not getattr(model, key):
                self.findings.wrong((*loc, key), f"{key} is longer than nothing", "write 10m")
        try:
            parsed = parse_sql(
                model.sql, feeds=self.feeds, tables=list(self.tables), timezone=self.zone
            )
        except SqlProblem as problem:
            self._at_sql(loc, problem)
            return None
        for note in parsed.notes:
            self.findings.warn((*loc, "sql"), note.message, note.hint, offset=note.offset)
        calendar = self._calendar(parsed, model, loc)
        values = tuple(parsed.feed.fields[field].domain or () for field in parsed.group)
        domain = Domain(parsed.group, values)
        if len(domain) > _MOST_CELLS:
            self.findings.wrong(
                (*loc, "sql"),
                f"GROUP BY makes {len(domain)} predicates, more than {_MOST_CELLS}",
                "group by fewer fields, or narrow a domain",
                offset=parsed.window_offset,
            )
            return None
        aggregate, sensitivity = self._aggregate(parsed)
        thresholds = self._thresholds(parsed, domain, aggregate, loc)
        tolerance = self._tolerance(model, aggregate, loc)
        if calendar is None or thresholds is None or len(self.findings.errors) > before:
            return None
        query = Query(
            id=name,
            feed=parsed.feed,
            domain=domain,
            calendar=calendar,
            where=parsed.where,
            aggregate=aggregate,
            test=IntegerTest(
                comparison=parsed.comparison, thresholds=thresholds, sensitivity=sensitivity
            ),
            promise=Promise(max_fnr=model.max_fnr, tolerance=tolerance, max_fpr=model.max_fpr),
            mechanism=model.mechanism,
            grace_ms=model.grace,
            publish_delay_ms=model.publish_delay,
            decide_timeout_ms=model.decide_timeout,
            max_age_ms=model.max_age,
            sql=model.sql,
            fingerprint="",
        )
        if region_of(query).empty:
            self.findings.wrong(
                (*loc, "sql"),
                "no event can meet this: nothing would ever be counted",
                "write conditions that some event in the declared domains meets",
                offset=parsed.where_offset,
            )
        self._warn(query, parsed, loc)
        return replace(query, fingerprint=fingerprint(query, self.budget))

    def _at_sql(self, loc: Loc, problem: SqlProblem) -> None:
        self.findings.wrong((*loc, "sql"), problem.message, problem.hint, offset=problem.offset)

    def _check_mechanism(self, mechanism: str, loc: Loc) -> None:
        at = (*loc, "mechanism")
        if mechanism in MECHANISMS:
            return
        if mechanism in _LATER:
            message = f"{mechanism} is not available in this version"
            self.findings.wrong(at, message, "write mechanism: tslm")
        elif mechanism == "nlm":
            message = "nlm is a baseline for experiments: it does not keep max_fnr"
            self.findings.wrong(at, message, "write mechanism: tslm")
        else:
            self.findings.wrong(at, "this mechanism is not known", closest(mechanism, MECHANISMS))

    def _calendar(self, parsed: ParsedQuery, model: AlarmModel, loc: Loc) -> Calendar | None:
        schedule = None
        if model.active is not None:
            try:
                schedule = Schedule.parse(model.active, self.timezone)
            except ValueError as error:
                hint = 'write active: "Mon-Fri 07:00-22:00"'
                self.findings.wrong((*loc, "active"), str(error), hint)
                return None
        calendar: Calendar
        if parsed.size.days:
            calendar = LocalCalendar(parsed.size.days, parsed.step.days, self.timezone, schedule)
        else:
            calendar = FixedCalendar(parsed.size.milliseconds, parsed.step.milliseconds, schedule)
        try:
            calendar.next_active(calendar.first_starting_at(0))
        except ConfigError as error:
            self.findings.wrong((*loc, "active"), error.message, error.hint)
            return None
        return calendar

    def _aggregate(self, parsed: ParsedQuery) -> tuple[AggregateSpec, int]:
        """Return the statistic and its sensitivity D, caps included."""
        user = self.budget.unit is PrivacyUnit.USER
        cap = self.budget.contribution.events_per_cell if user else 1
        if parsed.kind is AggregateKind.COUNT:
            return AggregateSpec(parsed.kind), cap
        if parsed.kind is AggregateKind.DISTINCT_UNITS:
            return AggregateSpec(parsed.kind), 1
        field = parsed.feed.fields[parsed.summed or ""]
        granule = field.granule or _ONE
        lo, hi = (int((bound or 0) / granule) for bound in (field.lo, field.hi))
        spec = AggregateSpec(parsed.kind, field.name, lo, hi, granule)
        return spec, cap * max(abs(lo), abs(hi))

    def _thresholds(
        self, parsed: ParsedQuery, domain: Domain, aggregate: AggregateSpec, loc: Loc
    ) -> NDArray[np.int64] | None:
        threshold = parsed.threshold
        if threshold.number is not None:
            value, message, hint = _units(threshold.number, aggregate)
            if message:
                self._at_sql(loc, SqlProblem(message, hint, threshold.offset))
                return None
            return np.full(len(domain), value, dtype=np.int64)
        axis = domain.fields.index(threshold.field)
        table = self.tables[threshold.table]
        per_value = self._looked_up(table, parsed, domain.values[axis], aggregate, loc)
        if per_value is None:
            return None
        shape = [len(values) for values in domain.values]
        return per_value[np.unravel_index(np.arange(len(domain)), shape)[axis]]

    def _looked_up(
        self,
        table: Table,
        parsed: ParsedQuery,
        values: tuple[str, ...],
        aggregate: AggregateSpec,
        loc: Loc,
    ) -> NDArray[np.int64] | None:
        """Return the table's value for every domain value, in order."""
        before = len(self.findings.errors)
        field = parsed.feed.fields[parsed.threshold.field]
        places = {value: index for index, value in enumerate(values)}
        found = np.zeros(len(values), dtype=np.int64)
        seen = np.zeros(len(values), dtype=np.bool_)
        for key, cell in table.cells.items():
            if len(self.findings.errors) - before >= _MOST_ROW_ERRORS:
                return None
            try:
                at = places.get(canonical(key, field.type))
            except ValueError:
                at = None
            message, hint, value = "", "", 0
            if at is None:
                message = f"`{key[:40]}` is not in the domain of `{field.name}`"
                hint = f"{closest(key, values)}; or remove the row"
            elif seen[at]:
                message, hint = f"`{key[:40]}` is listed twice", "remove one of them"
            else:
                value, message, hint = _units(cell.value, aggregate)
            if message:
                column = 1 if at is None or seen[at] else cell.column
                self.findings.errors.append(
                    ConfigError(message, file=table.file, line=cell.line, column=column, hint=hint)
                )
            if at is not None:
                found[at], seen[at] = value, True
        missing = [value for value, known in zip(values, seen, strict=True) if not known]
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            self._at_sql(
                loc,
                SqlProblem(
                    f"{table.file} has no value for {field.name} {', '.join(missing[:5])}{more}",
                    "every public predicate needs its threshold: add the rows",
                    parsed.threshold.offset,
                ),
            )
        return found if len(self.findings.errors) == before else None

    def _tolerance(self, model: AlarmModel, aggregate: AggregateSpec, loc: Loc) -> int:
        at = (*loc, "tolerance")
        if model.tolerance < 0:
            message = "a tolerance is how far below the threshold ringing is no error: 0 or more"
            self.findings.wrong(at, message, "write tolerance: 0")
            return 0
        value, message, hint = _units(model.tolerance, aggregate, "tolerance")
        if message:
            self.findings.wrong(at, message, hint)
        return value

    def _warn(self, query: Query, parsed: ParsedQuery, loc: Loc) -> None:
        if not query.promise.tolerance:
            self.findings.warn(
                (*loc, "tolerance"),
                "tolerance 0 asks to tell neighbouring values apart, which costs most",
                "write how far below the threshold an alarm is welcome, as tolerance: 5",
            )
        feed = query.feed
        waited_ms = feed.idle_margin_ms + _IDLE_SLACK_MS
        if feed.clock is Clock.APPEND_TIME and query.publish_delay_ms < waited_ms:
            self.findings.warn(
                (*loc, "publish_delay"),
                "a partition in which nothing follows a window is waited for until idle_margin is"
                " over: alarms that leave earlier tell whether one more event came",
                f"write publish_delay: {waited_ms}ms or more, or a shorter idle_margin",
            )
        if query.aggregate.kind is not AggregateKind.SUM:
            always = {Comparison.GT: -1, Comparison.GE: 0}.get(query.test.comparison)
            never = {Comparison.LT: 0, Comparison.LE: -1}.get(query.test.comparison)
            lowest = int(query.test.thresholds.min())
            if (always is not None and lowest <= always) or (never is not None and lowest <= never):
                self.findings.warn(
                    (*loc, "sql"),
                    "counts are never below 0: this has the same outcome in every window",
                    "check the comparison and its threshold",
                    offset=parsed.threshold.offset,
                )


def _units(
    value: Fraction, aggregate: AggregateSpec, what: str = "threshold"
) -> tuple[int, str, str]:
    """Return a number in units of the statistic, or a message and a hint."""
    granule = aggregate.granule or _ONE
    steps, hint = whole_steps(value, granule)
    if hint:
        message = f"the {what} of a count is a whole number, not {decimal(value)}"
        if aggregate.granule is not None:
            message = f"the {what} {decimal(value)} is not a multiple of the granule "
            message += decimal(granule)
        return 0, message, hint
    if abs(steps) >= _LARGEST_STATISTIC:
        return 0, f"the {what} is beyond 62 bits", "write a smaller number"
    return steps, "", ""
