"""``tocsin run --workers 2`` on a real broker and PostgreSQL: shares, pages, kills, one ledger."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from deploy.kafka.runtime import HOST, free_port
from tests.support.commands import ledger_must_verify
from tests.support.hostile import WINDOW_MS, flowing
from tests.support.procs import children, gone
from tests.support.scenario import Scenario
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

pytestmark = pytest.mark.integration


def test_two_workers_share_the_work_and_the_fate(
    broker: Broker, postgres: Postgres, tmp_path: Path
) -> None:
    """Each counts a partition and shows its page; kill -9 of a worker or of the parent ends all.

    Whoever starts them again finds every window decided once, none left out.
    """
    scenario = Scenario(
        broker, tmp_path / "two", f"workers-{time.monotonic_ns()}", postgres.new_database()
    )
    first = adjacent_ports(4)
    scenario.config.write_text(scenario.config_text(public=first, custodian=first + 1))
    scenario.create_topics()
    pages = [first, first + 2]
    with flowing(broker.bootstrap, scenario.topic, seed=7):
        with running(scenario, "first") as parent:
            pids = children(parent.pid)
            for custodian in (first + 1, first + 3):
                wait_until("each worker counts a partition", lambda at=custodian: counts(at))
            wait_until("windows are decided", lambda: decided(pages) >= 1)
            os.kill(pids[0], signal.SIGKILL)
            assert parent.wait(PATIENCE_S) == 137
            assert all(map(gone, pids))

        with running(scenario, "second") as parent:
            pids = children(parent.pid)
            wait_until("it goes on", lambda: decided(pages) >= 1)
            parent.kill()
            wait_until("no worker is left", lambda: all(map(gone, pids)))

        with running(scenario, "third") as parent:
            pids = children(parent.pid)
            wait_until("it goes on again", lambda: decided(pages) >= 1)
            parent.terminate()
            assert parent.wait(PATIENCE_S) == 0
            assert all(map(gone, pids))

    windows = scenario.decided()
    assert sorted(windows) == list(range(min(windows), max(windows) + 1, WINDOW_MS))
    for copies in windows.values():
        assert copies == [copies[0]] * len(copies)
        assert copies[0]["outcome"] == "decided"
    ledger_must_verify(scenario.alarms())


@contextmanager
def running(scenario: Scenario, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command with two workers, which have started, and see that none is left."""
    command = [sys.executable, "-m", "stream.cli.main", "run", str(scenario.config)]
    with (scenario.directory / f"{name}.log").open("wb") as log:
        parent = subprocess.Popen([*command, "--workers", "2"], cwd=ROOT, stdout=log, stderr=log)
    try:
        wait_until(
            "both workers are started",
            lambda: parent.poll() is not None or len(children(parent.pid)) == 2,
        )
        yield parent
    finally:
        pids = children(parent.pid)
        parent.kill()
        parent.wait()
        wait_until("no worker is left", lambda: all(map(gone, pids)))


def counts(custodian_port: int) -> bool:
    """Tell whether a worker's custodian page says that it read events."""
    return page(custodian_port).get('tocsin_events_total{feed="badges"}', 0) > 0


def decided(public_ports: list[int]) -> float:
    """Return how many decisions the workers have published since they started."""
    name = 'tocsin_decisions_total{outcome="decided",query="crowd"}'
    return sum(page(port).get(name, 0) for port in public_ports)


def page(port: int) -> dict[str, float]:
    """Return what a metrics page shows, by series; nothing while nobody answers."""
    try:
        with urlopen(f"http://{HOST}:{port}/metrics", timeout=PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return {}
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def adjacent_ports(count: int) -> int:
    """Return the first of so many loopback ports in a row that nobody listens on."""
    while True:
        first = free_port()
        if all(map(free, range(first, first + count))):
            return first


def free(port: int) -> bool:
    """Tell whether nobody listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) != 0
