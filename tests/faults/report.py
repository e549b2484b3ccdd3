"""The report of a campaign: what was injected, what came of it, which mutants were found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.report import machine
from tests.faults.scene import WINDOWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.faults.campaign import Found, Total

__all__ = ["report"]


def report(total: Total, found: Mapping[str, Found], *, hunted: int, minutes: float) -> str:
    """Return a page.

    Args:
        total: of the campaign.
        found: by mutant.
        hunted: how many seeds each mutant was given.
        minutes: that all of it took.
    """
    return "\n".join([*_lines(total, found, hunted=hunted, minutes=minutes), ""])


def _lines(
    total: Total, found: Mapping[str, Found], *, hunted: int, minutes: float
) -> Iterator[str]:
    yield "# Simulated faults"
    yield ""
    yield "`make simulate-faults`. " + machine()
    yield ""
    yield (
        f"{total.seeds:,} seeds of {WINDOWS} windows each, {len(total.violations)} with a "
        f"violation; with the mutants {minutes:.0f} minutes. What is checked stands in "
        "`tests/faults/watch.py`, what is not run in `tests/faults/seams.py`; "
        "`python -m tests.faults SEED` lives through one seed again and says what happens."
    )
    yield ""
    for seed, violations in sorted(total.violations.items()):
        yield f"- seed {seed}: {violations[0]}"
    yield from _table("what happened", total.happened)
    yield from _table("windows published", total.windows)
    yield "| mutant | found by seed | as |"
    yield "| --- | --: | --- |"
    for name, one in found.items():
        seed = f"none of {hunted:,}" if one.seed is None else str(one.seed)
        yield f"| {name} | {seed} | {_cell(one.violation)} |"


def _table(what: str, counted: Mapping[str, int]) -> Iterator[str]:
    yield f"| {what} | times |"
    yield "| --- | --: |"
    for name, times in sorted(counted.items(), key=lambda each: -each[1]):
        yield f"| {name} | {times:,} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
