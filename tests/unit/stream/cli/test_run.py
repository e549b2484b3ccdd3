"""``tocsin run``: decisions, alarms, budgets, and what is refused before a window is drawn."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import jsonschema

from operators.noise.source import KeyedNoise
from stream import build
from tests.support.commands import configuration, events, json_lines, tocsin
from tests.support.published import schema


def test_run_replays_to_json_lines_that_keep_their_schemas(tmp_path):
    """Every line is a decision or an alarm of the published schemas; all 24 hours are decided."""
    command = ("run", configuration(tmp_path), "--replay", events(tmp_path), "--json")
    lines = json_lines(tocsin(*command))
    alarms = [line for line in lines if "alarm_id" in line]
    for line in lines:
        jsonschema.validate(line, schema("alarm" if line in alarms else "decision"))
    assert len(lines) - len(alarms) == 24
    five = [one["group"] for one in alarms if one["window_start"] == "1970-01-01T05:00:00.000Z"]
    assert five == [{"room": "hall"}]


def test_a_dry_run_spends_nothing_and_leaves_nothing(tmp_path, monkeypatch):
    """A second configuration over the same file is no error; no file is left, nor claimed."""
    left, file = tmp_path / "temporary", events(tmp_path)
    left.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(left))
    for epsilon_max in ("4", "5"):
        path = configuration(tmp_path, epsilon_max=epsilon_max)
        result = tocsin("run", path, "--replay", file, "--dry-run", code=0)
        assert f"1.386 of {epsilon_max}.000" in result.stdout
        assert result.stderr.count("nothing was spent and no ledger was kept") == 1
        assert "ledger  " not in result.stdout
    assert {at.name for at in tmp_path.iterdir()} == {"alarms.yaml", "badges.jsonl", "temporary"}
    assert not list(left.iterdir())


def test_a_dry_run_decides_as_a_run_does(tmp_path, monkeypatch):
    """Under the same noise the records are the same, also where a ledger holds the file."""
    monkeypatch.setattr(build, "NoiseSource", partial(KeyedNoise, b"dry"))
    command = ("run", configuration(tmp_path), "--replay", events(tmp_path), "--json")

    def files():
        return {at: at.read_bytes() for at in tmp_path.rglob("*") if at.is_file()}

    real, before = tocsin(*command).stdout, files()
    assert tocsin(*command, "--dry-run").stdout == real != ""
    assert files() == before


def test_a_file_of_another_ledger_is_refused_with_what_to_type(tmp_path):
    """Of a changed budget the golden records tell."""
    path = Path(configuration(tmp_path))
    run = ("run", path, "--replay", events(tmp_path))
    tocsin(*run, code=0)
    path.write_text(f"ledger: sqlite:///.tocsin/other.db\n{path.read_text()}")
    held = tocsin(*run, code=2)
    assert "hint: use that ledger; if it is lost or given up, " in held.stderr
    assert "with made-up data, add --dry-run" in held.stderr
    tocsin(*run, "--dry-run", code=0)
