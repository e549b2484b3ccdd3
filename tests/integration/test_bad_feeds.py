"""Topics that windows could not be exact on are refused: at the start, and while a worker runs."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from functools import partial
from itertools import cycle

import pytest
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType

from accountant.errors import LogChangedError
from stream.build import open_ledger
from stream.kafka.guard import check_feeds
from stream.kafka.topics import check
from tests.support.commands import tocsin
from tests.support.hostile import (
    WINDOW_MS,
    event_of,
    flowing,
    next_window_ms,
    sleep_until,
    time_ms,
)
from tests.support.oracle import add_up, crowd
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

_STARTS = ("grown", "recreated", "flipped")
_UNFIT = {
    "message.timestamp.type": ("CreateTime", "message.timestamp.type=LogAppendTime"),
    "cleanup.policy": ("compact", "cleanup.policy=delete"),
    "retention.bytes": ("1000000", "retention.bytes=-1"),
    "retention.ms": ("60000", "retention.ms="),
}


@pytest.fixture(scope="module")
def running(broker, tmp_path_factory):
    """Three scenarios whose workers start together, each counting; ended with the module."""
    folder = tmp_path_factory.mktemp("feeds")
    scenarios = {
        name: Scenario(
            broker,
            folder / name,
            log_check_s=600.0 if name == "flipped" else 1.0,
        )
        for name in _STARTS
    }
    with ExitStack() as stack:
        for scenario in scenarios.values():
            stack.enter_context(scenario).start_worker()
        for name, scenario in scenarios.items():
            wait_until(f"{name}: a worker counts", lambda s=scenario: s.done("partial"))
        yield scenarios


def test_unfit_topics_are_refused_at_the_start(broker, tmp_path):
    """A worker names every unfit setting and what to set, and exits with 2; a lost topic too."""
    unfit, missing = (Scenario(broker, tmp_path / name) for name in ("unfit", "missing"))
    broker.create_topic(unfit.topic, 2, {key: bad for key, (bad, _) in _UNFIT.items()})
    check(unfit.alarms(), create_with=2)
    with pytest.raises(LogChangedError) as caught:
        check_feeds(unfit.alarms())
    assert len(caught.value.message.splitlines()) == len(_UNFIT), caught.value.message
    workers = [scenario.start_worker() for scenario in (unfit, missing)]
    try:
        assert [worker.ended() for worker in workers] == [2, 2]
    finally:
        unfit.stop()
        missing.stop()
    said, unsaid = (worker.text() for worker in workers)
    assert all(wanted in said for _, wanted in _UNFIT.values()), said
    needed = int(re.search(r"retention\.ms=(\d+) or more", said)[1])
    assert needed > 60_000
    assert f"topic {missing.topic!r} does not exist" in unsaid, unsaid
    assert "tocsin topics create FILE" in unsaid


def _refused(scenario):
    """Return what the worker, which ends, says of its log, and one that starts again."""
    told = ""
    for worker in (scenario.workers[0], scenario.start_worker()):
        assert worker.ended() == 2, worker.text()
        told += worker.text()
    return told


def test_added_partitions_stop_a_worker(broker, running):
    """A third partition that nobody announced ends the worker, until the command takes it on."""
    scenario = running["grown"]
    with broker.admin() as client:
        client.create_partitions({scenario.topic: 3})
    told = _refused(scenario)
    assert told.count("partitions 2 -> 3") == 2
    assert "tocsin topics add-partitions FILE badges --partitions 3" in told
    words = ("--partitions", "3", "--settle", "1s", "--yes")
    tocsin("topics", "add-partitions", scenario.config, "badges", *words, code=0)
    with open_ledger(scenario.alarms()) as ledger:
        (growth,) = ledger.growths.of("badges").growths
    assert growth.from_ms == 0  # nobody knows when they came
    scenario.start_worker()
    until_ms = growth.until_ms
    wait_until(
        "a later window is decided", lambda: max(scenario.ended("decided"), default=0) > until_ms
    )
    assert scenario.reasons() <= {None, "repartitioned"}


def test_a_recreated_topic_stops_a_worker(broker, running):
    """A feed whose topic is deleted and made anew under its name is another log."""
    scenario = running["recreated"]
    scenario.produce(("p1", b"{}") for _ in range(10))
    broker.delete_topic(scenario.topic)
    made_anew = partial(check, scenario.alarms(), create_with=2)
    wait_until("the topic is made anew", lambda: not made_anew()[0])
    assert "topic_id" in _refused(scenario)


def test_records_dated_by_their_sender_never_count(broker, running):
    """While the topic takes CreateTime, its records are dropped alone and move no window's end."""
    scenario = running["flipped"]
    with flowing(broker.bootstrap, scenario.topic, seed=5):
        sleep_until(first_ms := next_window_ms())
        time.sleep(0.5)
        _set(broker, scenario.topic, "message.timestamp.type", "CreateTime")
        time.sleep(0.5)
        _produce_dated(scenario, offsets_ms=(-86_400_000, -WINDOW_MS, 0, 1_800_000))
        _set(broker, scenario.topic, "message.timestamp.type", "LogAppendTime")
        sleep_until(last_ms := next_window_ms())
        starts_ms = list(range(first_ms - WINDOW_MS, last_ms + 1, WINDOW_MS))
        wait_until(
            "the windows are decided", lambda: set(starts_ms) <= scenario.windows("decision")
        )
    records = scenario.read(scenario.topic)
    assert {record.timestamp_type for record in records} == {0, 1}
    truth = crowd(records, starts_ms, partitions=2, size_ms=WINDOW_MS)
    counted = add_up(scenario.done("partial"))
    assert {start: counted[start] for start in starts_ms} == truth
    assert all(sum(truth[start]) > 0 for start in (first_ms, last_ms))
    assert scenario.workers[0].alive
    text = scenario.workers[0].text()
    assert not any(private in text for private in ("person", "misrouted", "nowhere", "soon"))


def _set(broker, topic, key, value):
    resource = ConfigResource(
        ConfigResourceType.TOPIC, topic, configs={key: (AlterConfigOp.SET, value)}
    )
    with broker.admin() as client:
        client.alter_configs([resource])


def _produce_dated(scenario, offsets_ms):
    """Send good events of now in records that claim other append times."""
    good = [event_of(f"q{number}", "lab") for number in range(40)]
    scenario.send(
        {"key": key.encode(), "value": value, "timestamp_ms": time_ms() + offset_ms}
        for (key, value), offset_ms in zip(good, cycle(offsets_ms), strict=False)
    )
