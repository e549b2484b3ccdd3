"""A feed gets more partitions while events flow and workers run, and whatever is killed meanwhile.

The command is killed between its two steps, and again after the second one; workers are killed and
others started, before and after. The sensors are an outside producer with Kafka's own partitioner.
"""

from __future__ import annotations

import os
import signal
import sys

import pytest

from stream.build import open_ledger
from stream.windows.instants import from_iso_utc
from tests.support.hostile import WINDOW_MS, flowing
from tests.support.matrix import check_charged
from tests.support.oracle import add_up, crowd
from tests.support.procs import ran
from tests.support.scenario import Scenario
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

SKEW_MS, GRACE_MS = 2_000, 1_000
COMMAND = """\
import os, signal, sys
from kafka.admin import KafkaAdminClient
from stream.cli.main import main

real = KafkaAdminClient.create_partitions

def create(self, wanted, **how):
    if how.get("validate_only") or die == "never":
        return real(self, wanted, **how)
    if die == "made":
        real(self, wanted, **how)
    os.kill(os.getpid(), signal.SIGKILL)

die = sys.argv.pop(1)
KafkaAdminClient.create_partitions = create
main(sys.argv[1:], prog_name="tocsin")
"""


def grow(scenario, die="never"):
    """Run the command; it is killed when it has ``announced``, or has ``made`` the partitions."""
    feed = ("topics", "add-partitions", scenario.config, "badges")
    given = (*feed, "--partitions", "5", "--settle", "4s", "--yes")
    return ran(sys.executable, "-c", COMMAND, die, *given, code=None, cwd=ROOT, env=os.environ)


def test_a_feed_grows_while_everything_runs_and_is_killed(broker, postgres, tmp_path):
    """Windows across are denied and cost nothing; every other one is counted as it should be."""
    with Scenario(broker, tmp_path, ledger=postgres.new_database(), log_check_s=1) as scenario:
        scenario.start_worker()
        scenario.start_worker()
        wait_until("a window is decided", lambda: scenario.done("decision"))
        with flowing(broker.bootstrap, scenario.topic, seed=23, metadata_max_age_ms=1_000):
            wait_until("events are counted", lambda: _counted(scenario) >= 2)
            assert grow(scenario, die="announced").returncode == -signal.SIGKILL
            assert _partitions(scenario) == 2
            scenario.workers[0].kill()
            wait_until("a window is denied", lambda: scenario.reasons() - {None})
            assert grow(scenario, die="made").returncode == -signal.SIGKILL
            assert _partitions(scenario) == 5
            assert _growth(scenario).until_ms is None
            scenario.start_worker()
            done = grow(scenario)
            assert done.returncode == 0, done.stderr
            until_ms = _growth(scenario).until_ms or 0
            assert until_ms
            wait_until("windows are decided again", lambda: len(_decided(scenario, until_ms)) >= 2)
            scenario.workers[1].kill()
            scenario.start_worker()
            before = len(_decided(scenario, until_ms))
            wait_until("and after", lambda: len(_decided(scenario, until_ms)) >= before + 2)
        last_ms = max(_decided(scenario, until_ms))
        wait_until("the last decision has left", lambda: last_ms in scenario.decided())
        assert all(scenario.workers[at].alive for at in (2, 3)), scenario.workers[2].text()
        assert "nothing to do" not in grow(scenario).stdout  # it says again what it did
    _check(scenario, last_ms)


def _check(scenario, last_ms):
    """Compare everything that was decided with the log."""
    growth = _growth(scenario)
    published = {start: copies[0] for start, copies in scenario.decided().items()}
    starts = sorted(start for start in published if start <= last_ms)
    assert starts == list(range(starts[0], last_ms + 1, WINDOW_MS))
    across = {start for start in starts if _across(growth, start)}
    denied = {start: one["reason"] for start, one in published.items() if one["reason"]}
    assert denied == dict.fromkeys(across, "repartitioned")
    assert not any(from_iso_utc(one["window_start"]) in across for one in scenario.published())

    records = scenario.read(scenario.topic)
    earlier = [start for start in starts if start + WINDOW_MS + GRACE_MS <= growth.from_ms]
    later = [start for start in starts if start > max(across)]
    truth = crowd(records, earlier, partitions=2, size_ms=WINDOW_MS)
    truth |= crowd(records, later, partitions=5, size_ms=WINDOW_MS)
    partials = [one for one in scenario.done("partial") if one["status"] != "stale"]
    counted = add_up(partials)
    assert {start: counted[start] for start in truth} == truth
    assert not across & counted.keys()
    assert sum(sum(truth[start]) > 0 for start in later) >= 2
    new = {one["partition"] for one in partials if one["value"] and one["start_ms"] in later}
    assert new >= {2, 3, 4}
    assert all(one["complete"] for one in partials)

    check_charged(scenario)
    with open_ledger(scenario.alarms()) as ledger:
        assert set(ledger.counts.places("badges")) == set(range(5))


def _across(growth, start_ms):
    """Whether a window may have records of before and after, by the clock on the wall."""
    first_ms, cut_ms = start_ms - SKEW_MS, start_ms + WINDOW_MS + GRACE_MS
    return first_ms < growth.until_ms and cut_ms > growth.from_ms


def _growth(scenario):
    with open_ledger(scenario.alarms()) as ledger:
        (growth,) = ledger.growths.of("badges").growths
    return growth


def _partitions(scenario):
    with scenario.broker.admin() as client:
        (topic,) = client.describe_topics([scenario.topic])
    return len(topic["partitions"])


def _counted(scenario):
    return len({one["start_ms"] for one in scenario.done("partial") if one["value"]})


def _decided(scenario, since_ms):
    return {start_ms for start_ms in scenario.ended("decided") if start_ms > since_ms}
