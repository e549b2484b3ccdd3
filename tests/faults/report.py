"""The report of a campaign: what was injected, what came of it, which mutants were found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from benchmarks.report import machine
from tests.faults.mutants import MUTANTS
from tests.faults.scene import WINDOWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.faults.record import Record

__all__ = ["report"]


def report(record: Record) -> str:
    """Return a page on what a campaign has lived through so far."""
    return "\n".join([*_lines(record), ""])


def _lines(record: Record) -> Iterator[str]:
    outcomes = [record.outcomes[seed] for seed in sorted(record.outcomes)]
    violated = [one for one in outcomes if one.violations]
    happened, windows = Counter[str](), Counter[str]()
    for one in outcomes:
        happened += one.happened
        windows += one.windows
    yield "# Simulated faults"
    yield ""
    yield "`make simulate-faults`. " + machine()
    yield ""
    yield (
        f"{len(outcomes):,} seeds of {WINDOWS} windows each"
        + (f", {outcomes[0].seed:,} to {outcomes[-1].seed:,}" if outcomes else "")
        + f"; {len(violated) or 'none'} with a violation. What is checked stands in "
        "`tests/faults/watch.py`, what is not run in `tests/faults/seams.py`; "
        "`python -m tests.faults SEED` lives through one seed again and says what happens."
    )
    yield ""
    for one in violated:
        yield f"- seed {one.seed}: {one.violations[0]}"
    if violated:
        yield ""
    yield from _table("what happened", happened)
    yield from _table("windows published", windows)
    yield "| mutant | found by seed | as |"
    yield "| --- | --: | --- |"
    for name in (each for each in MUTANTS if each in record.found):
        found = record.found[name]
        seed = f"none of {found.seeds:,}" if found.seed is None else str(found.seed)
        yield f"| {name} | {seed} | {_cell(found.violation)} |"


def _table(what: str, counted: Mapping[str, int]) -> Iterator[str]:
    yield f"| {what} | times |"
    yield "| --- | --: |"
    for name, times in sorted(counted.items(), key=lambda each: -each[1]):
        yield f"| {name} | {times:,} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
