"""The dashboards' expressions, asked of a real Prometheus that scraped two workers' pages.

The pages are those of the workers' own registries and server; what moves them is told here: a first
alarm, a first denial, a worker that starts anew, and a partition that is lost.
"""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client import generate_latest

from accountant.ledger.journal import START, Happened
from accountant.records import Stand
from deploy.kafka.runtime import free_port
from stream.metrics.readiness import KAFKA
from stream.metrics.server import serve
from stream.windows.calendars import FixedCalendar
from stream.windows.periods import Periods
from tests.deploy.test_grafana import DASHBOARDS, filled_in
from tests.support.measured import (
    HOUR_MS,
    MICRO,
    GroupLosses,
    addresses,
    decided,
    denied,
    fresh_metrics,
    ledger_status,
)
from tests.support.procs import ran
from tests.support.waiting import PATIENCE_S, wait_until

HOUR = int(time.time() * 1000) // HOUR_MS
"""The last full hour ends with it."""

TARGETS = 4
"""Two pages of two workers."""

DAYS = Periods(FixedCalendar(24 * HOUR_MS, 24 * HOUR_MS))
RINGING = "Firing in the last window"
COUNTS = {"r1": 0.0, "r2": 41.0, "r3": 7.0}


class Prometheus:
    """A running Prometheus that scrapes every two seconds.

    Args:
        url: of its API.
    """

    def __init__(self, url):
        self.url = url
        self.rang_s = 0.0
        """Just after the alarm and the denial were scraped."""

    def ask(self, expression, at_s=None):
        """Return the labels and values of an instant query, of now unless a time is given."""
        when = {} if at_s is None else {"time": str(at_s)}
        asked = f"{self.url}/api/v1/query?{urlencode({'query': expression, **when})}"
        with urlopen(asked, timeout=PATIENCE_S) as answer:  # noqa: S310  always http
            found = json.load(answer)["data"]["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]

    def panel(self, title):
        """Return what the first expression of a panel has, by its file and title."""
        return self.ask(_panels()[title][0])

    def scrape_again(self):
        """Wait until every target was scraped after now."""
        now_s = time.time()
        wait_until("all targets are scraped again", lambda: self._oldest_s() > now_s)

    def _oldest_s(self):
        try:
            scraped_s = [value for _, value in self.ask("timestamp(up) and up == 1")]
            return min(scraped_s) if len(scraped_s) == TARGETS else 0
        except (URLError, ConnectionError):
            return 0


@contextmanager
def _prometheus(folder, public, custodian):
    """Run one over these ports of this machine."""
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}]}
        for name, ports in (("tocsin-public", public), ("tocsin-custodian", custodian))
    ]
    config = {"global": {"scrape_interval": "2s", "scrape_timeout": "2s"}, "scrape_configs": jobs}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = ["prometheus", f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--log.level=error"], stdout=log, stderr=log)
    try:
        yield Prometheus(f"http://{address}")
    finally:
        process.kill()
        process.wait()


def _live(metrics, times):
    """Go through a worker's private life, and show the ledger that all workers read."""
    metrics.events_read("badges", 40 * times)
    metrics.events_dropped("badges", {"late": times})
    metrics.appended("badges", HOUR * HOUR_MS)
    metrics.partitions.told("badges", 0, Stand.END, 5)
    metrics.partitions.told("badges", 1, Stand.READING if times == 1 else Stand.UNREACHABLE, 5)
    metrics.readiness.answered(KAFKA)
    metrics.people_counted(decided().key, 10 * times, times)
    today = HOUR // 24
    status = ledger_status(
        spent=MICRO * times,
        cursor_ms=(HOUR - 1) * HOUR_MS,
        periods={today: MICRO},
        denied_at_ms={"budget": HOUR * HOUR_MS},
    )
    crowd = replace(status.queries["crowd"], alarms_left=4)
    metrics.ledger(replace(status, queries={**status.queries, "crowd": crowd}))
    metrics.realised(GroupLosses(crowd=[3, 0, 1]))
    metrics.journal(
        {START: Happened(times, HOUR * HOUR_MS), "ClockError": Happened(1, HOUR * HOUR_MS)}
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Two workers from before their first decision on; then an alarm, a denial, one starts anew."""
    one, other = fresh_metrics(periods=DAYS), fresh_metrics(periods=DAYS)
    with ExitStack() as stack:
        first = stack.enter_context(serve(one, addresses()))
        going = stack.enter_context(ExitStack())
        second = going.enter_context(serve(other, addresses()))
        prometheus = stack.enter_context(
            _prometheus(
                tmp_path_factory.mktemp("prometheus"),
                [first.public[1], second.public[1]],
                [first.custodian[1], second.custodian[1]],
            )
        )
        for metrics in (one, other):
            _live(metrics, 1)
        prometheus.scrape_again()
        rings = decided("crowd", HOUR, alarms=1)
        older = decided("crowd", HOUR - 1, alarms=0)
        other.published(older, 2.5, [], [({"room": room}, 99, 9) for room in ("r1", "r2", "r3")])
        counts = [({"room": room}, count, 2.5) for room, count in COUNTS.items()]
        one.published(rings, 2.5, [(rings.key, {"room": "r2"})], counts)
        other.published(denied("quiet", HOUR), 2.5)
        for metrics in (one, other):
            _live(metrics, 2)
        prometheus.scrape_again()
        prometheus.rang_s = time.time()
        going.close()
        anew = fresh_metrics(periods=DAYS)
        _live(anew, 2)
        ports = {
            f"{audience}_address": ("127.0.0.1", port)
            for audience, (_, port) in (("public", second.public), ("custodian", second.custodian))
        }
        stack.enter_context(serve(anew, replace(addresses(), **ports)))
        prometheus.scrape_again()
        yield prometheus


def _panels():
    """Return the expressions of every panel, by the dashboard's file and the panel's title."""
    return {
        f"{path}: {panel['title']}": [filled_in(target["expr"]) for target in panel["targets"]]
        for path, dashboard in DASHBOARDS.items()
        for panel in dashboard["panels"]
        if panel["type"] != "row"
    }


def test_every_panel_has_data(told):
    """Each expression has a value after a first alarm and a first denial; none is below zero."""
    for title, expressions in _panels().items():
        for expression in expressions:
            found = told.ask(expression)
            assert found, (title, expression)
            assert all(value >= 0 for _, value in found), (title, found)


def test_the_room_that_rang_is_named(told):
    """One room of one alarm, with its window's end, also though a worker has forgotten it."""
    room = {"alarm": "crowd", "group": "r2"}
    assert told.panel(f"public/alarms.json: {RINGING}") == [(room, HOUR * HOUR_MS)]
    when = told.panel("public/alarms.json: Which group fired, and when")
    rings = {(each["alarm"], each["group"]) for each, value in when if value}
    assert rings == {("crowd", "r2")}


def test_counts_are_those_of_the_worker_that_published_last(told):
    """Not those of the one that has the window before, nor of the one that has none yet."""
    counted, noise = (
        told.panel(f"public/alarms.json: {title}")
        for title in ("Noisy count of the last window", "Standard deviation of its noise")
    )
    assert {each["group"]: value for each, value in counted} == COUNTS
    assert noise == [({"alarm": "crowd"}, 2.5)]


def test_a_first_denial_is_not_taken_for_silence(told):
    """Of the two alarms one was decided and one was not; shares and increases say which."""
    windows = told.panel("public/alarms.json: Windows per hour, decided and denied")
    moved = {(e["alarm"], e["outcome"]) for e, value in windows if value > 0}
    assert moved == {("crowd", "decided"), ("quiet", "denied")}
    share = told.panel("public/alarms.json: Share of windows denied")
    assert {e["alarm"]: value for e, value in share} == {"crowd": 0, "quiet": 1}


def test_marks_are_set_by_an_alarm_and_a_denial_and_by_no_restart(told):
    """What is drawn on the time axis names the room; a worker that forgot rings nothing."""
    listed = DASHBOARDS["public/alarms.json"]["annotations"]["list"]
    marks = {each["name"]: filled_in(each["expr"]) for each in listed}
    room, alarm = {"alarm": "crowd", "group": "r2"}, {"alarm": "quiet"}
    assert [found for found, _ in told.ask(marks["fired"], told.rang_s)] == [room]
    assert [found for found, _ in told.ask(marks["denied"], told.rang_s)] == [alarm]
    assert [found for found, _ in told.ask(marks["fired"]) if found != room] == []


def test_a_lost_partition_is_seen(told):
    """The custodian reads which, from the worker that lost it."""
    states = told.panel("custodian/custodian.json: Partitions, by state")
    assert ("1", "unreachable") in {(e["partition"], e["state"]) for e, _ in states}


@pytest.mark.parametrize("page", ["public", "custodian"])
def test_a_page_has_no_lint(page):
    """`promtool check metrics` finds nothing: names, units, types, helps, and no `le` on gauges."""
    metrics = fresh_metrics(periods=DAYS)
    _live(metrics, 1)
    text = generate_latest(getattr(metrics, page)).decode()
    assert _linted(text) == ""
    broken = text.replace('{check="', '{le="').replace("# HELP tocsin_build_info", "# HELP x")
    assert _linted(broken) != ""


def _linted(page):
    done = ran("promtool", "check", "metrics", code=None, input=page)
    return done.stdout + done.stderr
