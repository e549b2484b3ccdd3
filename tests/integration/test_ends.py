"""How a worker starts and is told to end, and what it says meanwhile."""

from __future__ import annotations

import signal
import time

import pytest

from deploy.kafka.runtime import free_port
from stream.logs.clients import MOST
from stream.logs.lines import Line
from tests.support.processes import Command
from tests.support.procs import ran
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def start(tmp_path):
    """How a test starts commands that end with it; their logs are JSON."""
    commands = []

    def begin(*arguments, **how):
        errors = tmp_path / f"err-{len(commands)}"
        commands.append(Command.start(errors, *arguments, **how))
        return commands[-1]

    yield begin
    for command in commands:
        command.stop()


@pytest.fixture
def scenario(broker, tmp_path):
    """A configuration whose topics are there."""
    made = Scenario(broker, tmp_path)
    made.create_topics()
    return made


JSON = ("--log-format", "json")


def ready(command):
    """Wait until a worker is ready."""
    wait_until("the worker is ready", lambda: command.says(Line.READY) or not command.alive)
    assert command.alive, command.text()


@pytest.fixture(scope="module", autouse=True)
def hopeless(broker, tmp_path_factory):
    """Workers whose broker or database never answers, by what they say of it.

    They give up while other tests run.
    """
    folder, nowhere = tmp_path_factory.mktemp("hopeless"), f"127.0.0.1:{free_port()}"
    lost = Scenario(broker, folder / "broker")
    database = f"postgresql://tocsin:a-secret@{nowhere}/tocsin"
    lacking = Scenario(broker, folder / "database", ledger=database)
    for made in (lost, lacking):
        made.create_topics()
    lost.config.write_text(lost.config.read_text().replace(broker.bootstrap, nowhere))
    workers = {
        told: Command.start(made.directory / "err", "run", made.config, *JSON)
        for told, made in (
            ("Kafka is unreachable at 127.0.0.1", lost),
            ("the ledger postgresql", lacking),
        )
    }
    yield workers
    for worker in workers.values():
        worker.stop()


def test_a_worker_ends_as_it_is_told(scenario, start):
    """SIGTERM in every second of its start: 143 before it is ready, 0 from then on.

    Also as the first process of a container, from which the kernel keeps every signal without a
    handler.
    """
    contained = ran("unshare", "--pid", "--fork", "true", code=None).returncode == 0
    for delay_s, first in ((0.0, False), (0.6, True), (1.2, False), (2.0, True)):
        worker = start("run", scenario.config, *JSON, first=first and contained)
        wait_until("it has begun", lambda of=worker: of.handles(signal.SIGTERM), every_s=0.001)
        time.sleep(delay_s)
        worker.tell(signal.SIGTERM)
        code = worker.ended()
        assert code == (0 if worker.says(Line.READY) else 143), worker.text()
        assert "Traceback" not in worker.text()
        assert "SIGTERM" in worker.text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_whatever_tells_it_to_end_is_its_end(scenario, start, number):
    """A ready worker ends with 0 and a line that says so; ``watch``, with 0 and no word."""
    worker, watch = start("run", scenario.config, *JSON), start("watch", scenario.config)
    ready(worker)
    wait_until("it reads", lambda: watch.sockets() > 1 or not watch.alive)
    for command in (worker, watch):
        command.tell(number)
    for command in (worker, watch):
        assert command.ended() == 0, command.text()
    said = [line["event"] for line in worker.lines() if line["event"] != Line.CLIENT]
    assert said[:3] == [Line.OWNED, Line.READY, Line.STOPPING]
    assert said[-1] in {Line.STOPPED, Line.CUT_OFF}  # a busy machine may take longer than it waits
    known = ("note: ", "connecting to Kafka at ")
    assert all(line.startswith(known) for line in watch.text().splitlines()), watch.text()


def test_a_worker_gives_up_on_what_never_answers(hopeless):
    """Within a minute, with exit code 4, a few lines of its clients and one that says why."""
    for told, worker in hopeless.items():
        assert worker.ended() == 4, worker.text()
        last = worker.lines()[-1]
        assert (last["event"], last["code"]) == (Line.FATAL, 4)
        assert last["message"].startswith(told)
        assert "a-secret" not in worker.text()
        assert worker.beside_its_log() == []
        assert len(worker.lines()) <= 4 + 2 * MOST
