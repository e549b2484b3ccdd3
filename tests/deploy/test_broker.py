"""The broker of the tests: it keeps its log through a crash and never outlives its owner."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.procs import gone, ran
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from tests.support.kafka import Broker

OWNER = """
import sys, time
from deploy.kafka.broker import Broker
broker = Broker().start()
print(broker.pid, broker.directory, flush=True)
time.sleep(600)
"""


@pytest.mark.integration
def test_a_killed_broker_comes_back_with_its_log_and_its_address(own_broker: Broker) -> None:
    """After SIGKILL and restart, cluster, address and topics are the same, the process another."""
    own_broker.create_topic("kept", partitions=3)
    before = (own_broker.bootstrap, own_broker.cluster_id, own_broker.pid)
    own_broker.kill()
    assert own_broker.pid is None
    own_broker.restart()
    with own_broker.admin() as admin:
        [topic] = admin.describe_topics(["kept"])
        assert admin.describe_cluster()["cluster_id"] == before[1]
    assert len(topic["partitions"]) == 3
    assert (own_broker.bootstrap, own_broker.cluster_id) == before[:2]
    assert own_broker.pid != before[2]


@pytest.mark.integration
def test_a_broker_dies_with_the_process_that_started_it() -> None:
    """When its owner is killed without a chance to clean up, the broker ends as well."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as owner:
        pid, directory = owner.stdout.readline().split()
        assert not gone(int(pid))
        owner.send_signal(signal.SIGKILL)
    wait_until("the broker is gone", lambda: gone(int(pid)))
    ran("rm", "-rf", directory)
