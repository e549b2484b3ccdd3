"""The commands of a day with Kafka, as an operator types them; the worker is a process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from stream.build import open_ledger
from stream.config.loading import load
from tests.support.commands import tocsin
from tests.support.examples import copied
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration

_WINDOWS = 75
_KAFKA = """\
kafka:
  bootstrap: {bootstrap}
  group: commands
  alarms_topic: commands.alarms
  decisions_topic: commands.decisions
  wakeup_topic: commands.wakeup
  ownership_topic: commands.ownership
  session_timeout: 6s
metrics: {{public: "127.0.0.1:0", custodian: "127.0.0.1:0"}}
feeds:
"""
_PUNCTUATED = """\
    clock: watermarks
    watermarks: {interval: 1h, key: "a key of more than sixteen bytes"}
    allowed_skew: 2h
    time:"""


def run(*arguments: str | Path) -> Result:
    """Run a command to its end."""
    return tocsin(*map(str, arguments))


def configured(folder: Path, broker: Broker) -> Path:
    """Return the office example, set up to be replayed through Kafka."""
    path = copied("office", folder)
    text = path.read_text()
    text = text.replace("feeds:\n", _KAFKA.format(bootstrap=broker.bootstrap), 1)
    path.write_text(text.replace("    time:", _PUNCTUATED, 1))
    return path


def test_history_goes_through_kafka_by_commands(broker: Broker, tmp_path: Path) -> None:
    """Topics, replay, run --json, verify: every line is JSON, every window is decided once."""
    path = configured(tmp_path, broker)
    missing = run("topics", "check", path)
    assert (missing.exit_code, "tocsin topics create FILE" in missing.stderr) == (2, True)
    assert run("topics", "create", path, "--partitions", "2").exit_code == 0
    badges = path.with_name("badges.jsonl")
    for _ in range(2):  # the second one finds nothing left to write
        assert run("load", path, badges).exit_code == 0

    worker = subprocess.Popen(
        [sys.executable, "-c", "from stream.cli.main import main; main()", "run", path, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until("every window is published", lambda: _published(path) == _WINDOWS)
    finally:
        worker.send_signal(signal.SIGTERM)
        printed, _ = worker.communicate(timeout=PATIENCE_S)
    assert worker.returncode == 0
    lines: list[dict[str, Any]] = [json.loads(line) for line in printed.splitlines()]
    decisions = [line for line in lines if "outcome" in line]
    assert [decision["sequence"] for decision in decisions] == list(range(1, _WINDOWS + 1))
    assert sum(decision["alarms"] for decision in decisions) == len(lines) - _WINDOWS
    verified = run("ledger", path, "verify")
    assert verified.exit_code == 0
    assert verified.stdout.startswith("ok\n")
    export = tmp_path / "log.parquet"
    exported = run("export", path, "badges", export)
    assert (exported.exit_code, exported.stdout.split()[1:]) == (0, ["records", "in", str(export)])
    assert export.stat().st_mode & 0o777 == 0o600
    counted = _output("inspect", path, "--replay", export, "--json")
    assert sum('"statistics"' in line for line in counted) > 0
    path.write_text(path.read_text().replace("office.db", "exported.db"))
    again = [json.loads(line) for line in _output("run", path, "--replay", export, "--json")]
    redecided = [line for line in again if "outcome" in line]
    assert [(line["window_start"], line["outcome"]) for line in redecided] == [
        (line["window_start"], line["outcome"]) for line in decisions
    ]


def _output(*arguments: str | Path) -> list[str]:
    """Run a command that ends well; return the lines it prints."""
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    return done.stdout.splitlines()


def _published(path: Path) -> int:
    """Return how many decisions have left."""
    with open_ledger(load(path, environ={})) as ledger:
        queries = ledger.reports.status().queries.values()
        return sum(query.decided - query.unpublished for query in queries)
