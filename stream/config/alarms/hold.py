"""The hold of an alarm: for how long who fired is not asked again, and what that leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.config.schema.document import duration
from stream.model.holds import least_hold_ms, shown_falsely

if TYPE_CHECKING:
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.model.alarms import Budget
    from stream.model.queries import Query
    from stream.windows.calendars import Calendar

__all__ = ["hold_of", "tell_hold"]


def hold_of(model: AlarmModel, calendar: Calendar | None, findings: Findings) -> int:
    """Return an alarm's hold in milliseconds, 0 without one; errors go to ``findings``.

    Args:
        model: its keys.
        calendar: its windows; ``None`` where these are wrong themselves.
        findings: of the file.
    """
    if model.hold is None or calendar is None:
        return 0
    least_ms = least_hold_ms(calendar)
    if model.hold < least_ms:
        findings.wrong(
            "hold",
            "hold is over before another window of the alarm ends, or while windows still count the"
            " events that fired: size less step of HOP, a whole one of CUMULATE",
            f"write hold: {duration(least_ms)}, or more",
        )
    return model.hold


def tell_hold(query: Query, _: Budget, findings: Findings) -> None:
    """Say what a hold leaves open of an alarm's rates, and does to its lifecycle."""
    if not query.hold_ms:
        return
    share, most = shown_falsely(query)
    findings.note(
        "hold",
        "max_fpr bounds windows that are asked, and not how long a false alarm is shown: of quiet"
        f" windows {share:.2g} are shown as firing in the long run, and {most:.2g} at worst",
    )
    if query.lifecycle.among > 1:
        findings.warn(
            "hold",
            "held windows count neither for nor against an alarm: a second one that it needs comes"
            " after the hold",
            "leave out for, and of",
        )
