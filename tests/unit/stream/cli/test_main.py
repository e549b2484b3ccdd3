"""The command line: wrong use, what is missing, and exit codes."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.commands import configuration, events, tocsin


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("watch", None),
        ("board", ""),
        ("notify", "notify: {alertmanagers: {main: http://localhost:9093}}\n"),
    ],
)
def test_unreachable_broker_is_a_dependency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, more: str | None
) -> None:
    """Exit code 4 and a hint when Kafka does not answer; analysts' files have no feeds."""
    monkeypatch.setattr("stream.kafka.reach.PATIENCE_S", 0.0)
    path = Path(configuration(tmp_path))
    text = path.read_text(encoding="utf-8") if more is None else more
    path.write_text(f'kafka: {{bootstrap: "127.0.0.1:1"}}\n{text}', encoding="utf-8")
    result = tocsin(command, str(path))
    assert result.exit_code == 4
    assert "hint:" in result.stderr


def test_an_error_without_a_line_names_the_file_alone(tmp_path: Path) -> None:
    """A feed without marks cannot be loaded into Kafka: nothing is at line 0."""
    path = Path(configuration(tmp_path))
    text = path.read_text(encoding="utf-8")
    path.write_text(f'kafka: {{bootstrap: "127.0.0.1:1"}}\n{text}', encoding="utf-8")
    result = tocsin("load", str(path), events(tmp_path))
    assert result.exit_code == 2
    assert f"\n{path}: feed 'badges' cannot be loaded into Kafka\n  hint:" in result.stderr


@pytest.mark.parametrize(
    "command",
    [(each,) for each in ("run", "watch", "board", "notify", "load", "export")]
    + [("topics", "check"), ("topics", "create"), ("ledger", "reconcile")],
)
def test_kafka_commands_ask_for_a_kafka_section(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Without ``kafka`` in the file these commands say so, with exit code 2."""
    path = configuration(tmp_path)
    more = {
        ("load",): [events(tmp_path)],
        ("export",): ["badges", str(tmp_path / "log.parquet")],
    }
    first, *rest = command
    words = (*command, path) if first == "topics" else (first, path, *rest)
    result = tocsin(*words, *more.get(command, ()))
    assert result.exit_code == 2, result.stderr
    assert "hint:" in result.stderr


def test_a_missing_section_is_said_before_a_port_is_opened(tmp_path: Path) -> None:
    """A configuration that cannot run opens no port and no ledger."""
    path = Path(configuration(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = path.read_text(encoding="utf-8")
        path.write_text(f'metrics: {{public: "127.0.0.1:{port}"}}\n{text}', encoding="utf-8")
        result = tocsin("run", str(path))
    assert result.exit_code == 2
    assert "no kafka section" in result.stderr
    assert list(tmp_path.iterdir()) == [path]
