"""What the pages say of ``tocsin ledger`` is what it does."""

from __future__ import annotations

import re

import pyarrow.parquet as pq

from accountant.log.entries import read_checkpoint
from stream.custody.archive import write_entries
from tests.support.tree import cells, text_of

MAINTAIN = text_of("docs/how-to/maintain-the-ledger.md")


def rows(heading):
    """Return the cells of the first table below a heading of the page on the ledger."""
    section = MAINTAIN.partition(f"{heading}\n")[2]
    return cells(section.split("\n#")[0])[2:]


def test_parquet_columns_are_documented(tmp_path):
    """The page has the columns that an export has, with their types, in order."""
    write_entries([], tmp_path / "ledger.parquet")
    schema = pq.read_schema(tmp_path / "ledger.parquet")
    shown = ", ".join(f"`{field.name}` {field.type}" for field in schema)
    assert rows("## Archive") == [[shown]]


def test_shown_checkpoints_are_real():
    """Every checkpoint shown can be read."""
    checkpoints = re.findall(r"\b([0-9]+:[0-9a-f]{32})\b", MAINTAIN)
    assert checkpoints
    assert all(read_checkpoint(checkpoint)[0] for checkpoint in checkpoints)
