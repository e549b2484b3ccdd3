"""From a file of tests to cases, every error with its place and what to write instead.

Paths in it start from its own folder. Nothing is run and no event is read: that a probability can
be told, and that events are as their feed declares, is found when the cases are tried.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accountant.errors import ConfigError
from stream.config.cases.cases import Case, Given, Rows, WindowCase
from stream.config.cases.events import read_events
from stream.config.cases.figures import chances, figures, references, whole
from stream.config.cases.keys import CASE_EXAMPLES, CasesModel, CountsModel
from stream.config.explaining import read_as
from stream.config.findings import Findings, Refused
from stream.config.loading import examine
from stream.config.scalars import closest
from stream.config.yamlfile import load_document
from stream.windows.instants import TIME_END_MS, instant_ms
from stream.windows.localtime import load_zone
from stream.windows.shown import clock_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from stream.config.cases.keys import EventsModel, WindowModel
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["CaseFile", "read_cases"]


@dataclass(frozen=True, slots=True)
class CaseFile:
    """What a file of tests holds.

    Args:
        cases: those that can be tried, in the order of the file.
        errors: what is wrong with the others, or with the configuration, in the order of the files.
    """

    cases: tuple[Case, ...]
    errors: tuple[ConfigError, ...]


def read_cases(path: Path, *, environ: Mapping[str, str]) -> CaseFile:
    """Read a file of tests and the configuration that it names.

    Args:
        path: the file as the user named it.
        environ: environment variables that values may use.
    """
    try:
        findings = Findings(load_document(path, environ=environ))
    except ConfigError as error:
        return CaseFile((), (error,))
    cases: list[Case] = []
    with suppress(Refused):
        model = read_as(findings, CasesModel, CASE_EXAMPLES)
        report = examine(findings.folder / model.alarms, environ=environ)
        findings.errors.extend((*report.errors, *report.open))
        if report.alarms is not None and not report.open:
            cases = _cases(model, report.alarms, findings)
    return CaseFile(tuple(cases), findings.in_order(findings.errors))


def _cases(model: CasesModel, alarms: Alarms, findings: Findings) -> list[Case]:
    """Return the cases in which nothing is wrong."""
    cases: list[Case] = []
    for number, case in enumerate(model.tests):
        before = len(findings.errors)
        with suppress(Refused):
            found = _case(case, alarms, findings.under("tests", number))
            if len(findings.errors) == before:
                cases.append(found)
    return cases


def _case(case: CountsModel | EventsModel, alarms: Alarms, at: Findings) -> Case:
    alarm = _alarm(case, alarms.by_name, at)
    found = Case(
        name=case.name,
        alarm=alarm,
        alarms=replace(alarms, by_name={alarm.id: alarm}, open={}),
        place=at.place("name"),
        sampled=case.sampled,
    )
    if isinstance(case, CountsModel):
        return replace(found, given=_given(case, alarm, at))
    lines, paths = read_events(case.events, alarm, at.under("events"))
    dropped = None if case.dropped is None else _rows(case.dropped, at.under("dropped"))
    if dropped is None and alarm.feed.name in lines:
        dropped = ()  # whoever wrote the events down meant them to count
    windows = _windows(case.windows, alarm, alarms.timezone, at.under("windows"))
    return replace(found, lines=lines, paths=paths, windows=windows, dropped=dropped)


def _alarm(case: CountsModel | EventsModel, known: Mapping[str, Alarm], at: Findings) -> Alarm:
    """Return the alarm that a case is about."""
    name = case.alarm or " or ".join(known)
    if case.alarm is None and len(known) != 1:
        raise at.wrong((), "the test does not name its alarm", f"write alarm: {name}")
    if name not in known:
        raise at.wrong("alarm", f"there is no alarm `{name}`", closest(name, known))
    alarm = known[name]
    if alarm.aim.looks > 1:
        message = f"`{name}` is an early alarm (CUMULATE): counts of a window do not suffice"
        hint = "test it with TUMBLE; `tocsin plan` shows when it fires"
        raise at.wrong("alarm" if case.alarm else (), message, hint)
    return alarm


def _given(case: CountsModel, alarm: Alarm, at: Findings) -> Given:
    counts = figures(alarm, case.counts, at.under("counts"))
    found = Given(
        whole(counts, len(alarm.aggregates), alarm.counted),
        None,
        chances(alarm, case.fires, at.under("fires")),
    )
    if alarm.reference is None and case.references is not None:
        message = f"alarm `{alarm.id}` has no reference on a feed"
        at.wrong("references", message, "remove it", key=True)
    elif alarm.reference is not None and case.references is None:
        message = f"the references of feed `{alarm.reference.feed.name}` are missing"
        at.wrong((), message, "write references: {hall: 60}")
    elif case.references is not None:
        told = references(alarm, case.references, at.under("references"))
        return replace(found, references=whole(told, 1, alarm.domain)[0])
    return found


def _windows(
    windows: Sequence[WindowModel], alarm: Alarm, timezone: str, findings: Findings
) -> tuple[WindowCase, ...]:
    found: list[WindowCase] = []
    for number, window in enumerate(windows):
        at = findings.under(number)
        with suppress(Refused):
            found.append(
                WindowCase(
                    *_bounds(window.start, alarm, timezone, at),
                    figures(alarm, window.counts, at.under("counts")),
                    _rows(window.dropped_by_bounds, at.under("dropped_by_bounds")),
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
        raise at.wrong("start", f"the start {error}", "write start: 2025-03-03T09:00") from None
    if start_ms + 2 * calendar.longest_ms >= TIME_END_MS:
        raise at.wrong("start", "the window ends after the year 9999", "write an earlier one")
    index = calendar.first_starting_at(start_ms)
    bounds = calendar.bounds(index)
    if bounds[0] == start_ms and calendar.active(index):
        return bounds
    try:
        next_ms = calendar.bounds(calendar.next_active(index))[0]
        hint = f"the next one starts at {clock_text(next_ms, timezone)} ({timezone})"
    except ConfigError as error:
        hint = error.message
    raise at.wrong("start", f"no window of alarm `{alarm.id}` starts then", hint)


def _rows(by_reason: Mapping[str, int], at: Findings) -> tuple[Rows, ...]:
    return tuple(Rows(reason, rows, at.place(reason)) for reason, rows in by_reason.items())
