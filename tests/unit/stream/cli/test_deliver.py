"""``tocsin deliver``: what it says where it cannot begin."""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

import pytest

from accountant.errors import DependencyError
from stream.kafka.delivery.deliver import targets_of
from stream.model.deliveries import Broker, Delivery
from tests.support.commands import configuration, tocsin

if TYPE_CHECKING:
    from pathlib import Path

FILE = """\
kafka: {bootstrap: "127.0.0.1:1"}
deliver: {alertmanagers: {main: http://localhost:9093}}
"""


def test_a_broker_that_is_not_there_is_a_dependency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 4 and a hint, from a file without feeds."""
    monkeypatch.setattr("stream.kafka.reach.PATIENCE_S", 0.0)
    path = tmp_path / "deliver.yaml"
    path.write_text(FILE, encoding="utf-8")
    result = tocsin("deliver", str(path))
    assert result.exit_code == 4
    assert "hint:" in result.stderr


def test_a_file_that_does_not_say_where_is_bad_input(tmp_path: Path) -> None:
    """Exit code 2, with the line to write."""
    path = configuration(tmp_path)
    result = tocsin("deliver", path)
    assert result.exit_code == 2
    assert "kafka" in result.stderr


def test_mqtt_without_its_client_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client comes with an extra; without it one is told which."""
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "aiomqtt":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "stream.kafka.delivery.mqtt", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    broker = Broker("home", ("localhost", 1883), "tocsin", "")
    delivery = Delivery("analyst-deliver", 1, 1, tmp_path / "letters", brokers=(broker,))
    with pytest.raises(DependencyError, match=r"tocsin\[deliver\]"):
        targets_of(delivery)
