"""The wheel in empty environments of several Pythons: ``make release-check``.

No part of ``make test``: every environment fetches all that the wheel requires, in the newest
versions that it allows, as a user's does. ``TOCSIN_PYTHONS`` names interpreters, with colons
between them; otherwise those on the path are taken. Each runs the README's ten minutes, on files
and on a real broker, and the page about the library.
"""

from __future__ import annotations

import os
import re
import shutil
import sys

import pytest

from tests.docs.test_ten_minutes import BLOCKS
from tests.docs.test_tutorials import ALARM, played
from tests.support.procs import ran
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S
from tests.support.wheels import build_tree

VERSIONS = ("3.11", "3.12", "3.13")
NAMED = os.environ.get("TOCSIN_PYTHONS", "")
FOUND = [f"python{each}" for each in VERSIONS if shutil.which(f"python{each}")]
PYTHONS = NAMED.split(":") if NAMED else FOUND
LIBRARY = ROOT / "docs" / "how-to" / "use-as-a-library.md"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the tree as it is."""
    return build_tree(tmp_path_factory.mktemp("built")).wheel


def test_every_supported_python_is_tried():
    """A release that was not tried on one of them says so."""
    script = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    found = [_said(each, "-c", script).strip() for each in PYTHONS]
    assert found == list(VERSIONS)


@pytest.mark.integration
@pytest.mark.parametrize("python", PYTHONS)
def test_the_wheel_runs_the_ten_minutes(python, wheel, own_broker, tmp_path):
    """In an environment that has nothing else; every example of the library's page, too."""
    home = tmp_path / "venv"
    _said(python, "-m", "venv", str(home))
    own = str(home / "bin" / "python")
    _said(own, "-m", "pip", "install", "--quiet", "--retries=10", str(wheel))
    print(_said(own, "-c", "import sys; print(sys.version)"), _said(own, "-m", "pip", "freeze"))
    commands = "echo replayed\n".join(BLOCKS)
    shown = played(tmp_path, commands, own_broker, watched=ALARM, installed=home / "bin")
    replayed, _, live = shown.partition("replayed\n")
    assert re.search(r"crowd +│ +lobby +│ +[1-9] +│ .*2025-03-03 14:00", replayed)
    assert "15 windows, 15 decided now" in replayed
    assert live.count(ALARM) == 1
    _said(own, "-m", "pip", "install", "--quiet", "--retries=10", f"{wheel}[rdp]")
    _said(own, "-m", "doctest", str(LIBRARY), folder=tmp_path)


def _said(*command, folder=None):
    """Run a command that ends with 0, and return what it printed."""
    environ = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    done = ran(*command, cwd=folder or sys.prefix, env=environ, timeout=PATIENCE_S * 10)
    return done.stdout
