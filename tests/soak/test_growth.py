"""What leaks is found, and what is flat or only warms up is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.soak.growth import MEBIBYTE, growth_beyond_bounds
from tests.soak.timetable import LONG
from tests.soak.verdict import Soaked
from tests.support.files import write_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    Grow = Callable[[float], dict[str, int]]

FLAT = {"rss": 200 * MEBIBYTE, "threads": 13, "files": 25}
MINUTES = 10


def judged(folder, *, pace="long", grow, each=2_000, faults_s=()):
    """Judge a worker of ten minutes that holds ``FLAT`` and what ``grow`` adds by its age in s.

    Faults last ten seconds.
    """
    done = [{"at_ms": at * 1000, "back_ms": (at + 10) * 1000} for at in faults_s]
    write_rows(folder / "faults.jsonl", done)
    lines = []
    for second in range(0, MINUTES * 60, 2):
        more = grow(second)
        held = {what: value + more.get(what, 0) for what, value in FLAT.items()}
        at = {"at_ms": second * 1000, "worker": 0, "pid": 7, "age_ms": second * 1000}
        lines.append({"what": "process", **at, **held})
        rows = {"partials": 3, "entries": 90, "decisions": second}
        lines.append({"what": "ledger", "at_ms": second * 1000, "bytes": second * each, **rows})
    write_rows(folder / "samples.jsonl", lines)
    (folder / "about.json").write_text(json.dumps({"pace": pace}))
    return list(growth_beyond_bounds(Soaked(folder)))


FAULTS_S = (150, 270, 390, 510)
MEMORY = "of rss in ten minutes"


def leaking(what, a_minute):
    """Return so much more every minute."""
    return lambda age_s: {what: int(a_minute * age_s / 60)}


def filling(most, from_s, within_s):
    """Return mebibytes that come within some seconds, and stay."""
    return lambda age_s: {"rss": int(most * MEBIBYTE * min(max(age_s - from_s, 0) / within_s, 1))}


def stepping(at_fault, a_minute=0):
    """Return so many mebibytes more after every fault, and every minute."""
    return lambda age_s: {
        "rss": int(a_minute * MEBIBYTE * age_s / 60)
        + at_fault * MEBIBYTE * sum(at <= age_s for at in FAULTS_S)
    }


@pytest.mark.parametrize(
    ("grow", "given", "told"),
    [
        # Noise of ten mebibytes and a file now and then; what is gained while it warms up.
        (lambda at: {"rss": int(at * 7 % 10) * MEBIBYTE, "files": at % 4 == 0}, {}, ""),
        (filling(150, 0, LONG.warm_up_s), {}, ""),
        (leaking("rss", 6 * MEBIBYTE), {}, MEMORY),
        (leaking("threads", 1), {}, "of threads in ten minutes"),
        (leaking("files", 1), {}, "of files in ten minutes"),
        # A heap that grows by one step between two faults, and one that goes on growing so.
        (filling(9, 230, 2), {"faults_s": FAULTS_S}, ""),
        (lambda at: {"rss": at // 60 * 6 * MEBIBYTE}, {"faults_s": FAULTS_S}, MEMORY),
        # Buffers of a reader that catches up stay; thirty mebibytes for each fault would add up.
        (stepping(9), {"faults_s": FAULTS_S}, ""),
        (stepping(30), {"faults_s": FAULTS_S}, "a fault adds"),
        (stepping(-10, 6), {"faults_s": FAULTS_S}, MEMORY),
        # After a third of an outage's time memory has to be flat again.
        (
            filling(60, 110, 25),
            {"faults_s": (100,)},
            "a fault adds 62,914,560 of rss, on the average of 1",
        ),
        (lambda _: {}, {"each": 10_000}, "a decision adds 10,000 bytes to the ledger"),
        # Where processes live for seconds, growth says nothing, but a runaway does.
        (leaking("threads", 1), {"pace": "short"}, ""),
        (leaking("threads", 60), {"pace": "short"}, "of threads"),
    ],
)
def test_what_leaks_is_found_and_nothing_else(tmp_path, grow, given, told):
    """One sentence each, or none."""
    found = judged(tmp_path, grow=grow, **given)
    assert len(found) == bool(told)
    assert told in "".join(found)


def test_a_soak_without_long_lives_says_so(tmp_path):
    """A long soak that had nothing to judge does not pass."""
    (tmp_path / "samples.jsonl").write_text("")
    (tmp_path / "about.json").write_text(json.dumps({"pace": "long"}))
    told = list(growth_beyond_bounds(Soaked(tmp_path)))
    assert told == ["no process lived long enough for its growth to be judged"]
