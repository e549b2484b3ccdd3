"""Backup and restore by the commands of ``docs/how-to/back-up-and-restore.md``, as printed.

``/backups`` stands for a folder of the test, ``date`` says the day of the page, and
``docker compose exec`` runs what it is given, here and not in a container.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from functools import partial
from itertools import islice
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.records import encode
from stream.decisions.release import decision_record
from stream.replay.replay import Replay
from stream.windows.shown import moment_text
from tests.support.commands import configuration, events, tocsin
from tests.support.hostile import WINDOW_MS
from tests.support.ledgers import must_verify
from tests.support.procs import ran
from tests.support.scenario import Scenario
from tests.support.tree import text_of
from tests.support.waiting import wait_until

PAGE = text_of("docs/how-to/back-up-and-restore.md")
SHOWN = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
    if line.strip()
]
INLINE = re.findall(r"`(tocsin ledger alarms\.yaml [^`]*)`", PAGE)
DAY = "2024-05-01"
PROGRAMS = {
    "date": f'#!/bin/sh\n[ "$1" = +%F ] && echo {DAY}\n',
    "docker": '#!/bin/sh\n[ "$1 $2 $4" = "compose exec postgres" ] && shift 4 && "$@"\n',
}


class Shell:
    """Runs the page's commands in the folder of a configuration.

    Args:
        folder: of ``alarms.yaml``.
        environ: beside the usual variables.
        path: folders of programs, before the usual ones.
    """

    def __init__(self, folder, environ=None, path=""):
        programs = folder / "programs"
        programs.mkdir()
        for name, text in PROGRAMS.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        (folder / "backups").mkdir()
        tools = (str(programs), path, str(Path(sys.executable).parent), os.environ["PATH"])
        self._environ = {**os.environ, **(environ or {}), "PATH": ":".join(filter(None, tools))}
        self._folder = folder
        self.ran = set()

    def run(self, words, *, code=0, put=None):
        """Run the one command of the page that is, or else begins with, some words.

        Args:
            words: enough to tell it from others.
            code: that it ends with.
            put: what stands in the place of its placeholders.
        """
        begin = {line for line in (*SHOWN, *INLINE) if line.startswith(words)}
        (command,) = begin & {words} or begin
        self.ran.add(command)
        for placeholder, value in (put or {}).items():
            assert placeholder in command
            command = command.replace(placeholder, value)
        return ran(
            "bash",
            "-c",
            command.replace("/backups/", f"{self._folder}/backups/"),
            code=code,
            cwd=self._folder,
            env=self._environ,
            input="y\n",
        )


def _checkpoint(said):
    (checkpoint,) = re.findall(r"^checkpoint (\S+)$", said, flags=re.MULTILINE)
    return str(checkpoint)


def _spent(folder):
    with open_ledger(load(folder / "alarms.yaml", environ={})) as ledger:
        scopes = ledger.reports.status().scopes
        must_verify(ledger)
        return {name: scope.spent_units for name, scope in scopes.items()}


def _begin(folder, windows):
    """Decide the first windows of a replay and keep what it prints."""
    alarms = load(folder / "alarms.yaml", environ={})
    with open_ledger(alarms) as ledger, (folder / "published.jsonl").open("wb") as published:
        running = Replay(alarms, ledger, {"badges": [folder / "badges.jsonl"]}).run()
        for decision in islice(running, windows):
            record = decision_record(alarms.by_name["crowd"], alarms, decision)
            published.write(encode(record) + b"\n")
        running.close()


def test_a_ledger_of_replays_is_put_back(tmp_path):
    """SQLite: an older copy, and then no copy at all; nothing that was printed is forgotten."""
    configuration(tmp_path)
    events(tmp_path)
    _begin(tmp_path, 10)
    shell = Shell(tmp_path)
    run = partial(shell.run, "tocsin run alarms.yaml --replay")
    checkpoint = _checkpoint(shell.run("tocsin ledger alarms.yaml backup").stdout)
    run()
    spent = _spent(tmp_path)

    for suffix in ("", "-wal", "-shm"):
        (tmp_path / ".tocsin" / f"alarms.db{suffix}").unlink(missing_ok=True)
    shell.run("install -m 600")
    noted = {"NUMBER:HASH": checkpoint}
    verified = shell.run("tocsin ledger alarms.yaml verify --checkpoint", put=noted, code=2)
    assert "more was appended than this ledger has" in verified.stderr
    assert "noted" not in verified.stderr  # the copy's own checkpoint holds
    assert "reconcile" in run(code=2).stderr
    shell.run("tocsin ledger alarms.yaml reconcile --published")
    assert "this ledger is new" not in run().stderr
    assert _spent(tmp_path) == spent

    for file in (tmp_path / ".tocsin").glob("alarms.db*"):
        file.unlink()
    assert "is already charged to ledger" in run(code=2).stderr
    shell.run("tocsin ledger alarms.yaml take-ownership --replay")
    assert _spent(tmp_path) == spent
    run()
    assert _spent(tmp_path) == spent
    replays = {line for line in SHOWN if "docker" not in line and "restore" not in line}
    assert replays == shell.ran & set(SHOWN)


@pytest.fixture
def tocsin_database(postgres):
    """Make the role and the database of the page; yield how its tools reach the server."""
    role = sql.Identifier("tocsin")
    names = ("tocsin", "tocsin_restored")
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(role, role))
        found = psycopg.conninfo.conninfo_to_dict(postgres.admin_url)
        yield {"PGHOST": str(found["host"]), "PGUSER": str(found["user"])}
        for name in names:
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            connection.execute(drop.format(sql.Identifier(name)))
        connection.execute(sql.SQL("DROP ROLE {}").format(role))


@pytest.mark.integration
def test_a_workers_ledger_is_put_back(broker, postgres, tocsin_database, tmp_path):
    """PostgreSQL and Kafka: what left since the dump is charged from the decisions topic.

    The worker names the command; after it no window is drawn again and every one is charged.
    """
    host = tocsin_database["PGHOST"]
    scenario = Scenario(
        broker,
        tmp_path,
        ledger=f'"postgresql://tocsin@/tocsin?host={host}"',
    )
    shell = Shell(tmp_path, tocsin_database, str(postgres.programs))
    with scenario:
        worker = scenario.start_worker()
        wait_until("a window is published", lambda: scenario.done("decision"))
        checkpoint = _checkpoint(shell.run("tocsin ledger alarms.yaml verify").stdout)
        shell.run("docker compose exec")
        dumped = len(scenario.done("decision"))  # or one more than the dump holds
        wait_until("later ones are", lambda: len(scenario.decided()) > dumped + 1, every_s=1)
        worker.kill()
        released = scenario.decided()
        later = _checkpoint(tocsin("ledger", scenario.config, "verify", code=0).stdout)

        shell.run("createdb")
        shell.run("pg_restore")
        text = scenario.config.read_text()
        scenario.config.write_text(text.replace("/tocsin?", "/tocsin_restored?"))
        noted = {"NUMBER:HASH": checkpoint}
        shell.run("tocsin ledger alarms.yaml verify --checkpoint", put=noted)
        lacking = tocsin("ledger", scenario.config, "verify", "--checkpoint", later, code=2)
        assert "the log is shorter" in lacking.stderr
        before = _sequence(scenario)
        assert 0 < before <= dumped < len(released)
        refused = scenario.start_worker()
        assert refused.ended() == 2, refused.text()
        assert "tocsin ledger FILE reconcile" in refused.text()
        first_lost = moment_text(sorted(released)[before], "UTC")
        assert f"the first of alarm 'crowd' from {first_lost} on: " in refused.text()
        assert _sequence(scenario) == before
        told = shell.run("tocsin ledger alarms.yaml reconcile")
        assert f"{len(released) - before} decision(s) taken over" in told.stdout
        assert _sequence(scenario) == len(released)
        scenario.start_worker()
        wait_until("others are", lambda: len(scenario.decided()) > len(released), every_s=1)
    _assert_drawn_once_and_charged(scenario, released)


def _sequence(scenario):
    with open_ledger(scenario.alarms()) as ledger:
        return ledger.reports.status().queries[scenario.query].sequence


def _assert_drawn_once_and_charged(scenario, released):
    """Compare everything published with what was published before the ledger went back."""
    published = scenario.decided()
    starts_ms = sorted(published)
    assert starts_ms == list(range(starts_ms[0], starts_ms[-1] + 1, WINDOW_MS))
    for start_ms, copies in published.items():
        assert all(one == released.get(start_ms, copies)[0] for one in copies)
    assert {copies[0]["outcome"] for copies in published.values()} == {"decided"}
    # The kill may have cut off a window between its draw and its release: that one is drawn again.
    drawn = [line for line in scenario.done("step") if line["step"] == "after_draw"]
    for lines in (drawn, scenario.done("decision")):
        times = Counter(line["start_ms"] for line in lines)
        assert {times[start_ms] for start_ms in released} == {1}
        assert max(times.values()) <= 2
    assert sum(count > 1 for count in times.values()) <= 1
    assert _spent(scenario.directory)["user"] >= len(published) * scenario.window_units()
