"""Several workers under one command live and end together, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stream.cli.workers import Place, check_workers, worker_settings
from stream.config.loading import load
from stream.model.alarms import Settings
from tests.support.commands import configuration, events, tocsin
from tests.support.procs import gone
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Start = Callable[..., "Crew"]


@dataclass
class Crew:
    """A parent and its workers."""

    parent: subprocess.Popen[bytes]
    folder: Path
    count: int

    def pids(self) -> list[int]:
        """Return the workers' process ids, once all of them are at work."""
        files = [self.folder / f"{index}.pid" for index in range(self.count)]
        wait_until("every worker is at work", lambda: all(file.exists() for file in files))
        return [int(file.read_text(encoding="utf-8")) for file in files]

    def heard(self, index: int) -> list[str]:
        """Return the signals that a worker was sent."""
        file = self.folder / f"{index}.heard"
        return file.read_text(encoding="utf-8").split() if file.exists() else []

    def ended(self) -> tuple[int, str]:
        """Wait for the parent's end, and return its exit code and its standard error."""
        _, errors = self.parent.communicate(timeout=PATIENCE_S)
        return self.parent.returncode, errors.decode()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start crews; whoever is left at the end is killed."""
    crews: list[Crew] = []

    def start(how: str = "willing", *, count: int = 3, patience_s: float = PATIENCE_S) -> Crew:
        command = [sys.executable, "-m", "tests.support.workers_main", str(tmp_path), str(count)]
        parent = subprocess.Popen(
            [*command, how, str(patience_s)], cwd=ROOT, stderr=subprocess.PIPE
        )
        crews.append(Crew(parent, tmp_path, count))
        return crews[-1]

    yield start
    for crew in crews:
        crew.parent.kill()
        crew.parent.communicate()
        for pid in crew.pids():
            if not gone(pid):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_they_all_end(start: Start, number: signal.Signals) -> None:
    """The parent passes the signal on, once, and waits: nothing went wrong."""
    crew = start()
    pids = crew.pids()
    crew.parent.send_signal(number)
    assert crew.ended() == (0, "")
    assert all(map(gone, pids))
    assert [crew.heard(index) for index in range(3)] == [[number.name]] * 3


def test_a_hang_up_is_passed_on_and_ends_nobody(start: Start) -> None:
    """What SIGHUP means is each worker's affair."""
    crew = start()
    crew.pids()
    crew.parent.send_signal(signal.SIGHUP)
    wait_until("all have heard it", lambda: all(crew.heard(index) for index in range(3)))
    assert crew.parent.poll() is None
    crew.parent.send_signal(signal.SIGTERM)
    assert crew.ended() == (0, "")
    assert [crew.heard(index) for index in range(3)] == [["SIGHUP", "SIGTERM"]] * 3


def test_with_one_that_fails_all_end_by_its_exit_code(start: Start) -> None:
    """An orchestrator sees the failure, and starts all of them again."""
    crew = start("failing")
    pids = crew.pids()
    (crew.folder / "fail").touch()
    code, errors = crew.ended()
    assert code == 4
    assert errors == "worker 1 ended with exit code 4; the others are told to end\n"
    assert all(map(gone, pids))
    assert (crew.heard(0), crew.heard(2)) == (["SIGTERM"], ["SIGTERM"])


def test_with_one_that_is_killed_all_end(start: Start) -> None:
    """The exit code is a shell's for SIGKILL."""
    crew = start()
    pids = crew.pids()
    os.kill(pids[2], signal.SIGKILL)
    code, errors = crew.ended()
    assert code == 137
    assert "worker 2 ended with exit code 137" in errors
    assert all(map(gone, pids))


@pytest.mark.parametrize("how", ["willing", "deaf"])
def test_no_worker_outlives_a_parent_that_is_killed(start: Start, how: str) -> None:
    """Nobody can pass anything on then: the workers see it themselves, and do not argue long."""
    crew = start(how, patience_s=0.5)
    pids = crew.pids()
    crew.parent.kill()
    wait_until("every worker is gone", lambda: all(map(gone, pids)))
    assert [crew.heard(index) for index in range(3)] == [["SIGTERM"]] * 3


def test_workers_told_to_end_before_they_are_ready_have_not_failed(start: Start) -> None:
    """Each ends with 143; the command, which was told to end, with 0."""
    crew = start("starting")
    crew.pids()
    crew.parent.terminate()
    assert crew.parent.wait(PATIENCE_S) == 0


def test_who_does_not_end_with_the_others_is_killed(start: Start) -> None:
    """A worker that hangs cannot hold a restart up after another has failed."""
    crew = start("deaf", patience_s=0.5)
    pids = crew.pids()
    os.kill(pids[1], signal.SIGKILL)
    code, _ = crew.ended()
    assert code == 137
    assert all(map(gone, pids))
    assert (crew.heard(0), crew.heard(2)) == (["SIGTERM"], ["SIGTERM"])


def test_a_place_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker starts is no worker; a process that nobody placed has no place."""
    assert Place.taken() is None
    monkeypatch.setattr(os, "environ", Place(2, 7).environment())
    assert Place.taken() == Place(2, 7)
    assert Place.taken() is None


def test_every_worker_has_two_ports_of_its_own() -> None:
    """Worker k listens 2k above the configured ports; free ports stay free ones."""
    settings = Settings("postgresql://h/d", ("127.0.0.1", 9464), ("127.0.0.1", 0))
    assert worker_settings(settings, 0) == settings
    third = worker_settings(settings, 2)
    assert third.public_address == ("127.0.0.1", 9468)
    assert third.custodian_address == ("127.0.0.1", 0)


def written(folder: Path, ledger: str, metrics: str) -> Path:
    """Return a configuration with a ledger and metrics on its first two lines."""
    path = Path(configuration(folder))
    text = path.read_text(encoding="utf-8")
    kafka = "kafka: {bootstrap: 127.0.0.1:1}\n"
    path.write_text(f"ledger: {ledger}\nmetrics: {metrics}\n{kafka}{text}", encoding="utf-8")
    return path


_SHARED = "postgresql://tocsin@127.0.0.1:1/tocsin"
_USUAL = "{public: 127.0.0.1:9464, custodian: 127.0.0.1:9465}"


@pytest.mark.parametrize(
    ("ledger", "metrics", "place", "says"),
    [
        ("sqlite:///ledger.db", _USUAL, ":1:9:", "cannot share a ledger in SQLite"),
        (_SHARED, "{public: 127.0.0.1:9464, custodian: 127.0.0.1:9466}", ":2:10:", "two ports"),
        (_SHARED, "{public: 127.0.0.1:65534, custodian: 127.0.0.1:65535}", ":2:10:", "two ports"),
    ],
)
def test_workers_that_could_not_run_side_by_side_are_refused(
    tmp_path: Path, ledger: str, metrics: str, place: str, says: str
) -> None:
    """Before any is started, at the line that would have to be another."""
    path = written(tmp_path, ledger, metrics)
    result = tocsin("run", str(path), "--workers", "2")
    assert result.exit_code == 2
    assert f"{path}{place}" in result.stderr
    assert says in result.stderr
    assert "hint:" in result.stderr


@pytest.mark.parametrize("metrics", [_USUAL, "{public: 127.0.0.1:0, custodian: 127.0.0.1:0}"])
def test_the_usual_ports_serve_many_workers(tmp_path: Path, metrics: str) -> None:
    """Two ports side by side are enough, and so are free ones."""
    path = written(tmp_path, _SHARED, metrics)
    check_workers(load(path, environ={}), path, 16)


def test_a_replay_is_one_process(tmp_path: Path) -> None:
    """There is nothing to share among workers."""
    replay = ("run", configuration(tmp_path), "--replay", events(tmp_path))
    result = tocsin(*replay, "--workers", "2")
    assert result.exit_code == 2
    assert "--workers" in result.stderr
