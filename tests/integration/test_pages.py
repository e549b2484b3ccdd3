"""What a worker's pages and log say while Kafka is frozen, and of workers that were refused."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack

import pytest

from deploy.kafka.runtime import free_port
from stream.build import open_ledger
from stream.logs.clients import MOST
from stream.logs.lines import Line
from tests.support.commands import ledger_must_verify, tocsin
from tests.support.hostile import WINDOW_MS, event_of
from tests.support.processes import Command
from tests.support.scenario import Scenario
from tests.support.scraped import answer, scraped
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration


PERSON = "Zoe-Quimby"
"""In every hostile event, and nowhere else."""


class Pages:
    """The pages of one worker, on ports that were free."""

    def __init__(self, scenario):
        self._scenario = scenario
        self.write_configuration()

    def write_configuration(self):
        """Write the scenario's configuration with two ports that are free now."""
        self._public, self._custodian = free_port(), free_port()
        text = self._scenario.config_text(public=self._public, custodian=self._custodian)
        self._scenario.config.write_text(text)

    def public(self, path):
        """Return status and text of a public path; 0 while nobody listens."""
        return answer(self._public, path)

    def sample(self, name, label=""):
        """Return a sample of the custodian's page, of whatever further labels."""
        found = scraped(self._custodian).items()
        named = (
            value for series, value in found if series.partition("{")[0] == name and label in series
        )
        return next(named, None)


def hostile():
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


def test_a_freeze_is_told_and_survived(own_broker, tmp_path):
    """Frozen, Kafka answers nobody: the worker lives, says that it cannot work, and recovers.

    Its log is a few lines in which no event is quoted; killed, it leaves no folder behind. A start
    serves its page while it tries; what ended it is told by the next one.
    """
    scenario = Scenario(own_broker, tmp_path)
    pages = Pages(scenario)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with scenario, ExitStack() as stack:
        stack.callback(own_broker.resume)
        worker = Command.start(
            tmp_path / "err", "run", scenario.config, "--log-format", "json", folder=temporary
        )
        stack.callback(worker.stop)
        wait_until("the worker is ready", lambda: pages.public("/readyz") == (200, "ready\n"))
        scenario.produce(hostile())
        appended_s = scenario.produce(event_of(f"p{at}", "atrium") for at in range(20)) / 1000
        newest = "tocsin_last_event_timestamp_seconds"
        wait_until("the events are read", lambda: pages.sample(newest) == appended_s)
        wait_until("nothing is left", lambda: pages.sample("tocsin_ingest_lag_records") == 0)
        due = "tocsin_window_due_timestamp_seconds"
        before_s = max(pages.sample(due) or 0, appended_s)
        wait_until("a window is decided", lambda: (pages.sample(due) or 0) > before_s)

        began_s = time.time()
        own_broker.pause()
        wait_until("it is not ready", lambda: pages.public("/readyz")[0] == 503)
        assert "partitions" in pages.public("/readyz")[1]
        wait_until(
            "Kafka is named", lambda: pages.public("/readyz")[1].startswith("not ready: kafka")
        )
        wait_until("Kafka is missed", lambda: worker.says(Line.UNREACHABLE, dependency="kafka"))
        _assert_only_kafka_is_away(pages)
        own_broker.resume()
        wait_until("it is ready again", lambda: pages.public("/readyz") == (200, "ready\n"))
        wait_until("Kafka is found", lambda: worker.says(Line.BACK, dependency="kafka"))
        back_s = time.time()
        wait_until("windows are decided again", lambda: (pages.sample(due) or 0) > back_s)
        assert worker.alive
        assert PERSON not in worker.text()
        assert worker.beside_its_log() == []
        assert len(worker.lines()) <= 10 + ((back_s - began_s) / 60 + 1) * MOST
        worker.process.kill()
        assert worker.ended() == -signal.SIGKILL
        assert list(temporary.iterdir()) == []
        _assert_the_next_start_tells(scenario, pages)


def _assert_only_kafka_is_away(pages):
    assert pages.public("/healthz") == (200, "alive\n")
    assert pages.public("/metrics")[0] == 200
    assert pages.sample("tocsin_ready", 'check="kafka"') == 0
    assert pages.sample("tocsin_ready", 'check="ledger"') == 1
    assert pages.sample("tocsin_ingest_lag_records") is None
    assert pages.sample("tocsin_ingest_state", 'state="unreachable"') == 1


def _assert_the_next_start_tells(scenario, pages):
    """Of a changed configuration, which is refused until it is applied, though Kafka is frozen.

    Then windows that began before the change is in force are denied, later ones decided.
    """
    cursor_ms = scenario.cursor_ms()
    scenario.tolerance = 3
    pages.write_configuration()
    begun_s = time.time()
    worker = scenario.start_worker()
    assert worker.ended() == 2, worker.text()
    assert "differs from the ledger's" in worker.text()
    assert "tocsin ledger FILE apply" in worker.text()
    assert scenario.cursor_ms() == cursor_ms
    told = tocsin("ledger", scenario.config, "apply", code=0)
    assert "crowd: applied, in force from" in told.output
    with open_ledger(scenario.alarms()) as ledger:
        boundary_ms = ledger.effective_from(scenario.query)
    assert boundary_ms > cursor_ms

    scenario.broker.pause()
    pages.write_configuration()
    scenario.start_worker()
    refused, changed = "tocsin_refused_timestamp_seconds", 'kind="ConfigChangedError"'
    wait_until("the next start tells", lambda: (pages.sample(refused, changed) or 0) >= begun_s)
    assert pages.public("/healthz") == (200, "alive\n")
    assert pages.public("/readyz") == (503, "not ready: kafka, partitions\n")
    assert pages.sample(refused, 'kind="DependencyError"') == 0
    assert pages.sample("tocsin_starts_total") == 3
    scenario.broker.resume()
    wait_until("later windows are decided", lambda: boundary_ms in scenario.ended("decided"))
    after = {line["start_ms"]: line["reason"] for line in scenario.done("decision")}
    assert after == {
        start_ms: "reconfigured" if start_ms < boundary_ms else None
        for start_ms in range(cursor_ms, max(after) + 1, WINDOW_MS)
    }
    scenario.stop()
    ledger_must_verify(scenario.alarms())
