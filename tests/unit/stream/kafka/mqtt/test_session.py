"""The name of the MQTT source's session: nobody guesses it, and it stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accountant.errors import DependencyError
from stream.kafka.mqtt.session import Session

if TYPE_CHECKING:
    from pathlib import Path


def test_a_name_that_is_not_given_is_drawn_once(tmp_path: Path) -> None:
    """With 128 bits, in a file that its owner alone reads; another MQTT source has another."""
    path = tmp_path / "session"
    first = Session(path, "")
    assert len(first.client) == len("tocsin-") + 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert Session(path, "").client == first.client
    assert Session(tmp_path / "other", "").client != first.client


def test_that_the_broker_had_it_is_kept(tmp_path: Path) -> None:
    """Of this name: who gives another begins anew."""
    path = tmp_path / "session"
    session = Session(path, "given")
    assert (session.client, session.made) == ("given", False)
    session.keep()
    assert Session(path, "given").made
    assert not Session(path, "other").made


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """A new name would leave the old session, and what waits there, behind."""
    path = tmp_path / "session"
    path.mkdir()
    with pytest.raises(DependencyError, match="cannot be kept in session"):
        Session(path, "")
