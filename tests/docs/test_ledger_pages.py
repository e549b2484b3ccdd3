"""What the pages say of ``tocsin ledger`` is what it does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from accountant.log.entries import read_checkpoint
from stream.cli.ledger import ledger
from stream.custody.archive import write_entries
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
HOW_TO = DOCS / "how-to"
MAINTAIN = (HOW_TO / "maintain-the-ledger.md").read_text(encoding="utf-8")
BACK_UP = (HOW_TO / "back-up-and-restore.md").read_text(encoding="utf-8")
CLI = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading of the page on the ledger."""
    section = MAINTAIN.partition(f"{heading}\n")[2]
    lines = [line for line in section.split("\n#")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|", 1)] for line in lines[2:]]


def test_every_ledger_command_and_option_is_documented() -> None:
    """The reference names each command once, with exactly the options it has."""
    sections = re.split(r"^### `tocsin ledger FILE ", CLI, flags=re.MULTILINE)[1:]
    documented = {
        re.findall(r"[a-z-]+", section)[0]: set(
            re.findall(r"^(?:-\w, )?(--[a-z-]+)", section.partition("\n## ")[0], re.MULTILINE)
        )
        for section in sections
    }
    assert documented == {
        name: {option for one in command.params for option in one.opts if option.startswith("--")}
        for name, command in ledger.commands.items()
    }


def test_parquet_columns_are_documented(tmp_path: Path) -> None:
    """The page has the columns that an export has, with their types, in order."""
    write_entries([], tmp_path / "ledger.parquet")
    schema = pq.read_schema(tmp_path / "ledger.parquet")
    shown = ", ".join(f"`{field.name}` {field.type}" for field in schema)
    assert rows("## Archive") == [[shown]]


@pytest.mark.parametrize("page", [MAINTAIN, BACK_UP], ids=["maintain", "back-up"])
def test_shown_checkpoints_and_commands_are_real(page: str) -> None:
    """Every checkpoint shown can be read, and every ledger command shown exists."""
    checkpoints = re.findall(r"\b([0-9]+:[0-9a-f]{32})\b", MAINTAIN)
    assert checkpoints
    assert all(read_checkpoint(checkpoint)[0] for checkpoint in checkpoints)
    shown = re.findall(r"tocsin ledger (?:FILE|alarms\.yaml) ([a-z-]+)", page)
    assert shown
    assert set(shown) <= set(ledger.commands)
