"""Configurations that tests write as text, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.config.loading import examine
from stream.events.decoder import Record
from tests.support.configurations import MARK
from tests.support.decoding import a_reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from accountant.records import Partial
    from stream.config.loading import Report
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget
    from stream.model.feeds import Feed


def examined(folder: Path, text: str, **tables: str) -> Report:
    """Return what a configuration and its tables come to, marks removed."""
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text(rows.replace(MARK, ""), encoding="utf-8")
    return examine(folder / "alarms.yaml", environ={}, given=text.replace(MARK, "").encode())


def loaded(folder: Path, text: str, **tables: str) -> Alarms:
    """Return what a configuration without errors comes to."""
    report = examined(folder, text, **tables)
    assert report.alarms is not None, [str(error) for error in report.errors]
    return report.alarms


def counted_first(
    feed: Feed,
    alarms: Sequence[Alarm],
    budget: Budget,
    lines: Iterable[str],
    *,
    public: bool = False,
) -> Partial:
    """Return what the only partition of a feed, read from its first line, has of window 0."""
    reader = a_reader(feed, alarms, budget, public=public)
    reader.read(
        [Record(at, at, log_append=True, value=line.encode()) for at, line in enumerate(lines)]
    )
    reader.arrived_through(alarms[0].calendar.bounds(0)[1] + alarms[0].grace_ms)
    return next(iter(reader.partials()))
