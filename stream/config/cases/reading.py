"""From a file of tests to cases, every error with its place and what to write instead.

Paths in it start from its own folder. Nothing is run and no event is read: that a probability can
be told, and that events are as their feed declares, is found when the cases are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError
from stream.config.cases.cases import Case, Given, Rows, WindowCase
from stream.config.cases.events import read_events
from stream.config.cases.figures import Predicates
from stream.config.cases.keys import CASE_EXAMPLES, MOST_DRAWS, CasesModel
from stream.config.explaining import read_as
from stream.config.loading import examine
from stream.config.scalars import closest
from stream.config.yamlfile import load_document
from stream.windows.instants import TIME_END_MS, instant_ms
from stream.windows.localtime import load_zone
from stream.windows.shown import clock_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from stream.config.cases.cases import Figure
    from stream.config.cases.keys import CaseModel, WindowModel
    from stream.config.findings import Findings
    from stream.config.yamlfile import Loc
    from stream.model.alarms import Alarms
    from stream.model.queries import Query

__all__ = ["CaseFile", "read_cases"]

_FEWEST_DRAWS: Final = 100
_EXPECTED: Final = "ring: {hall: '>= 0.99'}"


@dataclass(frozen=True, slots=True)
class CaseFile:
    """What a file of tests holds.

    Args:
        cases: those that can be tried, in the order of the file.
        errors: what is wrong with the others, or with a configuration, in the order of the files.
    """

    cases: tuple[Case, ...]
    errors: tuple[ConfigError, ...] = ()


def read_cases(path: Path, *, environ: Mapping[str, str], given: bytes | None = None) -> CaseFile:
    """Read a file of tests and the configurations that it names.

    Args:
        path: the file as the user named it.
        environ: environment variables that values may use.
        given: what the file holds, where it is not to be read from its path.
    """
    try:
        document = load_document(path, environ=environ, given=given)
    except ConfigError as error:
        return CaseFile((), (error,))
    model, findings = read_as(document, CasesModel, CASE_EXAMPLES)
    if model is None:
        return CaseFile((), tuple(findings.errors))
    if not model.tests:
        findings.wrong(("tests",), "there is no test", f"write {CASE_EXAMPLES['tests']}")
    known = _configurations(model, environ, findings)
    if findings.errors:
        return CaseFile((), tuple(findings.errors))
    reader = _Reader(known, findings)
    cases = tuple(reader.cases(model))
    return CaseFile(cases, findings.in_order(findings.errors))


def _configurations(
    model: CasesModel, environ: Mapping[str, str], findings: Findings
) -> dict[str, Alarms]:
    """Return the configuration of every alarm, by the alarm's name."""
    known: dict[str, Alarms] = {}
    for at, name in enumerate(model.alarms):
        loc: Loc = ("alarms", at) if len(model.alarms) > 1 else ("alarms",)
        if not name.isprintable():
            findings.wrong(loc, "this is no name of a file", f"write {CASE_EXAMPLES['alarms']}")
            continue
        report = examine(findings.folder / name, environ=environ)
        findings.errors.extend((*report.errors, *report.open))
        if report.alarms is None:
            continue
        for alarm in report.alarms.queries:
            if alarm in known:
                message = f"alarm `{alarm}` stands in {known[alarm].file} already"
                findings.wrong(loc, message, "test files with alarms of the same name one by one")
            known[alarm] = report.alarms
    return known


class _Reader:
    """Reads cases against the alarms that they are about."""

    def __init__(self, known: Mapping[str, Alarms], findings: Findings) -> None:
        self._known = known
        self._findings = findings

    def cases(self, model: CasesModel) -> Iterator[Case]:
        """Yield the cases in which nothing is wrong."""
        for at, case in enumerate(model.tests):
            before = len(self._findings.errors)
            found = self._case(("tests", at), case)
            if found is not None and len(self._findings.errors) == before:
                yield found

    def _case(self, loc: Loc, case: CaseModel) -> Case | None:
        query = self._query(loc, case)
        if query is None:
            return None
        alarms = self._known[query.id]
        found = Case(
            name=case.name,
            query=query,
            alarms=replace(alarms, queries={query.id: query}, wanted={}),
            place=self._findings.document.place((*loc, "name")),
            sampled=self._draws(loc, case),
        )
        if (case.counts is None) == (case.events is None):
            said = "neither counts nor events" if case.counts is None else "counts and events"
            hint = "write counts: {hall: 200} for one window's aggregates, or events: [...]"
            self._findings.wrong(loc, f"the test has {said}", hint)
            return None
        self._refuse_others(loc, case)
        if case.counts is not None:
            return replace(found, given=self._given(loc, case, query))
        read = read_events((*loc, "events"), case.events, query, self._findings)
        if not case.windows:
            hint = f"write windows: [{{start: 2025-03-03T09:00, {_EXPECTED}}}]"
            self._findings.wrong(loc, "nothing is expected of the events", hint)
        dropped = None if case.dropped is None else self._rows((*loc, "dropped"), case.dropped)
        if dropped is None and query.feed.name in read.lines:
            dropped = ()  # whoever wrote the events down meant them to count
        return replace(
            found,
            lines=read.lines,
            paths=read.paths,
            windows=self._windows(loc, case, query, alarms.timezone),
            dropped=dropped,
        )

    def _query(self, loc: Loc, case: CaseModel) -> Query | None:
        """Return the alarm that a case is about."""
        if case.alarm is None and len(self._known) == 1:
            (name,) = self._known
        elif case.alarm is None:
            hint = f"write alarm: {' or '.join(self._known)}"
            self._findings.wrong(loc, "the test does not say which alarm it is about", hint)
            return None
        else:
            name = case.alarm
        if name not in self._known:
            message = f"there is no alarm `{name}`"
            self._findings.wrong((*loc, "alarm"), message, closest(name, self._known))
            return None
        query = self._known[name].queries[name]
        if query.aim.looks > 1:
            message = (
                f"`{name}` rings before its window is over: counts of one window do not say when"
            )
            hint = "test it with TUMBLE instead of CUMULATE; `tocsin plan` says how soon it rings"
            self._findings.wrong((*loc, "alarm") if case.alarm else loc, message, hint)
            return None
        return query

    def _draws(self, loc: Loc, case: CaseModel) -> int | None:
        if case.sampled is not None and not _FEWEST_DRAWS <= case.sampled <= MOST_DRAWS:
            hint = f"write a whole number from {_FEWEST_DRAWS} to {MOST_DRAWS}"
            self._findings.wrong((*loc, "sampled"), "so many draws make no estimate", hint)
        return case.sampled

    def _refuse_others(self, loc: Loc, case: CaseModel) -> None:
        """Refuse keys that belong to the other kind of test."""
        of_counts, of_events = ("references", "ring"), ("windows", "dropped")
        others, hint = of_events, "they are about events: write events instead of counts"
        if case.counts is None:
            others, hint = of_counts, "it is about counts: of events, write it into windows"
        for key in others:
            if getattr(case, key) is not None:
                message = f"`{key}` is no key of a test of {'counts' if case.counts else 'events'}"
                self._findings.wrong((*loc, key), message, hint, key=True)

    def _given(self, loc: Loc, case: CaseModel, query: Query) -> Given:
        predicates = Predicates(query, self._findings)
        statistics = predicates.statistics((*loc, "counts"), case.counts)
        ring = () if case.ring is None else predicates.ring((*loc, "ring"), case.ring)
        if case.ring is None:
            self._findings.wrong(loc, "nothing is expected of the counts", f"write {_EXPECTED}")
        references = None
        if query.reference is not None:
            name = query.reference.feed.name
            if case.references is None:
                message = f"the band lies around what feed `{name}` says, which is not told"
                self._findings.wrong(loc, message, "write references: {hall: 60}")
            else:
                references = predicates.references((*loc, "references"), case.references)
        elif case.references is not None:
            self._findings.wrong(
                (*loc, "references"),
                f"alarm `{query.id}` has no reference that a feed says",
                "remove it",
                key=True,
            )
        return Given(statistics, references, ring)

    def _windows(
        self, loc: Loc, case: CaseModel, query: Query, timezone: str
    ) -> tuple[WindowCase, ...]:
        found: list[WindowCase] = []
        for at, window in enumerate(case.windows or ()):
            place = (*loc, "windows", at)
            bounds = self._bounds((*place, "start"), window, query, timezone)
            if any(bounds == (one.start_ms, one.end_ms) for one in found):
                message = "this window is there already"
                self._findings.wrong((*place, "start"), message, "write all of it in one place")
            found.append(self._window(place, window, query, bounds))
        return tuple(found)

    def _window(
        self, loc: Loc, window: WindowModel, query: Query, bounds: tuple[int, int]
    ) -> WindowCase:
        predicates = Predicates(query, self._findings)
        if window.counts is None and window.left_out is None and window.ring is None:
            message = "nothing is expected of the window"
            self._findings.wrong(loc, message, f"write {_EXPECTED}, or counts: {{hall: 200}}")
        counts: tuple[Figure, ...] = ()
        if window.counts is not None:
            counts = predicates.figures((*loc, "counts"), window.counts)
        ring = () if window.ring is None else predicates.ring((*loc, "ring"), window.ring)
        left_out = self._rows((*loc, "left_out"), window.left_out or {})
        return WindowCase(
            *bounds, counts, left_out, ring, self._findings.document.place((*loc, "start"))
        )

    def _bounds(
        self, loc: Loc, window: WindowModel, query: Query, timezone: str
    ) -> tuple[int, int]:
        """Return where the window that starts at an instant starts and ends."""
        calendar = query.calendar
        try:
            start_ms = instant_ms(window.start, load_zone(timezone))
        except ValueError as error:
            self._findings.wrong(loc, f"the start {error}", "write start: 2025-03-03T09:00")
            return 0, 0
        if start_ms + 2 * calendar.longest_ms >= TIME_END_MS:
            self._findings.wrong(loc, "the window ends after the year 9999", "name an earlier one")
            return 0, 0
        index = calendar.first_starting_at(start_ms)
        bounds = calendar.bounds(index)
        if bounds[0] == start_ms and calendar.active(index):
            return bounds
        try:
            next_ms = calendar.bounds(calendar.next_active(index))[0]
            hint = f"the next one starts at {clock_text(next_ms, timezone)} ({timezone})"
        except ConfigError as error:
            hint = error.message
        self._findings.wrong(loc, f"no window of alarm `{query.id}` starts then", hint)
        return bounds

    def _rows(self, loc: Loc, by_reason: Mapping[str, int]) -> tuple[Rows, ...]:
        return tuple(
            Rows(reason, rows, self._findings.document.place((*loc, reason)))
            for reason, rows in by_reason.items()
        )
