"""The broker of the tests never outlives its owner."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support.procs import gone, ran
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

OWNER = """
import sys, time
from deploy.kafka.broker import Broker
broker = Broker().start()
print(broker.pid, broker.directory, flush=True)
time.sleep(600)
"""


@pytest.mark.integration
def test_a_broker_dies_with_the_process_that_started_it():
    """When its owner is killed without a chance to clean up, the broker ends as well."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as owner:
        pid, directory = owner.stdout.readline().split()
        assert not gone(int(pid))
        owner.send_signal(signal.SIGKILL)
    wait_until("the broker is gone", lambda: gone(int(pid)))
    ran("rm", "-rf", directory)
