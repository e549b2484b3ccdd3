"""Partitions that hang, idle ones, empty windows and workers that join in the middle of one."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

import pytest
from aiokafka import AIOKafkaProducer

from stream.windows.instants import from_iso_utc
from tests.support.hostile import (
    WINDOW_MS,
    event_of,
    flowing,
    home,
    next_window_ms,
    sleep_until,
    time_ms,
)
from tests.support.matrix import check_charged
from tests.support.oracle import add_up, crowd
from tests.support.scenario import ROOMS, Scenario
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def running(broker, postgres, tmp_path_factory):
    """Two scenarios whose workers start together and decide; ended with the module."""
    folder = tmp_path_factory.mktemp("partitions")
    timeouts = {"hanging": "6s", "joined": "10m"}
    scenarios = {
        name: Scenario(
            broker,
            folder / name,
            ledger=postgres.new_database(),
            decide_timeout=timeout,
        )
        for name, timeout in timeouts.items()
    }
    with ExitStack() as stack:
        for scenario in scenarios.values():
            stack.enter_context(scenario).start_worker()
        for name, scenario in scenarios.items():
            wait_until(f"{name}: a window is decided", lambda s=scenario: s.done("decision"))
        yield scenarios


def test_a_partition_that_hangs_costs_windows_but_no_budget(running):
    """Windows an open transaction holds up are denied, published, uncharged; then it goes on."""
    scenario = running["hanging"]
    with _open_transaction(scenario, partition=1):
        before = scenario.ended("denied")
        wait_until("two windows are denied", lambda: len(scenario.ended("denied") - before) >= 2)
    last_ms = max(scenario.windows("decision"))
    wait_until(
        "windows are decided again",
        lambda: max(scenario.ended("decided"), default=0) > last_ms,
    )
    decided_ms = max(scenario.windows("decision"))
    wait_until("the last decision is published", lambda: decided_ms in scenario.decided())
    scenario.stop()

    reasons = {start: copies[0]["reason"] for start, copies in scenario.decided().items()}
    starts_ms = sorted(start for start in reasons if start <= decided_ms)
    assert starts_ms == list(range(starts_ms[0], decided_ms + 1, WINDOW_MS))
    denied = scenario.ended("denied") & set(starts_ms)
    assert {start for start in starts_ms if reasons[start]} == denied
    assert {reasons[start] for start in denied} == {"transaction_open"}
    assert not any(from_iso_utc(each["window_start"]) in denied for each in scenario.published())
    check_charged(scenario)


def test_idle_partitions_empty_windows_and_a_late_joiner(running):
    """The clock completes what is silent, a rebalance moves no count, every window is decided."""
    scenario = running["joined"]
    first_ms = max(scenario.windows("decision")) + WINDOW_MS
    _produce_into_one_partition(scenario, until_ms=next_window_ms() + WINDOW_MS)
    with flowing(scenario.broker.bootstrap, scenario.topic, seed=19):
        sleep_until(next_window_ms() + WINDOW_MS // 2)
        scenario.start_worker()
        wait_until("the second worker counts", lambda: len(_counting(scenario)) == 2)
        sleep_until(next_window_ms() + WINDOW_MS // 2)
    silent_ms = next_window_ms()
    last_ms = silent_ms + WINDOW_MS
    wait_until("empty windows are decided", lambda: last_ms in scenario.windows("decision"))
    scenario.stop()

    starts_ms = list(range(first_ms, last_ms + 1, WINDOW_MS))
    assert set(starts_ms) <= scenario.ended("decided")
    records, partials = scenario.read(scenario.topic), scenario.done("partial")
    counted = add_up(partials)
    truth = crowd(records, starts_ms, partitions=2, size_ms=WINDOW_MS)
    assert {start: counted[start] for start in starts_ms} == truth
    assert truth[silent_ms] == truth[last_ms] == (0,) * len(ROOMS)
    assert sum(sum(cells) > 0 for cells in truth.values()) >= 3
    assert all(partial["complete"] for partial in partials)
    busy = {(partial["start_ms"], partial["partition"]) for partial in partials if partial["value"]}
    assert any((start_ms, 1 - partition) not in busy for start_ms, partition in busy)


def _counting(scenario):
    return {partial["pid"] for partial in scenario.done("partial")}


@contextmanager
def _open_transaction(scenario, *, partition):
    """Hold a transaction with one record open while the block runs, then abort it."""
    begun, over = Event(), Event()

    async def hold():
        producer = AIOKafkaProducer(
            bootstrap_servers=scenario.broker.bootstrap,
            transactional_id=f"{scenario.name}-hangs",
            transaction_timeout_ms=300_000,
        )
        await producer.start()
        try:
            await producer.begin_transaction()
            await producer.send_and_wait(scenario.topic, b"{}", partition=partition)
            begun.set()
            await asyncio.to_thread(over.wait)
            await producer.abort_transaction()
        finally:
            await producer.stop()

    holder = Thread(target=asyncio.run, args=(hold(),))
    holder.start()
    try:
        assert begun.wait(PATIENCE_S)
        yield
    finally:
        over.set()
        holder.join()


def _produce_into_one_partition(scenario, *, until_ms):
    """Send events of people who all live in partition 0."""
    people = [person for person in (f"r{number}" for number in range(60)) if not home(person, 2)]
    while time_ms() < until_ms:
        now_ms = time_ms()
        scenario.produce(
            event_of(person, ROOMS[at % len(ROOMS)], f"{person}-{now_ms}")
            for at, person in enumerate(people)
        )
        time.sleep(0.3)
