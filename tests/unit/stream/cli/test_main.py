"""The command line: wrong use, what is missing, and exit codes."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.commands import configuration, tocsin


@pytest.mark.parametrize(
    ("command", "more"),
    [("board", ""), ("notify", "notify: {alertmanagers: {main: http://localhost:9093}}\n")],
)
def test_unreachable_broker_is_a_dependency(tmp_path, monkeypatch, command, more):
    """Exit code 4 and a hint when Kafka does not answer; analysts' files have no feeds."""
    monkeypatch.setattr("stream.kafka.topics.PATIENCE_MS", 300)
    path = tmp_path / "pages.yaml"
    path.write_text(f'kafka: {{bootstrap: "127.0.0.1:1"}}\n{more}')
    assert "hint:" in tocsin(command, path, code=4).stderr


@pytest.mark.parametrize(
    "words",
    ["board FILE", "notify FILE", "export FILE badges FILE.parquet", "topics create FILE"],
)
def test_kafka_commands_ask_for_a_kafka_section(tmp_path, words):
    """Without ``kafka`` in the file these say so, with exit code 2; others: the golden records."""
    asked = words.replace("FILE", configuration(tmp_path)).split()
    assert "hint:" in tocsin(*asked, code=2).stderr


def test_a_missing_section_is_said_before_a_port_is_opened(tmp_path):
    """A configuration that cannot run opens no port and no ledger."""
    path = Path(configuration(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        public = f'metrics: {{public: "127.0.0.1:{taken.getsockname()[1]}"}}\n'
        path.write_text(public + path.read_text())
        result = tocsin("run", path, code=2)
    assert "no kafka section" in result.stderr
    assert list(tmp_path.iterdir()) == [path]
