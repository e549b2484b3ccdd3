"""What a replay's files hold, said to the custodian before anything is spent on them.

All of it goes to standard error, which of a replay is the custodian's: counts are exact, and
examples are rows of the files (``docs/explanation/guarantees-and-limits.md``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.errors import DataError
from stream.cli.shared import say
from stream.replay.faults import REMEDIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream.replay.findings import FeedSurvey, Finding

__all__ = ["refuse_unusable", "say_read"]


def refuse_unusable(surveys: Sequence[FeedSurvey]) -> None:
    """Refuse files that a replay would take for windows in which nothing happened.

    Raises:
        DataError: naming the first such feed; what was found in all of them is said before, a line
            for every kind: its first example, and what to do.
    """
    unfit = [found for found in surveys if found.unfit]
    for found in unfit:
        say(_read(found, examples=False))
        for reason, finding in _findings(found):
            remedy = f"; {REMEDIES[reason]}" if reason in REMEDIES else ""
            say(f"  {_named(reason, finding)}, {_first(finding)}{remedy}")
    if unfit:
        raise DataError(
            f"feed {unfit[0].feed!r}: {unfit[0].unfit}; nothing was spent",
            hint="correct the file or the configuration, or add --accept-drops",
        )


def say_read(surveys: Iterable[FeedSurvey]) -> None:
    """Say what was read, a line for every feed."""
    for found in surveys:
        say(_read(found))


def _read(found: FeedSurvey, *, examples: bool = True) -> str:
    """Return one line about all rows of a feed."""
    parts = [f"note: {found.feed}: {found.rows} events read, {found.usable} usable"]
    lost = [
        _named(reason, finding) + (f" ({_first(finding)})" if examples else "")
        for reason, finding in _findings(found)
    ]
    if lost:
        parts.append(f"not usable: {', '.join(lost)}")
    return "; ".join(parts)


def _named(reason: str, finding: Finding) -> str:
    return f"{finding.rows} {reason.replace('_', ' ')}"


def _first(finding: Finding) -> str:
    return f"first: {finding.place}: {finding.example}" if finding.place else "no example"


def _findings(found: FeedSurvey) -> list[tuple[str, Finding]]:
    """Return why rows are dropped, then why others are not used, the most frequent first."""
    return [
        one
        for findings in (found.dropped, found.passed_by)
        for one in sorted(findings.items(), key=lambda one: (-one[1].rows, one[0]))
    ]
