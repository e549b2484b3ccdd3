"""A worker as the command runs it: what SIGHUP changes, and what its log says last."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from accountant.errors import LedgerError
from stream.cli import worker
from stream.config.loading import load
from stream.logs.lines import Line, Log
from stream.logs.settings import Form, Level, LogSettings
from tests.support.commands import configuration


class Rereading:
    """A running worker's configuration, its file and its log."""

    def __init__(self, folder: Path) -> None:
        self.file = Path(configuration(folder))
        self.text = self.file.read_text(encoding="utf-8")
        self.running = load(self.file, environ={})
        self.stream = io.StringIO()
        self.log = Log(self.stream, LogSettings(Level.INFO, Form.JSON))

    def __call__(self, text: str) -> dict[str, Any]:
        """Read another text from the file; return the line that says so."""
        self.file.write_text(text, encoding="utf-8")
        worker.reread(self.file, self.running, self.log)
        line: dict[str, Any] = json.loads(self.stream.getvalue().splitlines()[-1])
        return line


@pytest.fixture
def reread(tmp_path: Path) -> Rereading:
    """A worker that was started with a small configuration."""
    return Rereading(tmp_path)


def test_the_level_is_taken_on(reread: Rereading) -> None:
    """It changes no decision and no fingerprint; nothing else needs to change."""
    line = reread(f"log: {{level: debug}}\n{reread.text}")
    assert (line["event"], line["log_level"]) == (Line.REREAD, "debug")
    assert "needs_restart" not in line
    assert reread.log.level is Level.DEBUG


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("feeds:", "kafka: {bootstrap: 'b:1'}\nfeeds:", "kafka"),
        ("feeds:", "ledger: sqlite:///other.db\nfeeds:", "ledger"),
        ("feeds:", "metrics: {public: '0.0.0.0:9'}\nfeeds:", "metrics"),
        ("feeds:", "metrics: {custodian_token: another}\nfeeds:", "metrics"),
        ("feeds:", "log: {format: json, level: debug}\nfeeds:", "log"),
        ("feeds:", "publish_interval: 2s\nfeeds:", "publish_interval"),
        ('epsilon_max: "4"', 'epsilon_max: "5"', "budget"),
        ("topic: building.badges", "topic: building.doors", "feeds, alarms"),
        ("history: {from: 1970-01-01", "history: {from: 1970-01-01T06:00:00", "feeds"),
        ("> 30", "> 40", "alarms"),
        ("max_fnr: 0.05", "max_fnr: 0.05\n    timing: {publish_delay: 20s}", "alarms"),
        ("max_fnr: 0.05", "max_fnr: 0.05\n    timing: {max_age: 1d}", "alarms"),
    ],
)
def test_what_else_has_changed_is_named(reread: Rereading, old: str, new: str, named: str) -> None:
    """By the key it stands under: it needs a restart."""
    assert old in reread.text
    assert reread(reread.text.replace(old, new))["needs_restart"] == named


def test_a_file_that_cannot_be_used_changes_nothing(reread: Rereading) -> None:
    """Its first error is named, with its place."""
    line = reread(reread.text.replace("topic:", "tropic:"))
    assert (line["event"], line["error"]) == (Line.NOT_REREAD, "ConfigError")
    assert line["message"].startswith(f"{reread.file}:")
    reread.file.unlink()
    worker.reread(reread.file, reread.running, reread.log)
    assert len(reread.stream.getvalue().splitlines()) == 2


@pytest.mark.parametrize(
    ("error", "code"), [(LedgerError("changed", hint="look"), 2), (KeyError("p17"), 70)]
)
def test_what_cannot_start_is_a_line_of_a_log_in_json(
    reread: Rereading,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
) -> None:
    """Of text, the command says it as ever."""

    def refuse(*_args: Any, **_kwargs: Any) -> int:
        raise error

    def start(form: Form) -> int:
        return worker.start(
            reread.running,
            reread.file,
            form=form,
            released=None,
        )

    monkeypatch.setattr(worker, "run", refuse)
    assert start(Form.JSON) == code
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["code"]) == (Line.FATAL, code)
    assert line.get("message") == (error.message if isinstance(error, LedgerError) else None)
    with pytest.raises(type(error)):
        start(Form.TEXT)
