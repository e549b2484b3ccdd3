"""A SQLite ledger that lost what it knew is refused by the heads beside it, until it is charged."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any

import pytest

from accountant.errors import LedgerRolledBackError
from stream.build import assemble, open_ledger
from stream.config.loading import load
from stream.replay.replay import Replay
from tests.support.commands import configuration, events, json_lines, tocsin
from tests.support.processes import Command
from tests.support.procs import ran
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream.model.alarms import Alarms

WINDOWS = 48


def _configured(folder: Path) -> Path:
    """Return a configuration of many windows on one wall."""
    path = Path(configuration(folder, unit="user", epsilon_max="400"))
    text = path.read_text().replace("'1' HOUR", "'30' MINUTE")
    path.write_text(text)
    return path


def _ledger(folder: Path, suffix: str = "") -> Path:
    return folder / ".tocsin" / f"alarms.db{suffix}"


def _replay(path: Path, *, last: int = WINDOWS) -> None:
    """Decide windows in this process until so many have left."""
    alarms = load(path, environ={})
    with open_ledger(alarms) as ledger:
        running = Replay(alarms, ledger, {"badges": [Path(events(path.parent))]}).run()
        for _ in range(last):
            next(running)
        running.close()


def _spent(path: Path) -> float:
    budgets = json_lines(tocsin("ledger", path, "status", "--json"))
    return sum(float(line["spent"]) for line in budgets if line["record"] == "budget")


def _decisions(lines: Sequence[bytes | str]) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in lines]
    return [one for one in records if "outcome" in one]


def _claim(path: Path) -> list[str]:
    """Return the command that a ledger begins with in the place of one that was lost."""
    return ["take-ownership", "--yes", "--replay", events(path.parent)]


_LOST = ("fingerprint", "alarms_digest")
"""Fields of a decision that are empty once it was taken over from what was published."""


def _assert_put_right(path: Path, saved: Path, command: Sequence[str]) -> None:
    """Charge what was published, and see that no window of it is drawn again."""
    released = _decisions(saved.read_bytes().splitlines())
    charged = tocsin("ledger", path, *command, "--published", saved, code=0)
    assert f"of {len(released)} compared" in charged.stdout
    paid = sum(float(one["epsilon"]) for one in released)
    assert _spent(path) > 0.999 * paid
    result = tocsin("run", path, "--replay", events(path.parent), "--json", code=0)
    known = {one["window_start"]: one for one in released}
    shown = {one["window_start"]: one for one in _decisions(result.stdout.splitlines())}
    for start in known.keys() & shown.keys():  # shown again: configuration and alarms may be lost
        told = {field: shown[start][field] or known[start][field] for field in _LOST}
        assert {**shown[start], **told} == known[start]
    assert len(known.keys() | shown.keys()) == WINDOWS
    assert tocsin("ledger", path, "verify").stdout.startswith("ok\n")


def test_a_killed_replay_whose_wal_is_lost_is_refused(tmp_path: Path) -> None:
    """Killed by signal 9, and the database goes on without its ``-wal``: it knows of nothing."""
    path = _configured(tmp_path)
    command = ("run", path, "--replay", events(tmp_path), "--json")
    running = Command.start(tmp_path / "errors", *command)
    # A pipe that holds some decisions and not all of them: it is killed in the middle.
    fcntl.fcntl(running.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    lines = [running.process.stdout.readline() for _ in range(3)]
    running.process.kill()
    lines += running.process.communicate()[0].splitlines(keepends=True)
    assert 3 <= len(_decisions(lines)) < WINDOWS
    saved = tmp_path / "saved.jsonl"
    saved.write_bytes(b"".join(lines))
    assert _ledger(tmp_path, "-wal").stat().st_size > 0
    for suffix in ("-wal", "-shm"):
        _ledger(tmp_path, suffix).unlink()

    refused = _again(tmp_path, path)
    assert refused.returncode == 2, refused.stdout
    assert "`tocsin ledger FILE take-ownership --replay" in refused.stderr
    assert refused.stdout == ""
    verified = tocsin("ledger", path, "verify")
    assert (verified.exit_code, verified.stdout) == (2, "")
    assert _spent(path) == 0
    _assert_put_right(path, saved, _claim(path))


def _again(folder: Path, path: Path) -> subprocess.CompletedProcess[str]:
    """Replay in a process of its own."""
    started = Command.start(folder / "again", "run", path, "--replay", events(folder), "--json")
    out = started.process.communicate()[0].decode()
    return subprocess.CompletedProcess([], started.ended(), out, started.text())


def _older(folder: Path) -> None:
    copyfile(folder / "older.db", _ledger(folder))


def _lost(folder: Path) -> None:
    _ledger(folder).unlink()


@pytest.mark.parametrize("put_back", [_older, _lost])
def test_an_older_copy_and_no_copy_are_refused(
    tmp_path: Path, put_back: Callable[[Path], None]
) -> None:
    """The start registers nothing, ``verify`` says it, and the other commands open the ledger."""
    path = _configured(tmp_path)
    _replay(path, last=WINDOWS // 4)
    tocsin("ledger", path, "backup", tmp_path / "older.db", code=0)
    saved = tmp_path / "saved.jsonl"
    command = ("run", str(path), "--replay", events(tmp_path), "--json")
    saved.write_text(tocsin(*command).stdout)
    spent = _spent(path)
    put_back(tmp_path)

    refused = tocsin(*command)
    assert (refused.exit_code, refused.stdout) == (2, "")
    new = put_back is _lost
    command_told = "take-ownership --replay" if new else "reconcile"
    assert f"`tocsin ledger FILE {command_told}" in refused.stderr
    verified = tocsin("ledger", path, "verify")
    assert (verified.exit_code, verified.stdout) == (2, "")
    for shown in (("status",), ("export",), ("backup", str(tmp_path / "another.db"))):
        tocsin("ledger", path, *shown, code=0)
    if new:
        with open_ledger(load(path, environ={})) as ledger:
            assert ledger.pins.queries() == []
    _assert_put_right(path, saved, _claim(path) if new else ["reconcile"])
    assert _spent(path) >= spent
    tocsin(*command, code=0)


def test_a_copy_that_lacks_nothing_goes_on(tmp_path: Path) -> None:
    """The documented drill after the last replay: copy, put back, verify, run."""
    path = _configured(tmp_path)
    _replay(path)
    copy = tmp_path / "copy.db"
    told = tocsin("ledger", path, "backup", copy).stdout.splitlines()
    _ledger(tmp_path).unlink()
    ran("install", "-m", "600", copy, _ledger(tmp_path))
    noted = told[1].removeprefix("checkpoint ")
    tocsin("ledger", path, "verify", "--checkpoint", noted, code=0)
    again = tocsin("run", path, "--replay", events(tmp_path))
    assert "0 decided now" in " ".join(again.stdout.split())


def test_a_ledger_of_an_older_version_has_its_heads_noted(tmp_path: Path) -> None:
    """It starts without the file, and writes it: from then on it cannot go back."""
    path = _configured(tmp_path)
    _replay(path, last=5)
    _ledger(tmp_path, ".heads").unlink()
    tocsin("ledger", path, "backup", tmp_path / "older.db")
    _replay(path, last=20)
    assert _ledger(tmp_path, ".heads").stat().st_mode & 0o077 == 0
    _older(tmp_path)
    refused = tocsin("run", path, "--replay", events(tmp_path), code=2)
    assert "more was appended than this ledger has" in refused.stderr


def test_a_worker_is_refused_before_it_registers(tmp_path: Path) -> None:
    """Both shells start by the same door."""
    path = _configured(tmp_path)
    _replay(path, last=3)
    _lost(tmp_path)
    alarms: Alarms = load(path, environ={})
    with open_ledger(alarms) as ledger:
        with pytest.raises(LedgerRolledBackError, match="heads of ledger"):
            assemble(alarms, ledger, identities={}, first_start_ms={"crowd": 0})
        assert (ledger.pins.budgets(), ledger.pins.queries()) == ([], [])


def test_what_leaves_is_noted_before_it_does(tmp_path: Path) -> None:
    """At every decision that is handed out, the file on the disk has the ledger's heads."""
    path = _configured(tmp_path)
    alarms = load(path, environ={})
    with open_ledger(alarms) as ledger:
        for decision in Replay(alarms, ledger, {"badges": [Path(events(tmp_path))]}).run():
            heads = [json.loads(line) for line in _noted(tmp_path)]
            assert ledger.decision(decision.key) is not None
            assert [ledger.ledger_id, ledger.heads.now()] in heads


def _noted(folder: Path) -> list[str]:
    return _ledger(folder, ".heads").read_text().splitlines()


@pytest.mark.parametrize("text", ["", "nonsense\n", '{"outcome": "decided"}\n'])
def test_what_shows_no_decision_is_refused(tmp_path: Path, text: str) -> None:
    """Or a wrong file would put a ledger right that lacks everything."""
    path = _configured(tmp_path)
    _replay(path, last=3)
    _lost(tmp_path)
    saved = tmp_path / "saved.jsonl"
    saved.write_text(text)
    told = tocsin("ledger", path, "reconcile", "--published", saved, code=2)
    assert "saved.jsonl" in told.stderr
    tocsin("run", path, "--replay", events(tmp_path), code=2)


_MOUNTED = """
mount -t tmpfs none "$1" && touch "$1/ledger.db" && mount --bind "$1/ledger.db" "$2" && shift 2
exec "$@"
"""


def test_a_ledger_that_is_mounted_as_one_file_is_refused(tmp_path: Path) -> None:
    """Its ``-wal`` and its heads would lie in the container and be lost with it."""
    if ran("unshare", "--mount", "true", code=None).returncode:
        pytest.skip("needs the right to mount")
    path = _configured(tmp_path)
    apart = tmp_path / "apart"
    for folder in (apart, _ledger(tmp_path).parent):
        folder.mkdir()
    _ledger(tmp_path).touch()
    told = ran(
        *("unshare", "--mount", "sh", "-c", _MOUNTED, "sh", apart, _ledger(tmp_path)),
        *(sys.executable, "-m", "stream.cli.entry", "run", path, "--replay", events(tmp_path)),
        code=None,
        cwd=ROOT,
    )
    assert (told.returncode, told.stdout) == (2, ""), told.stderr
    where = f"the ledger {_ledger(tmp_path)} is mounted as a single file"
    assert f"{where}, so its -wal and .heads files are lost with the container" in told.stderr
    assert "hint: mount its folder" in told.stderr
