"""A worker as the command runs it: what its log says last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accountant.errors import LedgerError
from stream.cli import worker
from stream.config.loading import load
from stream.logs.lines import Line
from stream.logs.settings import Form
from tests.support.commands import configuration


@pytest.mark.parametrize(
    ("error", "code"), [(LedgerError("changed", hint="look"), 2), (KeyError("p17"), 70)]
)
def test_what_cannot_start_is_a_line_of_a_log_in_json(tmp_path, monkeypatch, capsys, error, code):
    """Of text, the command says it as ever."""
    alarms = load(Path(configuration(tmp_path)), environ={})

    def refuse(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(worker, "run", refuse)
    assert worker.start(alarms, form=Form.JSON, released=None) == code
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["code"]) == (Line.FATAL, code)
    assert line.get("message") == (error.message if isinstance(error, LedgerError) else None)
    with pytest.raises(type(error)):
        worker.start(alarms, form=Form.TEXT, released=None)
