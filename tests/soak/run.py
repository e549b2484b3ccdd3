"""One soak: servers, workers and sensors for as long as the timetable says, and what is kept of it.

Everything that is judged afterwards lies in one folder, so a soak can be judged again
(``python -m tests.soak.report FOLDER``) when its servers are long gone::

    about.json        pace, machine, versions, when the load began and ended
    faults.jsonl      what was done, from when to when
    ends.jsonl        how each process of a worker ended       worker-N-M.log   what it printed
    samples.jsonl     memory, threads and files of workers; the ledger
    badges.parquet    the feeds' logs                          codecs.json      batches by codec
    partials.jsonl    every partial that was ever stored
    decisions.jsonl   alarms.jsonl                             what left, as the broker dated it
    archives          what moved out of the ledger             verify.txt       ``ledger verify``
    replay.jsonl      the logs exported and replayed           replay.prom      its custodian's page
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from benchmarks.report import machine
from deploy.kafka.broker import Broker
from stream.build import open_ledger
from stream.config.loading import load
from stream.custody.archive import archive
from tests.soak.alarms import FEEDS, PARTITIONS, alarms_of, write_configuration
from tests.soak.database import Database
from tests.soak.gauges import Gauges
from tests.soak.log import (
    batches_by_codec,
    decisions_and_alarms,
    instant_ms,
    keep,
    read_topic,
)
from tests.soak.sensors import Sensors
from tests.soak.timetable import Fault
from tests.soak.witness import copied_partials, watch_partials
from tests.soak.worker_pool import WorkerPool
from tests.support.kafka import start_again
from tests.support.procs import ran
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.soak.timetable import Pace

_SEED = 10
_BEHIND_MS = -60_000
_SETTLE_S = 1.0


def run_soak(pace: Pace, folder: Path) -> None:
    """Run one soak and keep what it left in ``folder``; nothing is judged here.

    Raises:
        AssertionError: something that has to happen did not, however long it was waited for.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        # A killed node may register again only once its session is over.
        settings = {"broker.session.timeout.ms": "3000"}
        broker = stack.enter_context(Broker(directory=folder / "kafka", settings=settings))
        database = stack.enter_context(Database())
        _Soak(pace, folder, broker, database).run()


class _Soak:
    """The parts of one soak, and what is done to them in turn."""

    def __init__(self, pace, folder, broker, database):
        self._pace, self._folder = pace, folder
        self._broker, self._database = broker, database
        self._config = folder / "alarms.yaml"
        write_configuration(self._config, pace, ledger=database.url, bootstrap=broker.bootstrap)
        self._archives = folder / "archives"
        self._archives.mkdir()
        self._pool = WorkerPool(self._config, folder)
        self._sensors = Sensors(broker.bootstrap, pace, seed=_SEED)
        self._gauges = Gauges(folder / "samples.jsonl", self._pool, database, every_s=pace.sample_s)

    def run(self) -> None:
        """Do everything, and keep what it left."""
        about = {"pace": self._pace.name, "machine": machine()}
        self._prepare()
        with self._pool, self._gauges:
            wait_until("every alarm has begun", lambda: self._caught_up(0), every_s=1.0)
            with self._sensors:
                about["load_began_ms"] = _now_ms()
                self._load()
                about["load_ended_ms"] = _now_ms()
            about["stuck"] = self._catch_up(about["load_ended_ms"])
            about["caught_up_ms"] = _now_ms()
            about["stuck"] += self._pool.stop_all()
        (self._folder / "about.json").write_text(json.dumps(about, indent=2))
        self._keep()

    def _prepare(self):
        # What leaves is dated by the broker: how long alarms took is read off the topic itself.
        for topic in ("soak.decisions", "soak.alarms"):
            self._broker.create_topic(topic, 1)
        self._tocsin("topics", "create", self._config, "--partitions", PARTITIONS)
        self._tocsin("ledger", self._config, "status")
        watch_partials(self._database)

    def _load(self):
        began_s = time.monotonic()
        for planned in self._pace.faults:
            self._wait(began_s + planned.at_s)
            self._note(planned)
        self._wait(began_s + self._pace.load_s)
        self._wait(time.monotonic() + self._pace.window_s)

    def _wait(self, until_s):
        while (left_s := until_s - time.monotonic()) > 0:
            time.sleep(min(left_s, _SETTLE_S))
            for loop in (self._sensors, self._gauges, self._pool):
                loop.check()

    def _note(self, planned):
        """Do one thing, and write down from when to when."""
        at_ms = _now_ms()
        act = {
            Fault.WORKER: self._kill_worker,
            Fault.BROKER: self._kill_broker,
            Fault.DATABASE: self._kill_database,
            Fault.CLOCK_AHEAD: self._set_clock_ahead,
            Fault.CLOCK_BEHIND: self._start_far_behind,
            Fault.ARCHIVING: self._archive,
            Fault.OUTAGE: self._take_everything_away,
        }[planned.fault]
        told = act(planned.worker)
        done = {"fault": planned.fault, "worker": planned.worker, "told": told}
        _append(self._folder / "faults.jsonl", [{**done, "at_ms": at_ms, "back_ms": _now_ms()}])

    def _kill_worker(self, worker):
        wait_until("the worker to kill runs", lambda: worker in self._running())
        self._pool.kill(worker)
        return ""

    def _kill_broker(self, _worker):
        self._broker.kill()
        time.sleep(self._pace.away_s)
        start_again(self._broker)
        return ""

    def _kill_database(self, _worker):
        self._database.kill()
        time.sleep(self._pace.away_s)
        self._database.start()
        return ""

    def _set_clock_ahead(self, worker):
        self._pool.set_clock(worker, self._pace.ahead_ms)
        time.sleep(self._pace.ahead_s)
        self._pool.set_clock(worker, 0)
        return ""

    def _start_far_behind(self, worker):
        """Start a worker whose clock is a minute slow: it must refuse, and say why."""
        wait_until("the worker runs", lambda: worker in self._running())
        before = len(self._pool.ends)
        self._pool.set_clock(worker, _BEHIND_MS)
        self._pool.kill(worker)

        def refusals():
            since = self._pool.ends[before:]
            return [one for one in since if one.worker == worker and not one.ours]

        wait_until("the worker that is far behind refuses", lambda: bool(refusals()))
        self._pool.set_clock(worker, 0)
        refused = refusals()[0]
        return f"exit {refused.code}: {' '.join(refused.told.strip().splitlines()[-2:])}"

    def _archive(self, _worker):
        """Move all that may go: the command keeps what is younger than any soak lasts."""
        with open_ledger(load(self._config, environ={})) as ledger:
            moved = archive(ledger, self._archives, _now_ms())
        return f"{moved.entries} entries moved to {', '.join(moved.files)}"

    def _take_everything_away(self, _worker):
        self._sensors.go_away()
        self._pool.kill_all()
        self._broker.kill()
        self._database.kill()
        self._wait(time.monotonic() + self._pace.outage_s)
        self._pool.start()  # first: nobody promises them that the others are there
        self._database.start()
        start_again(self._broker)
        self._sensors.come_back()
        return ""

    def _running(self):
        return {life.worker for life in self._pool.lives()}

    def _published(self):
        """Return the end of the last published window of every alarm that has one."""
        decisions, _ = decisions_and_alarms(self._broker.bootstrap)
        ends = {}
        for decision in decisions:
            end_ms = instant_ms(decision["window_end"])
            ends[decision["alarm"]] = max(end_ms, ends.get(decision["alarm"], 0))
        return ends

    def _catch_up(self, target_ms):
        """Wait until every window of the load is published; say so if that never comes."""
        try:
            wait_until(
                "every window of the load is published",
                lambda: self._caught_up(target_ms),
                every_s=2.0,
            )
        except AssertionError as error:
            return [str(error)]  # what is missing is named by the verdict, from what is kept
        return []

    def _caught_up(self, target_ms):
        self._gauges.check()
        self._pool.check()
        ends = self._published()
        return all(ends.get(alarm.name, -1) >= target_ms for alarm in alarms_of(self._pace))

    def _tocsin(self, *command, code=0):
        """Run a command to its end, which has to be good unless told otherwise."""
        program = (sys.executable, "-m", "stream.cli.entry")
        return ran(*program, *command, code=code, cwd=ROOT, timeout=None)

    def _keep(self):
        """Read the logs, the topics and the ledger, and replay what was exported."""
        folder, bootstrap = self._folder, self._broker.bootstrap
        for feed in FEEDS:
            keep(folder / f"{feed}.parquet", read_topic(bootstrap, f"soak.{feed}"))
        codecs = {
            feed: dict(batches_by_codec(folder / "kafka" / "data", f"soak.{feed}"))
            for feed in FEEDS
        }
        (folder / "codecs.json").write_text(json.dumps(codecs))
        decisions, alarms = decisions_and_alarms(bootstrap)
        _append(folder / "decisions.jsonl", decisions)
        _append(folder / "alarms.jsonl", alarms)
        _append(folder / "partials.jsonl", copied_partials(self._database))
        command = ("ledger", self._config, "verify", "--archive", self._archives, "--topics")
        verified = self._tocsin(*command, code=None)
        (folder / "verify.txt").write_text(
            f"exit {verified.returncode}\n{verified.stdout}{verified.stderr}"
        )
        self._replay([instant_ms(one["window_start"]) for one in decisions])

    def _replay(self, starts_ms):
        """Export both logs and replay them: the same events once more, in one piece."""
        folder = self._folder
        # A replay reads no further than its history: this one ends behind the last record.
        history_ms = (min(starts_ms), _now_ms() // 1000 * 1000)
        again = folder / "again.yaml"
        write_configuration(
            again,
            self._pace,
            ledger=f"sqlite:///{folder}/again.db",
            bootstrap=self._broker.bootstrap,
            history_ms=history_ms,
        )
        exports = [f"{feed}={folder / feed}.export.parquet" for feed in FEEDS]
        for feed in FEEDS:
            self._tocsin("export", self._config, feed, folder / f"{feed}.export.parquet")
        # On a slow machine most events come late, to the workers too: the verdict recounts all.
        report = ("--json", "--accept-drops", "--custodian-report", folder / "replay.prom")
        done = self._tocsin("run", again, *report, "--replay", *exports)
        (folder / "replay.jsonl").write_text(done.stdout)


def _append(path, lines):
    with path.open("a") as opened:
        opened.writelines(f"{json.dumps(line)}\n" for line in lines)


def _now_ms():
    return time.time_ns() // 1_000_000
