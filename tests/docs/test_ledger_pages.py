"""What the pages say of ``tocsin ledger`` is what it does."""

from __future__ import annotations

import re

import pyarrow.parquet as pq
import pytest

from accountant.log.entries import read_checkpoint
from stream.cli.ledger import ledger
from stream.custody.archive import write_entries
from tests.support.tree import text_of

MAINTAIN = text_of("docs/how-to/maintain-the-ledger.md")
BACK_UP = text_of("docs/how-to/back-up-and-restore.md")


def rows(heading):
    """Return the cells of the first table below a heading of the page on the ledger."""
    section = MAINTAIN.partition(f"{heading}\n")[2]
    lines = [line for line in section.split("\n#")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|", 1)] for line in lines[2:]]


def test_parquet_columns_are_documented(tmp_path):
    """The page has the columns that an export has, with their types, in order."""
    write_entries([], tmp_path / "ledger.parquet")
    schema = pq.read_schema(tmp_path / "ledger.parquet")
    shown = ", ".join(f"`{field.name}` {field.type}" for field in schema)
    assert rows("## Archive") == [[shown]]


@pytest.mark.parametrize("page", [MAINTAIN, BACK_UP], ids=["maintain", "back-up"])
def test_shown_checkpoints_and_commands_are_real(page):
    """Every checkpoint shown can be read, and every ledger command shown exists."""
    checkpoints = re.findall(r"\b([0-9]+:[0-9a-f]{32})\b", MAINTAIN)
    assert checkpoints
    assert all(read_checkpoint(checkpoint)[0] for checkpoint in checkpoints)
    shown = re.findall(r"tocsin ledger (?:FILE|alarms\.yaml) ([a-z-]+)", page)
    assert shown
    assert set(shown) <= set(ledger.commands)
