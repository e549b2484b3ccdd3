"""Files that only their owner may read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from accountant.errors import ConfigError
from stream.simulation.outputs import check_output, write_private


def test_files_are_for_their_owner_and_never_replaced(tmp_path):
    """Mode 0600 whatever the umask; what exists stays unless forced; links are not followed."""
    path = tmp_path / "out.json"
    before = os.umask(0)
    try:
        write_private(path, "one", force=False)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for refused, *text in ((check_output,), (write_private, "two")):
        with pytest.raises(ConfigError, match="exists"):
            refused(path, *text, force=False)
    assert path.read_text() == "one"
    check_output(path, force=True)
    write_private(path, "two", force=True)
    assert path.read_text() == "two"
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("kept")
    link.symlink_to(victim)
    with pytest.raises(ConfigError, match="exists"):
        write_private(link, "three", force=False)
    write_private(link, "three", force=True)
    assert victim.read_text() == "kept"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "out.json", "victim"]


@pytest.mark.parametrize("place", [".", "missing/out.json"])
def test_impossible_places_are_refused_before_the_work(tmp_path, place):
    """A folder, a file in no folder, or standard output is refused at once."""
    with pytest.raises(ConfigError):
        check_output(Path("-"), force=True)
    with pytest.raises(ConfigError):
        check_output(tmp_path / place, force=True)
    with pytest.raises(ConfigError):
        write_private(tmp_path / "missing" / "out.json", "x", force=False)
