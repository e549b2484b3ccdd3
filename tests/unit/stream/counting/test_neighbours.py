"""Two-neighbour tests of the whole pipeline, from the bytes of Kafka records to step counts.

Random logs of JSON messages and of Arrow batches, with every kind of bad event among good ones, are
read by ``PartitionReader``. Adding or removing one event (unit ``event``), or all events of one
person within one budget period (unit ``user``), may move no cell by more than its sensitivity and
no other cell at all; how a log is split into reads, or where reading starts again, may change
nothing. Readers that are broken on purpose (``test_broken_readers.py``) must be caught by the same
checks.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from stream.counting.partition import PartitionReader
from tests.support.neighbours import breach, dense, read, scattered
from tests.support.random_logs import SETUPS, random_log

SEEDS = range(2)


@pytest.mark.long
@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_no_neighbour_moves_more_than_its_share(setup):
    """One event, or one person in one period, moves its own cells by at most D, one step of s'."""
    for seed in SEEDS:
        log = random_log(setup, random.Random(f"{setup} {seed}"))
        assert not breach(setup.alarms, setup, log), seed


@pytest.mark.long
@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_nothing_depends_on_reads_or_restarts(setup):
    """Partials, offsets included, are the same for any split and from any later slice on."""
    for seed in SEEDS:
        rng = random.Random(f"split {setup} {seed}")
        log = random_log(setup, rng, size=30)
        assert not scattered(setup.alarms, setup, log, rng, PartitionReader), seed


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_offsets_say_nothing_but_the_order(setup):
    """Numbering the records anew changes no statistic, so a removed record leaves no gap."""
    alarms = setup.alarms
    for partition, messages in enumerate(random_log(setup, random.Random(str(setup)), size=30)):
        renumbered = [replace(message, offset=at) for at, message in enumerate(messages)]
        before, after = (
            {key: dense(one).tolist() for key, one in read(alarms, setup, partition, log).items()}
            for log in (messages, renumbered)
        )
        assert before == after
