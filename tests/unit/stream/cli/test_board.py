"""``tocsin board``: what it says where it cannot begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.commands import configuration, tocsin

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_broker_that_is_not_there_is_a_dependency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 4 and a hint, from a file that has nothing but ``kafka``."""
    monkeypatch.setattr("stream.kafka.reach.PATIENCE_S", 0.0)
    path = tmp_path / "board.yaml"
    path.write_text('kafka: {bootstrap: "127.0.0.1:1"}\n', encoding="utf-8")
    result = tocsin("board", str(path))
    assert result.exit_code == 4
    assert "hint:" in result.stderr


def test_a_file_without_kafka_is_bad_input(tmp_path: Path) -> None:
    """Exit code 2, with the line to write."""
    result = tocsin("board", configuration(tmp_path))
    assert result.exit_code == 2
    assert "kafka" in result.stderr
