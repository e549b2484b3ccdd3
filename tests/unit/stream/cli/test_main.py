"""The command line: wrong use, what is missing, and exit codes."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.commands import configuration, events, tocsin


def test_version_is_printed() -> None:
    """``--version`` names the program and its version."""
    assert tocsin("--version").stdout.startswith("tocsin, version 0.")


def test_unreachable_broker_is_a_dependency(tmp_path: Path) -> None:
    """Exit code 4 and a hint when Kafka does not answer."""
    path = Path(configuration(tmp_path))
    text = path.read_text(encoding="utf-8")
    path.write_text(f'kafka: {{bootstrap: "127.0.0.1:1"}}\n{text}', encoding="utf-8")
    result = tocsin("watch", str(path))
    assert result.exit_code == 4
    assert "hint:" in result.stderr


def test_an_error_without_a_line_names_the_file_alone(tmp_path: Path) -> None:
    """A feed without marks cannot be replayed to Kafka: nothing is at line 0."""
    path = Path(configuration(tmp_path))
    text = path.read_text(encoding="utf-8")
    path.write_text(f'kafka: {{bootstrap: "127.0.0.1:1"}}\n{text}', encoding="utf-8")
    result = tocsin("load", str(path), events(tmp_path))
    assert result.exit_code == 2
    assert f"\n{path}: feed 'badges' cannot be replayed to Kafka\n  hint:" in result.stderr


@pytest.mark.parametrize(
    "command", [("run",), ("topics",), ("watch",), ("ledger", "mark-spent"), ("load",), ("dump",)]
)
def test_kafka_commands_ask_for_a_kafka_section(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Without ``kafka`` in the file these commands say so, with exit code 2."""
    path = configuration(tmp_path)
    more = {
        ("load",): [events(tmp_path)],
        ("dump",): ["badges", str(tmp_path / "log.parquet")],
    }
    result = tocsin(command[0], path, *command[1:], *more.get(command, ()))
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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("run", "FILE", "EVENTS"), "after --replay"),
        (("run", "FILE", "--json"), "--replay"),
        (("run", "FILE", "--replay", "EVENTS", "--log-format", "json"), "a replay has no log"),
        (("run", "FILE", "--log-format", "loud"), "'text', 'json'"),
        (("load", "FILE"), "Missing argument"),
        (("run", "FILE", "--replay", "nowhere.jsonl"), "no such file"),
        (("run", "FILE", "--replay", "FILE"), "suffix"),
        (("topics", "FILE", "--partitions", "0"), "partitions"),
        (("ledger", "FILE", "status"), "no ledger"),
        (("frobnicate",), "No such command"),
        (("dump", "FILE", "badges", "FILE"), "exists"),
        (("dump", "FILE", "doors", "LOG"), "one of badges"),
        (("dump", "FILE", "badges", "nowhere/log.parquet"), "no such folder"),
    ],
)
def test_wrong_use_is_bad_input(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    """Wrong arguments end with exit code 2 and a sentence on standard error."""
    places = {
        "FILE": configuration(tmp_path),
        "EVENTS": events(tmp_path),
        "LOG": str(tmp_path / "log.parquet"),
    }
    result = tocsin(*(places.get(word, word) for word in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert not list(tmp_path.glob("*.parquet*"))
