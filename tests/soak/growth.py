"""Whether memory, threads, files and the ledger stay flat, from what was looked at while it ran.

A process is judged over its life after a warm-up, and apart from the faults that it survives: a
reader that catches up fetches larger batches, and clients that were cut off open further threads
and connections, once. So its life is cut at every fault into calm stretches. What it gains in them,
from the first quarter of each to its last, is what tells a leak from a full cache; by how much
their heights differ, on the average, what a fault leaves behind. A heap grows in steps: a straight
line through one of them would gain more than the process did. The ledger keeps entries for every
decision, here or in archives; everything else in it has to stay flat.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.soak.verdict import Soaked

MEBIBYTE = 1 << 20
MOST_GAINED = {"rss": 20 * MEBIBYTE, "threads": 2, "files": 4}
"""What a process may gain in ten calm minutes."""
MOST_A_FAULT = {"rss": 20 * MEBIBYTE, "threads": 2, "files": 4}
"""What a fault that a process survives may add to it, on the average."""
MOST_HELD = {"rss": 1024 * MEBIBYTE, "threads": 80, "files": 200}
"""What a process may have at any time."""
MOST_A_DECISION = 8_192
"""Bytes that a decision may add to the ledger for good."""
_TEN_MINUTES_MS = 600_000
_SHORTEST_MS = 150_000
_SETTLING_MS = 30_000
_CAUGHT_UP = 1 / 3
"""What was missed is read in a third of the time that it was missed for, at the longest."""
_ONCE = 2
"""A pool begins its last thread when it first needs it: one or two are no leak in a short life."""
_LOOKS = 8
"""Looks that a calm stretch has at least."""


@dataclass(frozen=True, slots=True)
class Grown:
    """One measure of one process.

    Args:
        worker: which of the two.
        what: ``rss`` (bytes), ``threads`` or ``files``.
        calm_s: for how long it was looked at in calm stretches after its warm-up.
        levels: the median of every calm stretch.
        most: the most at any time, the warm-up included.
        gained: in ten calm minutes.
    """

    worker: int
    what: str
    calm_s: float
    levels: tuple[float, ...]
    most: float
    gained: float

    @property
    def a_fault(self) -> float:
        """What a fault has added, on the average; 0 where it survived none."""
        return (self.levels[-1] - self.levels[0]) / max(len(self.levels) - 1, 1)


@dataclass(frozen=True, slots=True)
class Ledger:
    """How the ledger grew between its first and its last look.

    Args:
        decisions: that came in between.
        bytes_a_decision: that it grew by.
        most: rows by table at most.
        last: rows by table at the end.
    """

    decisions: int
    bytes_a_decision: float
    most: dict[str, int]
    last: dict[str, int]


def grown(soaked: Soaked) -> Iterator[Grown]:
    """Yield every measure of every life that is long enough to be judged."""
    faults = [(one["at_ms"], one["back_ms"]) for one in soaked.lines("faults")]
    lives = defaultdict(list)
    for line in soaked.lines("samples"):
        if line["what"] == "process":
            lives[line["pid"]].append(line)
    for life in lives.values():
        warm = [one for one in life if one["age_ms"] >= soaked.pace.warm_up_s * 1000]
        calm = _calm(warm, faults)
        if not calm or warm[-1]["at_ms"] - warm[0]["at_ms"] < _SHORTEST_MS:
            continue
        for what in MOST_GAINED:
            yield _grown(life, calm, what)


def ledger_growth(soaked: Soaked) -> Ledger:
    """Return how the ledger grew."""
    looks = [line for line in soaked.lines("samples") if line["what"] == "ledger"]
    first, last = looks[len(looks) // 10], looks[-1]
    decisions = last["decisions"] - first["decisions"]
    tables = ("partials", "entries")
    return Ledger(
        decisions=decisions,
        bytes_a_decision=(last["bytes"] - first["bytes"]) / max(decisions, 1),
        most={table: max(look[table] for look in looks) for table in tables},
        last={table: last[table] for table in tables},
    )


def growth_beyond_bounds(soaked: Soaked) -> Iterator[str]:
    """Yield what grew, or was held, beyond its bound."""
    for line in soaked.lines("samples"):
        if line["what"] != "process":
            continue
        for what, most in MOST_HELD.items():
            if line[what] > most:
                yield f"worker {line['worker']} held {line[what]} of {what}, at most {most}"
                return
    if not soaked.pace.judges_growth:
        return
    judged = list(grown(soaked))
    if not judged:
        yield "no process lived long enough for its growth to be judged"
        return
    yield from _gained(judged)
    ledger = ledger_growth(soaked)
    if ledger.bytes_a_decision > MOST_A_DECISION:
        yield f"a decision adds {ledger.bytes_a_decision:,.0f} bytes to the ledger"


def _gained(judged):
    for one in judged:
        in_all = one.gained * one.calm_s * 1000 / _TEN_MINUTES_MS
        least = max(MOST_GAINED[one.what] / 4, _ONCE)
        if one.gained > MOST_GAINED[one.what] and in_all > least:
            yield (
                f"worker {one.worker} gains {one.gained:,.0f} of {one.what} in ten minutes "
                f"({in_all:,.0f} in {one.calm_s:.0f} calm s)"
            )
    for what, most in MOST_A_FAULT.items():
        mine = [one for one in judged if one.what == what]
        faults = sum(len(one.levels) - 1 for one in mine)
        added = sum(one.levels[-1] - one.levels[0] for one in mine) / max(faults, 1)
        if added > most:
            yield f"a fault adds {added:,.0f} of {what}, on the average of {faults}"


def mebibytes(size: float) -> str:
    """Write a size."""
    return f"{size / MEBIBYTE:,.1f}"


def _calm(warm, faults):
    """Cut a life at every fault; what follows one is calm when what was missed has been read."""
    stretches = defaultdict(list)
    for one in warm:
        begun = [(at_ms, back_ms) for at_ms, back_ms in faults if at_ms <= one["at_ms"]]
        until_ms = max(
            (back + max(_SETTLING_MS, (back - at) * _CAUGHT_UP) for at, back in begun), default=0
        )
        if one["at_ms"] >= until_ms:
            stretches[len(begun)].append(one)
    return [stretch for stretch in stretches.values() if len(stretch) >= _LOOKS]


def _grown(life, calm, what):
    levels, seconds = [], 0.0
    gained = within_ms = 0.0
    for stretch in calm:
        at_ms = np.array([one["at_ms"] for one in stretch], np.float64)
        values = np.array([one[what] for one in stretch], np.float64)
        levels.append(float(np.median(values)))
        seconds += float(at_ms[-1] - at_ms[0]) / 1000
        quarter = len(stretch) // 4
        gained += float(np.median(values[-quarter:]) - np.median(values[:quarter]))
        within_ms += float(at_ms[-quarter:].mean() - at_ms[:quarter].mean())
    return Grown(
        worker=life[0]["worker"],
        what=what,
        calm_s=seconds,
        levels=tuple(levels),
        most=max(one[what] for one in life),
        gained=gained / within_ms * _TEN_MINUTES_MS,
    )
