"""The page about the board: its files are read, its figures are the code's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stream.config.notify.reading import read_board
from stream.kafka.board import standing, view
from stream.kafka.board.view import MOST_LISTED
from stream.model.boards import Board
from tests.support.tree import ROOT, blocks

PAGE = (ROOT / "docs/how-to/board.md").read_text()
FILES = blocks(PAGE, "yaml")


@pytest.mark.parametrize("text", FILES)
def test_the_files_are_read(tmp_path, text):
    """As printed, with their secrets beside them."""
    for secret in set(re.findall(r"\$\{file:(/run/secrets/\w+)\}", text)):
        (tmp_path / Path(secret).name).write_text("sixteen bytes or more")
    path = tmp_path / "board.yaml"
    path.write_text(text.replace("/run/secrets/", ""))
    found = read_board(path, environ={})
    if "board:" not in text:
        assert (found.board, found.budget) == (Board(), None)
    else:
        terms = found.subscription.lifecycle("fire-code")
        assert (terms.needed, terms.among, terms.resolve_after) == (2, 3, 2)
        assert found.board.token == "sixteen bytes or more"  # noqa: S105  # made up above
        assert found.budget is not None


def test_the_figures_are_those_of_the_code():
    """Bounds and the port."""
    assert f"{standing._MOST_ALARMS} alarms" in PAGE
    assert f"{view._MOST_FIRING} groups that fire at once" in PAGE
    assert f"{MOST_LISTED} groups without an alarm" in PAGE
    host, port = Board().listen
    assert f"http://{host}:{port}/" in PAGE
