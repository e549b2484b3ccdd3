"""The report of a campaign: what was injected, what came of it, which mutants were found."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from benchmarks.report import machine
from tests.faults.mutants import MUTANTS
from tests.faults.scene import WINDOWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.faults.world import Outcome

_FOLDER = re.compile(r"/\S*/tocsin-faults-[^/]+")
"""Where a world keeps its files: another place each time."""


def report(outcomes: Sequence[Outcome], found: Mapping[str, Outcome | None], hunted: int) -> str:
    """Return a page on what a campaign has lived through.

    Args:
        outcomes: of its seeds, in their order.
        found: by mutant, the first seed that finds it.
        hunted: seeds that each mutant was given.
    """
    return "\n".join([*_lines(outcomes, found, hunted), ""])


def _lines(outcomes, found, hunted):
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
    for name in (each for each in MUTANTS if each in found):
        at = found[name]
        seed, told = (f"none of {hunted:,}", "") if at is None else (at.seed, at.violations[0])
        yield f"| {name} | {seed} | {_cell(told)} |"


def _table(what, counted):
    yield f"| {what} | times |"
    yield "| --- | --: |"
    for name, times in sorted(counted.items(), key=lambda each: -each[1]):
        yield f"| {name} | {times:,} |"
    yield ""


def _cell(text):
    return " ".join(_FOLDER.sub("", text).replace("|", "\\|").split())
