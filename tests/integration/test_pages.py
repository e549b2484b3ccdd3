"""What a worker's pages say while Kafka is frozen, and of workers that were refused."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from deploy.kafka.runtime import free_port
from tests.support.hostile import event_of
from tests.support.scenario import Scenario
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration


class Pages:
    """The pages of one worker, on ports that were free."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self.write_configuration()

    def write_configuration(self) -> None:
        """Write the scenario's configuration with two ports that are free now."""
        self._public, self._custodian = free_port(), free_port()
        text = self._scenario.config_text(public=self._public, custodian=self._custodian)
        self._scenario.config.write_text(text)

    def public(self, path: str) -> tuple[int, str]:
        """Return status and text of a public path; 0 while nobody listens."""
        return _get(self._public, path)

    def sample(self, name: str, **labels: str) -> float | None:
        """Return a sample of the custodian's page, of whatever further labels."""
        status, text = _get(self._custodian, "/metrics")
        assert status in {0, 200}
        for family in text_string_to_metric_families(text if status else ""):
            for sample in family.samples:
                if sample.name == name and labels.items() <= sample.labels.items():
                    return float(sample.value)
        return None


def _get(port: int, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except (URLError, ConnectionError):
        return 0, ""


def test_pages_tell_what_is_so_before_during_and_after_a_freeze(
    own_broker: Broker, tmp_path: Path
) -> None:
    """Frozen, Kafka answers nobody: the worker lives, says that it cannot work, and recovers.

    A start serves its page while it tries; what ended it is told by the next one.
    """
    scenario = Scenario(own_broker, tmp_path)
    pages = Pages(scenario)
    with scenario:
        worker = scenario.start_worker()
        wait_until("the worker is ready", lambda: pages.public("/readyz") == (200, "ready\n"))
        appended_s = scenario.produce(event_of(f"p{at}", "atrium") for at in range(20)) / 1000
        newest = "tocsin_last_event_timestamp_seconds"
        wait_until("the events are read", lambda: pages.sample(newest) == appended_s)
        wait_until("nothing is left", lambda: pages.sample("tocsin_ingest_lag_records") == 0)
        due = "tocsin_window_due_timestamp_seconds"
        before_s = max(pages.sample(due) or 0, appended_s)
        wait_until("a window is decided", lambda: (pages.sample(due) or 0) > before_s)

        own_broker.pause()
        wait_until("it is not ready", lambda: pages.public("/readyz")[0] == 503)
        assert "partitions" in pages.public("/readyz")[1]
        wait_until(
            "Kafka is named", lambda: pages.public("/readyz")[1].startswith("not ready: kafka")
        )
        assert pages.public("/healthz") == (200, "alive\n")
        assert pages.public("/metrics")[0] == 200
        assert pages.sample("tocsin_ready", check="kafka") == 0
        assert pages.sample("tocsin_ready", check="ledger") == 1
        assert pages.sample("tocsin_ingest_lag_records") is None
        assert pages.sample("tocsin_ingest_state", state="unreachable") == 1

        own_broker.resume()
        wait_until("it is ready again", lambda: pages.public("/readyz") == (200, "ready\n"))
        assert worker.alive
        worker.kill()
        scenario.tolerance = 3
        pages.write_configuration()
        begun_s = time.time()
        assert scenario.start_worker().ended() == 2

        own_broker.pause()
        scenario.tolerance = 2
        pages.write_configuration()
        scenario.start_worker()
        kind, refused = "ConfigChangedError", "tocsin_refused_timestamp_seconds"
        wait_until(
            "the next start tells", lambda: (pages.sample(refused, kind=kind) or 0) >= begun_s
        )
        assert pages.public("/healthz") == (200, "alive\n")
        assert pages.public("/readyz") == (503, "not ready: kafka, partitions\n")
        assert pages.sample(refused, kind="DependencyError") == 0
        assert pages.sample("tocsin_starts_total") == 3
        own_broker.resume()
