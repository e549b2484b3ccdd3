"""What comes out of a test of an alarm, beside what was expected.

Events are counted by the readers and lanes of a replay (:mod:`stream.replay.exact`). No ledger is
opened and nothing is charged. What is found shows exact aggregates: a test's events are made up.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from stream.config.cases.cases import Given
from stream.model.headings import heading
from stream.model.numbers import decimal
from stream.replay.exact import count_windows, spanning
from stream.replay.faults import REMEDIES
from stream.replay.survey import survey
from stream.simulation.cases.laws import WindowLaw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream.config.cases.cases import Case, Rows, WindowCase
    from stream.config.reading import Place
    from stream.model.alarm import Alarm
    from stream.replay.exact import CountedWindow
    from stream.replay.findings import FeedSurvey
    from stream.simulation.cases.laws import Bounds

__all__ = ["Check", "Verdict", "judged"]

_LEFT_OUT: Final = ("repeats", "beyond_groups", "beyond_events", "beyond_windows")
_ESTIMATE: Final = "or add `sampled: 1000` for an estimate by draws of its mechanism"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was expected.

    Args:
        what: ``fires``, ``counts``, ``dropped_by_bounds``, ``dropped`` or ``complete``.
        about: the group, or the reason why rows are left out.
        expected: in words.
        found: in words; of a probability empty, as ``bounds`` has it.
        passed: whether it is as expected.
        place: its position in the file.
        start_ms: of the window; ``None`` where it is about no window of events.
        bounds: where the probability lies, of ``fires``.
    """

    what: str
    about: str
    expected: str
    found: str
    passed: bool
    place: Place
    start_ms: int | None = None
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one test.

    Args:
        case: the test.
        checks: all that was expected, in the order of the file.
        basis: what its probabilities are, where that has to be said; or "".
        read: what was read of the events.
    """

    case: Case
    checks: tuple[Check, ...]
    basis: str
    read: tuple[FeedSurvey, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return all(check.passed for check in self.checks)


def judged(case: Case, laws: dict[str, WindowLaw]) -> Verdict:
    """Try one test.

    Args:
        case: the test.
        laws: of the alarms of its file that were planned before, by name; its own is added.

    Raises:
        ConfigError: a probability is expected where no law is known; a reason that is none; or a
            file of events is missing.
        DataError: a file is not what its feed declares.
    """
    law = laws.setdefault(case.alarm.id, WindowLaw(case.alarm))
    basis = "" if case.sampled else law.basis  # draws are of whole windows
    if case.given is not None:
        return Verdict(case, tuple(_fires(case, law, case.given)), basis)
    with _files(case) as files:
        since_ms = min(window.start_ms for window in case.windows)
        until_ms = max(window.end_ms for window in case.windows)
        alarms = spanning(case.alarms, since_ms, until_ms)
        read = tuple(survey(alarms, files))
        asked = {(window.start_ms, window.end_ms) for window in case.windows}
        counted = {}
        for found in count_windows(alarms, files):
            bounds = (found.key.start_ms, found.key.end_ms)
            if bounds in asked:
                counted[bounds] = found
    checks = list(_dropped(case, read))
    for window in case.windows:  # several may be of the same window
        checks += _window(case, law, window, counted[window.start_ms, window.end_ms])
    if not any(window.fires for window in case.windows):
        basis = ""
    return Verdict(case, tuple(checks), basis, read)


def _window(
    case: Case, law: WindowLaw, window: WindowCase, counted: CountedWindow
) -> Iterator[Check]:
    """Yield what is found of one window of events."""
    if not counted.complete:
        yield Check(
            what="complete",
            about="",
            expected="the whole window",
            found="the log holds a part of it, and a run would deny it",
            passed=False,
            place=window.place,
            start_ms=window.start_ms,
        )
    for figure in window.counts:
        found = tuple(counted.statistics[:, figure.cell].tolist())
        yield Check(
            what="counts",
            about=figure.group,
            expected=_figures(case.alarm, figure.statistics),
            found=_figures(case.alarm, found),
            passed=found == figure.statistics,
            place=figure.place,
            start_ms=window.start_ms,
        )
    dropped_by_bounds = asdict(counted.capped)
    for rows in window.dropped_by_bounds:
        _refuse_unknown(rows, _LEFT_OUT)
        yield _of_rows("dropped_by_bounds", rows, dropped_by_bounds[rows.reason], window.start_ms)
    references = None if case.alarm.reference is None else counted.references
    given = Given(counted.statistics, references, window.fires)
    yield from _fires(case, law, given, start_ms=window.start_ms)


def _fires(
    case: Case, law: WindowLaw, given: Given, *, start_ms: int | None = None
) -> Iterator[Check]:
    """Yield how likely groups fire: exactly, or by draws."""
    statistics, references = given.statistics, given.references
    asked = [(chance.cell, chance.severity) for chance in given.fires]
    found: list[Bounds | None]
    if case.sampled is None or not asked:
        found = [law.bounds(cell, statistics, references, level) for cell, level in asked]
    else:
        found = [*law.estimates(asked, statistics, references, draws=case.sampled)]
    for chance, bounds in zip(given.fires, found, strict=True):
        if bounds is None:
            raise chance.place.error(
                f"how likely alarm `{case.alarm.id}` fires is not computed: {law.why_not}",
                f"expect the counts of events alone, {_ESTIMATE}",
            )
        taken = chance.range
        passed = (
            taken.holds_within(bounds.least, bounds.most)
            if bounds.draws is None
            else taken.meets(bounds.least, bounds.most)
        )
        yield Check(
            what="fires",
            about=chance.group,
            expected=taken.text,
            found="",
            passed=passed,
            place=chance.place,
            start_ms=start_ms,
            bounds=bounds,
        )


def _dropped(case: Case, read: Sequence[FeedSurvey]) -> Iterator[Check]:
    """Yield how many events of the alarm's feed are dropped; reasons that nobody named are none."""
    if case.dropped is None:
        return
    (own,) = (found for found in read if found.feed == case.alarm.feed.name)
    rows = {reason: diagnostic.rows for reason, diagnostic in own.dropped.items()}
    for expected in case.dropped:
        _refuse_unknown(expected, REMEDIES)
        yield _of_rows("dropped", expected, rows.pop(expected.reason, 0), None)
    for reason, number in rows.items():
        yield Check("dropped", reason, "0", str(number), False, case.place)


def _refuse_unknown(rows: Rows, known: Sequence[str] | Mapping[str, str]) -> None:
    """Refuse a reason that there is not.

    Raises:
        ConfigError: with those that there are.
    """
    if rows.reason not in known:
        raise rows.place.error(
            f"`{rows.reason}` is not a reason here",
            f"write one of: {', '.join(known)}",
        )


def _of_rows(what: str, expected: Rows, found: int, start_ms: int | None) -> Check:
    return Check(
        what=what,
        about=expected.reason,
        expected=str(expected.rows),
        found=str(found),
        passed=found == expected.rows,
        place=expected.place,
        start_ms=start_ms,
    )


def _figures(alarm: Alarm, statistics: Sequence[int]) -> str:
    """Return aggregates in their own units, with their names where there are several."""
    texts = [
        decimal(units * spec.per_unit)
        for units, spec in zip(statistics, alarm.aggregates, strict=True)
    ]
    if len(texts) == 1:
        return texts[0]
    names = [heading(spec, alarm.feed) for spec in alarm.aggregates]
    return ", ".join(f"{name} {each}" for name, each in zip(names, texts, strict=True))


@contextmanager
def _files(case: Case) -> Iterator[dict[str, list[Path]]]:
    """Yield the files of every feed; listed events are written to one for a while."""
    with TemporaryDirectory(prefix="tocsin-test-") as folder:
        files = {name: list(paths) for name, paths in case.paths.items()}
        for name, lines in case.lines.items():
            path = Path(folder) / f"{name}.jsonl"
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            files[name] = [path]
        yield files
