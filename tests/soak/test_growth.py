"""What leaks is found, and what is flat or only warms up is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.soak.growth import MEBIBYTE, grown, growth_beyond_bounds
from tests.soak.timetable import LONG, SHORT
from tests.soak.verdict import Soaked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

FLAT = {"rss": 200 * MEBIBYTE, "threads": 13, "files": 25}
MINUTES = 10


def judged(
    folder: Path,
    *,
    pace: str = "long",
    grow: Callable[[float], dict[str, int]],
    each: int = 2_000,
    faults_s: Sequence[int] = (),
) -> list[str]:
    """Judge a worker of ten minutes that holds ``FLAT`` and what ``grow`` adds by its age in s.

    Faults last ten seconds.
    """
    done = [{"at_ms": at * 1000, "back_ms": (at + 10) * 1000} for at in faults_s]
    (folder / "faults.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in done))
    lines: list[dict[str, Any]] = []
    for second in range(0, MINUTES * 60, 2):
        more = grow(second)
        held = {what: value + more.get(what, 0) for what, value in FLAT.items()}
        at = {"at_ms": second * 1000, "worker": 0, "pid": 7, "age_ms": second * 1000}
        lines.append({"what": "process", **at, **held})
        rows = {"partials": 3, "entries": 90, "decisions": second}
        lines.append({"what": "ledger", "at_ms": second * 1000, "bytes": second * each, **rows})
    (folder / "samples.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / "about.json").write_text(json.dumps({"pace": pace}))
    return list(growth_beyond_bounds(Soaked(folder)))


def test_flat_is_flat(tmp_path: Path) -> None:
    """Noise of ten mebibytes and a file now and then are no growth."""
    wobble = judged(
        tmp_path,
        grow=lambda age_s: {"rss": int(age_s * 7 % 10) * MEBIBYTE, "files": age_s % 4 == 0},
    )
    assert wobble == []
    measures = {one.what: one for one in grown(Soaked(tmp_path))}
    assert measures["threads"].gained == pytest.approx(0, abs=1e-6)


def test_a_warm_up_is_no_leak(tmp_path: Path) -> None:
    """What is gained in the first minute is not looked at."""
    warm_s = LONG.warm_up_s
    full = 150 * MEBIBYTE
    warming = judged(tmp_path, grow=lambda age_s: {"rss": int(full * min(age_s / warm_s, 1))})
    assert warming == []


@pytest.mark.parametrize(
    ("what", "a_minute"), [("rss", 6 * MEBIBYTE), ("threads", 1), ("files", 1)]
)
def test_a_leak_is_found(tmp_path: Path, what: str, a_minute: int) -> None:
    """Six mebibytes, a thread or a file a minute are seen in ten."""
    leak = judged(tmp_path, grow=lambda age_s: {what: int(a_minute * age_s / 60)})
    assert len(leak) == 1
    assert f"of {what} in ten minutes" in leak[0]


FAULTS_S = (150, 270, 390, 510)


def test_what_a_fault_leaves_is_no_leak_unless_it_is_much(tmp_path: Path) -> None:
    """Buffers of a reader that catches up stay; thirty mebibytes for each fault would add up."""
    for a_fault, told in ((9, 0), (30, 1)):
        found = judged(
            tmp_path,
            faults_s=FAULTS_S,
            grow=lambda age_s, most=a_fault: {
                "rss": most * MEBIBYTE * sum(at <= age_s for at in FAULTS_S)
            },
        )
        assert len(found) == told
        assert all("a fault adds" in line for line in found)


@pytest.mark.parametrize("faults_s", [(), FAULTS_S])
def test_a_leak_is_found_between_faults(tmp_path: Path, faults_s: Sequence[int]) -> None:
    """Six mebibytes a minute, under faults that each give ten back."""
    leak = judged(
        tmp_path,
        faults_s=faults_s,
        grow=lambda age_s: {
            "rss": int(6 * MEBIBYTE * age_s / 60)
            - 10 * MEBIBYTE * sum(at <= age_s for at in faults_s)
        },
    )
    assert len(leak) == 1
    assert "of rss in ten minutes" in leak[0]


def test_catching_up_after_an_outage_is_not_calm(tmp_path: Path) -> None:
    """A third of its time at most: then memory has to be flat again."""
    full = 60 * MEBIBYTE
    assert judged(
        tmp_path,
        faults_s=(100,),
        grow=lambda age_s: {"rss": int(full * min(max(age_s - 110, 0) / 25, 1))},
    ) == ["a fault adds 62,914,560 of rss, on the average of 1"]


def test_a_ledger_that_grows_too_fast_is_found(tmp_path: Path) -> None:
    """Ten thousand bytes for a decision are too many."""
    told = judged(tmp_path, grow=lambda _: {}, each=10_000)
    assert told == ["a decision adds 10,000 bytes to the ledger"]


def test_short_lives_are_judged_by_what_they_hold(tmp_path: Path) -> None:
    """Where processes live for seconds, growth says nothing, but a runaway does."""
    assert not SHORT.judges_growth
    assert judged(tmp_path, pace="short", grow=lambda age_s: {"threads": int(age_s / 60)}) == []
    (held,) = judged(tmp_path, pace="short", grow=lambda age_s: {"threads": int(age_s)})
    assert "of threads" in held


def test_a_soak_without_long_lives_says_so(tmp_path: Path) -> None:
    """A long soak that had nothing to judge does not pass."""
    (tmp_path / "samples.jsonl").write_text("")
    (tmp_path / "about.json").write_text(json.dumps({"pace": "long"}))
    told = list(growth_beyond_bounds(Soaked(tmp_path)))
    assert told == ["no process lived long enough for its growth to be judged"]
