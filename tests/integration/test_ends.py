"""How a worker starts, is told to end, lives through an outage, and what it says meanwhile."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from deploy.kafka.runtime import free_port
from stream.logs.clients import MOST
from stream.logs.lines import Line
from tests.support.hostile import time_ms
from tests.support.processes import Command
from tests.support.procs import ran
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration

PERSON = "Zoe-Quimby"
"""In every hostile event, and nowhere else."""


@pytest.fixture
def started() -> Iterator[list[Command]]:
    """Commands of a test, which end with it."""
    commands: list[Command] = []
    try:
        yield commands
    finally:
        for command in commands:
            command.stop()


@pytest.fixture
def scenario(broker: Broker, tmp_path: Path) -> Scenario:
    """A configuration whose topics are there."""
    made = Scenario(broker, tmp_path)
    made.create_topics()
    return made


def ready(command: Command) -> None:
    """Wait until a worker is ready."""
    wait_until("the worker is ready", lambda: command.says(Line.READY) or not command.alive)
    assert command.alive, command.text()


@pytest.fixture(scope="module", autouse=True)
def hopeless(
    broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Command]]:
    """Workers whose broker or database never answers; they give up while other tests run."""
    folder = tmp_path_factory.mktemp("hopeless")
    nowhere = f"127.0.0.1:{free_port()}"
    ledgers = {"broker": "", "database": f"postgresql://tocsin:a-secret@{nowhere}/tocsin"}
    commands: dict[str, Command] = {}
    try:
        for what, ledger in ledgers.items():
            made = Scenario(broker, folder / what, ledger=ledger)
            made.create_topics()
            if what == "broker":
                text = made.config.read_text().replace(broker.bootstrap, nowhere)
                made.config.write_text(text)
            commands[what] = Command.start(
                folder / f"{what}.err", "run", made.config, "--log-format", "json"
            )
        yield commands
    finally:
        for command in commands.values():
            command.stop()


def test_a_worker_ends_as_it_is_told(
    scenario: Scenario, tmp_path: Path, started: list[Command]
) -> None:
    """SIGTERM in every second of its start: 143 before it is ready, 0 from then on."""
    for number, delay_s in enumerate((0.0, 0.2, 0.6, 1.2, 2.0, 3.0)):
        errors = tmp_path / f"err-{number}"
        worker = Command.start(errors, "run", scenario.config, "--log-format", "json")
        started.append(worker)
        wait_until("it has begun", lambda of=worker: of.handles(signal.SIGTERM), every_s=0.001)
        time.sleep(delay_s)
        worker.tell(signal.SIGTERM)
        code = worker.ended()
        assert code == (0 if worker.says(Line.READY) else 143), worker.text()
        assert "Traceback" not in worker.text()
        assert "SIGTERM" in worker.text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_ready_worker_ends_with_0(
    scenario: Scenario, tmp_path: Path, started: list[Command], number: signal.Signals
) -> None:
    """However it is told to, and with a line that says so."""
    worker = Command.start(tmp_path / "err", "run", scenario.config, "--log-format", "json")
    started.append(worker)
    ready(worker)
    worker.tell(number)
    assert worker.ended() == 0, worker.text()
    said = [line["event"] for line in worker.lines() if line["event"] != Line.CLIENT]
    assert said[:3] == [Line.OWNED, Line.READY, Line.STOPPING]
    assert said[-1] in {Line.STOPPED, Line.CUT_OFF}  # a busy machine may take longer than it waits


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_watch_ends_with_0_and_says_nothing(
    scenario: Scenario, tmp_path: Path, started: list[Command], number: signal.Signals
) -> None:
    """It has no end of its own: whatever tells it to end is its end."""
    watch = Command.start(tmp_path / "err", "watch", scenario.config)
    started.append(watch)
    wait_until("it reads", lambda: watch.sockets() > 1 or not watch.alive)
    watch.tell(number)
    assert watch.ended() == 0, watch.text()
    said = watch.text().splitlines()  # and nothing of how it ended
    known = ("note: ", "connecting to Kafka at ")
    assert all(line.startswith(known) for line in said), watch.text()


def test_the_first_process_of_a_container_ends(
    scenario: Scenario, tmp_path: Path, started: list[Command]
) -> None:
    """The kernel keeps signals from it that have no handler; Tocsin's is there at once."""
    if ran("unshare", "--pid", "--fork", "true", code=None).returncode:
        pytest.skip("needs the right to make a PID namespace")
    for number, delay_s in enumerate((0.0, 0.5, 2.0)):
        errors = tmp_path / f"err-{number}"
        worker = Command.start(errors, "run", scenario.config, first=True)
        started.append(worker)
        wait_until("it has begun", lambda of=worker: of.handles(signal.SIGTERM), every_s=0.001)
        time.sleep(delay_s)
        worker.tell(signal.SIGTERM)
        assert worker.ended() in {0, 143}, worker.text()


def test_an_outage_is_a_few_lines(
    own_broker: Broker, tmp_path: Path, started: list[Command]
) -> None:
    """Killed for a while, the broker is missed and found again, and the worker goes on.

    Before that it is sent what no feed holds; afterwards it is killed, and leaves no folder behind.
    """
    scenario = Scenario(own_broker, tmp_path)
    scenario.create_topics()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    worker = Command.start(
        tmp_path / "err",
        *("run", scenario.config, "--log-format", "json"),
        folder=temporary,
    )
    started.append(worker)
    ready(worker)
    scenario.produce(hostile())

    began_s = time.monotonic()
    own_broker.kill()
    wait_until("Kafka is missed", lambda: worker.says(Line.UNREACHABLE, dependency="kafka"))
    time.sleep(5)
    own_broker.restart()
    wait_until("Kafka is found", lambda: worker.says(Line.BACK, dependency="kafka"))
    minutes = (time.monotonic() - began_s) / 60
    now_ms = time_ms()
    wait_until(
        "windows are published again",
        lambda: max(scenario.decided(), default=0) > now_ms,
    )
    assert worker.alive
    said = worker.text()
    assert PERSON not in said
    assert worker.beside_its_log() == []
    assert len(worker.lines()) <= 10 + (minutes + 1) * MOST
    worker.process.kill()
    assert worker.ended() == -signal.SIGKILL
    assert list(temporary.iterdir()) == []


def hostile() -> Iterator[tuple[str | None, bytes]]:
    """Yield messages that no feed holds, each with a person in it."""
    values = (
        f'{{"person": "{PERSON}", "room": "{PERSON}", "ts": "{PERSON}"}}',
        f'{{"person": "{PERSON}", "room": "atrium", "ts": 99999999999999999999}}',
        f'{{"person": ["{PERSON}"], "event": {{"level": "{PERSON}"}}}}',
        f'{{"event": "{PERSON}',
        PERSON,
    )
    for value in values:
        yield PERSON, value.encode()
        yield None, value.encode() + b"\xff\xfe"


@pytest.mark.parametrize(
    ("what", "told"),
    [("broker", "Kafka is unreachable at 127.0.0.1"), ("database", "the ledger postgresql")],
)
def test_a_worker_gives_up_on_what_never_answers(
    hopeless: Mapping[str, Command], what: str, told: str
) -> None:
    """After half a minute, with exit code 4, a few lines of its clients and one that says why."""
    worker = hopeless[what]
    assert worker.ended() == 4, worker.text()
    last = worker.lines()[-1]
    assert (last["event"], last["code"]) == (Line.FATAL, 4)
    assert last["message"].startswith(told)
    assert "a-secret" not in worker.text()
    assert worker.beside_its_log() == []
    assert len(worker.lines()) <= 4 + 2 * MOST
