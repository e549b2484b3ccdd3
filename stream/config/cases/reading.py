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
from stream.config.cases.figures import chances, figures, references_of, statistics_of
from stream.config.cases.keys import CASE_EXAMPLES, CasesModel
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

    from stream.config.cases.keys import CaseModel
    from stream.config.findings import Findings
    from stream.config.yamlfile import Loc
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["CaseFile", "read_cases"]

_EXPECTED: Final = "fires: {hall: '>= 0.99'}"


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
    cases = tuple(_cases(model, known, findings))
    return CaseFile(cases, findings.in_order(findings.errors))


def _configurations(
    model: CasesModel, environ: Mapping[str, str], findings: Findings
) -> dict[str, Alarms]:
    """Return the configuration of every alarm, by the alarm's name."""
    known: dict[str, Alarms] = {}
    for at, name in enumerate(model.alarms):
        loc: Loc = ("alarms", at) if len(model.alarms) > 1 else ("alarms",)
        if not name.isprintable():
            findings.wrong(loc, "not the name of a file", f"write {CASE_EXAMPLES['alarms']}")
            continue
        report = examine(findings.folder / name, environ=environ)
        findings.errors.extend((*report.errors, *report.open))
        if report.alarms is None:
            continue
        for alarm in report.alarms.by_name:
            if alarm in known:
                message = f"alarm `{alarm}` is in {known[alarm].file} already"
                findings.wrong(loc, message, "write a test file for each configuration")
            known[alarm] = report.alarms
    return known


def _cases(model: CasesModel, known: Mapping[str, Alarms], findings: Findings) -> Iterator[Case]:
    """Yield the cases in which nothing is wrong."""
    for number, case in enumerate(model.tests):
        before = len(findings.errors)
        found = _case(case, known, findings.under("tests", number))
        if found is not None and len(findings.errors) == before:
            yield found


def _case(case: CaseModel, known: Mapping[str, Alarms], at: Findings) -> Case | None:
    alarm = _alarm(case, known, at)
    if alarm is None:
        return None
    alarms = known[alarm.id]
    found = Case(
        name=case.name,
        alarm=alarm,
        alarms=replace(alarms, by_name={alarm.id: alarm}, open={}),
        place=at.place("name"),
        sampled=case.sampled,
    )
    if (case.counts is None) == (case.events is None):
        said = "neither counts nor events" if case.counts is None else "both counts and events"
        hint = "write counts: {hall: 200} for one window's aggregates, or events: [...]"
        at.wrong((), f"the test has {said}", hint)
        return None
    _refuse_others(case, at)
    if case.counts is not None:
        return replace(found, given=_given(case, alarm, at))
    read = read_events(case.events, alarm, at.under("events"))
    if not case.windows:
        hint = f"write windows: [{{start: 2025-03-03T09:00, {_EXPECTED}}}]"
        at.wrong((), "the test expects nothing of its events", hint)
    dropped = None if case.dropped is None else _rows(case.dropped, at.under("dropped"))
    if dropped is None and alarm.feed.name in read.lines:
        dropped = ()  # whoever wrote the events down meant them to count
    return replace(
        found,
        lines=read.lines,
        paths=read.paths,
        windows=_windows(case, alarm, alarms.timezone, at.under("windows")),
        dropped=dropped,
    )


def _alarm(case: CaseModel, known: Mapping[str, Alarms], at: Findings) -> Alarm | None:
    """Return the alarm that a case is about."""
    name = case.alarm or " or ".join(known)
    if case.alarm is None and len(known) != 1:
        message = "the test does not name its alarm"
        at.wrong((), message, f"write alarm: {name}")
        return None
    if name not in known:
        at.wrong("alarm", f"there is no alarm `{name}`", closest(name, known))
        return None
    alarm = known[name].by_name[name]
    if alarm.aim.looks > 1:
        message = f"`{name}` is an early alarm (CUMULATE): counts of a window do not suffice"
        hint = "test it with TUMBLE; `tocsin plan` shows when it fires"
        at.wrong("alarm" if case.alarm else (), message, hint)
        return None
    return alarm


def _refuse_others(case: CaseModel, at: Findings) -> None:
    """Refuse keys that belong to the other kind of test."""
    kind, others, hint = "counts", ("windows", "dropped"), "write events instead of counts"
    if case.counts is None:
        kind, others = "events", ("references", "fires")
        hint = "write it into windows"
    for key in others:
        if getattr(case, key) is not None:
            at.wrong(key, f"a test of {kind} cannot have `{key}`", hint, key=True)


def _given(case: CaseModel, alarm: Alarm, at: Findings) -> Given:
    statistics = statistics_of(alarm, case.counts, at.under("counts"))
    if case.fires is None:
        at.wrong((), "the test expects nothing of its counts", f"write {_EXPECTED}")
    references = None
    if alarm.reference is None and case.references is not None:
        message = f"alarm `{alarm.id}` has no reference on a feed"
        at.wrong("references", message, "remove it", key=True)
    elif alarm.reference is not None and case.references is None:
        message = f"the references of feed `{alarm.reference.feed.name}` are missing"
        at.wrong((), message, "write references: {hall: 60}")
    elif alarm.reference is not None:
        references = references_of(alarm, case.references, at.under("references"))
    return Given(statistics, references, chances(alarm, case.fires, at.under("fires")))


def _windows(
    case: CaseModel, alarm: Alarm, timezone: str, findings: Findings
) -> tuple[WindowCase, ...]:
    found: list[WindowCase] = []
    for number, window in enumerate(case.windows or ()):
        at = findings.under(number)
        bounds = _bounds(window.start, alarm, timezone, at)
        if any(bounds == (one.start_ms, one.end_ms) for one in found):
            at.wrong("start", "this window occurs twice", "write it once")
        if window.counts is None and window.dropped_by_bounds is None and window.fires is None:
            message = "the test expects nothing of this window"
            at.wrong((), message, f"write {_EXPECTED}, or counts: {{hall: 200}}")
        found.append(
            WindowCase(
                *bounds,
                figures(alarm, window.counts, at.under("counts")),
                _rows(window.dropped_by_bounds or {}, at.under("dropped_by_bounds")),
                chances(alarm, window.fires, at.under("fires")),
                at.place("start"),
            )
        )
    return tuple(found)


def _bounds(start: str, alarm: Alarm, timezone: str, at: Findings) -> tuple[int, int]:
    """Return where the window that starts at an instant starts and ends."""
    calendar = alarm.calendar
    try:
        start_ms = instant_ms(start, load_zone(timezone))
    except ValueError as error:
        at.wrong("start", f"the start {error}", "write start: 2025-03-03T09:00")
        return 0, 0
    if start_ms + 2 * calendar.longest_ms >= TIME_END_MS:
        at.wrong("start", "the window ends after the year 9999", "write an earlier one")
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
    at.wrong("start", f"no window of alarm `{alarm.id}` starts then", hint)
    return bounds


def _rows(by_reason: Mapping[str, int], at: Findings) -> tuple[Rows, ...]:
    return tuple(Rows(reason, rows, at.place(reason)) for reason, rows in by_reason.items())
