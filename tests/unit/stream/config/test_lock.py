"""A lock says what it belongs to."""

from __future__ import annotations

import pytest

from stream.config.lock import read_lock


@pytest.mark.parametrize("name", ["alarms.yaml", "alarms.yml"])
def test_the_header_names_the_configuration(tmp_path, name):
    """By its whole name, however its ending is written."""
    lock = read_lock(tmp_path / name)
    assert lock.path.name == "alarms.lock"
    assert lock.text.startswith(f"# What {name} leaves open")
