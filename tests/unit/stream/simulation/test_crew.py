"""Trials are shared out between processes, and none is lost or done twice."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from fractions import Fraction
from multiprocessing import util
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from accountant.errors import DependencyError
from operators.base import Plan
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from stream.simulation.crew import paying_workers, try_out
from stream.simulation.history import CountedAlarm
from stream.simulation.settings import Setting
from stream.simulation.trials import Bench, tasks_of
from tests.support.simulated import alarm, bench_of, counted_alarm, near_the_threshold, own


@pytest.mark.parametrize(("cells", "runs"), [(3, 1), (3, 64), (3, 1000), (90_000, 7), (10**6, 2)])
def test_tasks_cover_every_window_and_run_once(cells: int, runs: int) -> None:
    """Whatever the sizes, each window is decided exactly ``runs`` times, in bounded portions."""
    nothing = np.zeros(0, dtype=np.int64)
    counted = CountedAlarm("a", nothing, 1, cells, np.zeros(12, np.int64), nothing, nothing)
    decided = Counter[int]()
    for task in tasks_of(counted, 0, runs):
        assert task.first < task.last
        assert task.draws <= 512
        assert task.draws == 1 or task.draws * cells <= 400_000
        decided.update(dict.fromkeys(range(task.first, task.last), task.runs))
    assert decided == dict.fromkeys(range(11), runs)


@pytest.mark.long
def test_results_do_not_depend_on_the_number_of_workers() -> None:
    """One process and two decide the same cells, and ring at rates that chance explains."""
    query = alarm(30)
    counted = counted_alarm(near_the_threshold(10, 30))
    settings = (own(query), own(query, "ppwlm"))
    alone = try_out(bench_of(query, counted, *settings), 40)
    heard: list[tuple[int, int]] = []
    both = try_out(
        bench_of(query, counted, *settings),
        40,
        workers=2,
        on_draws=lambda done, total: heard.append((done, total)),
    )
    assert heard[0] == (0, 800)
    assert heard[-1] == (800, 800)
    for one, other in zip(alone, both, strict=True):
        assert one.plan == other.plan
        for name in ("windows", "true", "false", "uncertain"):
            assert getattr(one.tally, name) == getattr(other.tally, name)
        for rang, of in (("missed", "true"), ("uncertain_rings", "uncertain")):
            counts = getattr(one.tally, rang), getattr(other.tally, rang)
            number = getattr(one.tally, of)
            share = sum(counts) / (2 * number)
            assert abs(counts[0] - counts[1]) < 6 * np.sqrt(2 * number * share * (1 - share))
            assert counts[0] != 0


def test_processes_are_started_where_they_pay() -> None:
    """Little work stays in this process; much is shared out, never to more than there may be."""
    query = alarm(30)
    bench = bench_of(query, counted_alarm(near_the_threshold(10, 30)), own(query))
    assert [paying_workers(bench, runs, 4) for runs in (10, 10_000)] == [1, 1]
    assert [paying_workers(bench, runs, 4) for runs in (50_000, 10_000_000)] == [2, 4]


class Fatal:
    """Something no process survives unpacking."""

    def __reduce__(self) -> tuple[Any, ...]:
        """End whoever unpickles this."""
        return os._exit, (1,)


def test_a_process_that_dies_is_an_error_with_a_hint() -> None:
    """A worker that is killed ends the simulation at once, with what to do."""
    fatal: Any = {"crowd": Fatal()}
    query = alarm(2)
    with pytest.raises(DependencyError, match="before its time") as caught:
        try_out(Bench(fatal, {}, {}, (own(query),)), 1, workers=2)
    assert "--workers" in caught.value.hint


def test_ctrl_c_never_leaves_a_process_half_started(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It comes while a process has begun and has not been told yet what to do, to any thread."""
    start = util.spawnv_passfds
    done = Event()

    def interrupted(*arguments: Any) -> int:
        number: int = start(*arguments)
        if b"spawn_main" in b"".join(map(os.fsencode, arguments[1])):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)  # the other thread takes it
        return number

    monkeypatch.setattr(util, "spawnv_passfds", interrupted)
    query = alarm(2)
    bench = bench_of(query, counted_alarm(near_the_threshold(2, 2)), own(query))
    thread = Thread(target=done.wait)  # as a progress bar's, or a library's
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            try_out(bench, 1, workers=2)
    finally:
        done.set()
        thread.join()
    assert capfd.readouterr().err == ""


def test_settings_that_cannot_be_planned_are_told_with_their_reason() -> None:
    """A mechanism that does not take the condition is left out, the others are tried."""
    query = alarm(3)
    formula = Formula.parse("a AND b")
    bound = query.condition.atoms["a"]
    atoms = {"a": bound, "b": ThresholdAtom(1, bound.thresholds)}
    condition = Condition(formula, atoms, (1, 1))
    aim = Aim(Fraction(1, 20), (5, 5))
    settings = [Setting("crowd", name, Fraction(1), aim, False) for name in ("panes", "tslm")]
    statistics = np.full((2, 2, 3), 60, np.int64)
    bench = Bench(
        {"crowd": counted_alarm(statistics)}, {"crowd": condition}, {"crowd": 1}, tuple(settings)
    )
    refused, tried = try_out(bench, 1)
    assert isinstance(refused.plan, str)
    assert refused.tally.windows == 0
    assert isinstance(tried.plan, Plan)
    assert tried.tally.true == 6
