"""A server that processes share is started once, and stopped after the last of them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

USER = """\
import sys
from contextlib import contextmanager
from pathlib import Path
from tests.support.together import together

@contextmanager
def start():
    print("starts", flush=True)
    yield "its own"
    print("stops", flush=True)

with together(Path(sys.argv[1]), start, lambda: "another's") as used:
    print(used, flush=True)
    sys.stdin.readline()
"""


class User:
    """A process that uses it until it is told to end."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-c", USER, str(folder)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)

    def says(self) -> str:
        """Return its next line."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def tell(self) -> None:
        """Let it come to its end."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def rest(self) -> str:
        """Wait for its end; return what it still said."""
        return self._process.communicate()[0].strip()

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.communicate()


def test_who_comes_first_starts_it_and_ends_last(tmp_path: Path) -> None:
    """Others join, also while the first waits for them; who comes after the end starts another."""
    first = User(tmp_path / "it")
    assert [first.says(), first.says()] == ["starts", "its own"]
    second = User(tmp_path / "it")
    assert second.says() == "another's"
    first.tell()
    third = User(tmp_path / "it")
    assert third.says() == "another's"
    second.kill()
    third.tell()
    assert third.rest() == ""
    assert first.rest() == "stops"
    later = User(tmp_path / "it")
    assert [later.says(), later.says()] == ["starts", "its own"]
    later.tell()
    assert later.rest() == "stops"
