"""Trials are shared out between processes, and none is lost or done twice."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from dataclasses import replace
from multiprocessing import util
from threading import Event, Thread

import numpy as np
import pytest

from accountant.errors import DependencyError
from stream.simulation.history import CountedAlarm
from stream.simulation.pool import Bench, paying_workers, try_out
from tests.support.simulated import alarm, counted_alarm, file_of, near_the_threshold


def near(windows, cells, *mechanisms):
    """Return the bench of a history near the threshold, which several mechanisms decide."""
    files = [file_of(alarm(cells, mechanism=each)) for each in mechanisms or ("tslm",)]
    return Bench(files, {"crowd": counted_alarm(near_the_threshold(windows, cells))})


@pytest.mark.parametrize(("cells", "runs"), [(3, 1), (3, 64), (3, 1000), (90_000, 7), (10**6, 2)])
def test_tasks_cover_every_replay_once(cells, runs):
    """Whatever the sizes, each variant is replayed exactly ``runs`` times, in bounded portions."""
    nothing = np.zeros(0, dtype=np.int64)
    counted = CountedAlarm("a", nothing, 1, cells, np.zeros(12, np.int64), nothing, nothing)
    bench = Bench([file_of(alarm(2))] * 3, {"a": counted})
    replayed = Counter[int]()
    for at, some in bench.tasks(runs):
        assert some == 1 or some * 11 * cells <= 400_000
        replayed[at] += some
    assert replayed == dict.fromkeys(range(3), runs)


@pytest.mark.long
def test_results_do_not_depend_on_the_number_of_workers():
    """One process and two decide the same cells, and ring at rates that chance explains."""
    bench = near(10, 30, "tslm", "ppwlm")
    heard = []
    alone = try_out(bench, 40)
    both = try_out(bench, 40, workers=2, on_runs=lambda *at: heard.append(at))
    assert [heard[0], heard[-1]] == [(0, 80), (80, 80)]
    for pair in zip(alone, both, strict=True):
        tallies = [each["crowd"] for each in pair]
        one, other = (each.cells for each in tallies)
        decided = [(c.true, c.false, c.uncertain) for c in (one, other)]
        assert (tallies[0].windows, decided[0]) == (tallies[1].windows, decided[1])
        for mine, others, of in (
            (one.missed, other.missed, one.true),
            (one.uncertain_fired, other.uncertain_fired, one.uncertain),
        ):
            share = (mine + others) / (2 * of)
            assert abs(mine - others) < 6 * np.sqrt(2 * of * share * (1 - share))
            assert mine != 0


def test_processes_are_started_where_they_pay():
    """Little work stays in this process; much is shared out, never to more than there may be."""
    bench = near(10, 30)
    assert [paying_workers(bench, runs, 4) for runs in (10, 10_000)] == [1, 1]
    assert [paying_workers(bench, runs, 4) for runs in (50_000, 10_000_000)] == [2, 4]


class Fatal:
    """Something no process survives unpacking."""

    def __reduce__(self):
        """End whoever unpickles this."""
        return os._exit, (1,)


def test_a_process_that_dies_is_an_error_with_a_hint():
    """A worker that is killed ends the simulation at once, with what to do."""
    bench = replace(near(2, 2), variants=[Fatal()])
    with pytest.raises(DependencyError, match="a process of the simulation was killed") as caught:
        try_out(bench, 1, workers=2)
    assert "--workers" in caught.value.hint


def test_ctrl_c_never_leaves_a_process_half_started(monkeypatch, capfd):
    """It comes while a process has begun and has not been told yet what to do, to any thread."""
    start, done = util.spawnv_passfds, Event()

    def interrupted(*arguments):
        number = start(*arguments)
        if b"spawn_main" in b"".join(map(os.fsencode, arguments[1])):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)  # the other thread takes it
        return number

    monkeypatch.setattr(util, "spawnv_passfds", interrupted)
    thread = Thread(target=done.wait)  # as a progress bar's, or a library's
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            try_out(near(2, 2), 1, workers=2)
    finally:
        done.set()
        thread.join()
    assert capfd.readouterr().err == ""
