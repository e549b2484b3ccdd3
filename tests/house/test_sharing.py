"""How tests are shared out to processes: by file, the longest first, as `make test` asks for it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import sharing
from tests.support.tree import ROOT, text_of

if TYPE_CHECKING:
    from pathlib import Path

FILE = """\
import os, time
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def dear():
    with Path(__file__).with_suffix(".made").open("a") as made:
        made.write(f"{os.getpid()}\\n")

@pytest.mark.parametrize("number", range(6))
def test_it(dear, number):
    time.sleep(0.05)  # nobody is done before the others begin
"""
FILES = ("test_one", "test_two", "test_three")


def asked() -> str:
    """Return how `make test` shares tests out."""
    recipe = text_of("Makefile").partition("\ntested:")[2]
    return re.findall(r"--dist=\w+", recipe)[0]


def made(folder: Path, how: str) -> Counter[str]:
    """Run three files by two processes; return how often each made what its tests share."""
    for name in FILES:
        (folder / f"{name}.py").write_text(FILE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    words = ["-q", "-n2", how, "--no-loadscope-reorder", "-pno:cacheprovider"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *words, "-pno:hypothesispytest"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return Counter({name: len((folder / f"{name}.made").read_text().split()) for name in FILES})


def test_what_the_tests_of_a_file_share_is_made_once(tmp_path: Path) -> None:
    """With the pytest and the pytest-xdist of the lock file, and with what `make test` asks for."""
    assert made(tmp_path, asked()) == dict.fromkeys(FILES, 1)


def test_shared_out_test_by_test_it_would_be_made_again(tmp_path: Path) -> None:
    """The test above sees it."""
    assert made(tmp_path, "--dist=load").total() > len(FILES)


def item(path: str, *fixtures: str) -> Any:
    """Return what looks like a test of a file."""
    return SimpleNamespace(path=ROOT / "tests" / path, fixturenames=fixtures)


def test_the_longest_come_first_and_then_what_waits_for_a_broker() -> None:
    """Whole files, and otherwise in the order that they had."""
    items = [
        item("docs/test_a.py"),
        item("integration/test_b.py"),
        item("integration/test_b.py", "broker"),
        item("integration/test_up.py"),
        item("soak/test_soak.py", "own_broker"),
        item("unit/stream/cli/test_worker.py"),
        item("unit/test_c.py", "guarded"),
    ]
    shared = list(items)
    sharing.share(shared)
    assert shared == [items[at] for at in (4, 3, 1, 2, 6, 0, 5)]


@pytest.mark.parametrize("place", sharing._MINUTES)
def test_what_is_said_to_take_minutes_is_there(place: str) -> None:
    """A file that is renamed must not lose its place in silence."""
    assert (ROOT / "tests" / place).is_file()
