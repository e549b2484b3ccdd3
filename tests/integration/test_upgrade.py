"""A rolling upgrade on a real broker and PostgreSQL: one version writes at any time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from accountant.store.schema import HEAD
from deploy.kafka.runtime import free_port
from tests.support.hostile import WINDOW_MS, flowing
from tests.support.scenario import Scenario
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

pytestmark = pytest.mark.integration

NEWER = f"{int(HEAD) + 1:04}"
MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "{NEWER}", "{HEAD}", None, None


def upgrade() -> None:
    op.create_table("tocsin_to_come", sa.Column("id", sa.Integer, primary_key=True))
"""


def test_a_newer_worker_takes_over_from_one_that_runs(
    broker: Broker, postgres: Postgres, tmp_path: Path
) -> None:
    """The older ends before it writes again; every window is decided once; there is no way back."""
    scenario = Scenario(
        broker, tmp_path / "upgrade", f"upgrade-{time.monotonic_ns()}", postgres.new_database()
    )
    scenario.create_topics()
    newer = newer_code(tmp_path / "newer")
    with flowing(broker.bootstrap, scenario.topic, seed=11):
        with worker(scenario, ROOT, "old") as old:
            wait_until("the older decides", lambda: len(scenario.decided()) >= 2)
            with worker(scenario, newer, "new") as new:
                wait_until("the older ends", lambda: old.poll() is not None)
                known = set(scenario.decided())
                wait_until("the newer decides", lambda: len(set(scenario.decided()) - known) >= 2)
                new.terminate()
                assert new.wait(PATIENCE_S) == 0
            assert old.returncode == 2
        with worker(scenario, ROOT, "again") as again:
            assert again.wait(PATIENCE_S) == 2

    assert f"schema {NEWER}; this one writes {HEAD}" in said(scenario, "old")
    assert f"schema version {NEWER}, newer than {HEAD}" in said(scenario, "again")
    windows = scenario.decided()
    assert sorted(windows) == list(range(min(windows), max(windows) + 1, WINDOW_MS))
    for copies in windows.values():
        assert copies == [copies[0]] * len(copies)
        assert copies[0]["outcome"] == "decided"
    verified = [sys.executable, "-m", "stream.cli.main", "ledger", str(scenario.config), "verify"]
    assert subprocess.run(verified, check=False, cwd=newer, env=environment(newer)).returncode == 0


def newer_code(folder: Path) -> Path:
    """Return a copy of the code with one migration more."""
    for name in ("accountant", "operators", "stream"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    schema = folder / "accountant" / "store" / "schema.py"
    text = schema.read_text(encoding="utf-8")
    assert text.count(f'"{HEAD}"') == 1
    schema.write_text(text.replace(f'"{HEAD}"', f'"{NEWER}"'), encoding="utf-8")
    versions = folder / "accountant" / "store" / "migrations" / "versions"
    (versions / f"v{NEWER}_to_come.py").write_text(MIGRATION, encoding="utf-8")
    return folder


@contextmanager
def worker(scenario: Scenario, code: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker of some code, with pages of its own."""
    public = free_port()
    config = scenario.config.with_name(f"{name}.yaml")
    text = scenario.config_text(public=public, custodian=free_port())
    config.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "stream.cli.main", "run", str(config)]
    with (scenario.directory / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=code, env=environment(code), stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def environment(code: Path) -> dict[str, str]:
    """Return the environment of some code's processes."""
    return {**os.environ, "PYTHONPATH": str(code)}


def said(scenario: Scenario, name: str) -> str:
    """Return what a worker wrote."""
    return (scenario.directory / f"{name}.log").read_text(encoding="utf-8")
