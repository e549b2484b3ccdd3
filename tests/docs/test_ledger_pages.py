"""What the pages say of ``tocsin ledger`` is what it does."""

from __future__ import annotations

import re

import pytest

from accountant.store.chain import read_anchor
from stream.cli.ledger import ledger
from stream.custody.export import SCHEMAS
from tests.support.tree import ROOT

DOCS = ROOT / "docs"
COMMANDS = (DOCS / "guide" / "commands.md").read_text(encoding="utf-8")
OPERATIONS = (DOCS / "custodian" / "operations.md").read_text(encoding="utf-8")
SHORT = {"list<item: int64 not null>": "list of int64"}


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading of the page of commands."""
    section = COMMANDS.partition(f"{heading}\n")[2]
    lines = [line for line in section.split("\n#")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|", 1)] for line in lines[2:]]


def test_every_ledger_command_and_option_is_documented() -> None:
    """The table names each command once, with exactly the options it has."""
    documented = {
        re.findall(r"[a-z-]+", names)[0]: set(re.findall(r"--[a-z-]+", names))
        for names, _ in rows("## `tocsin ledger FILE COMMAND`")
    }
    assert documented == {
        name: {option for one in command.params for option in one.opts if option.startswith("--")}
        for name, command in ledger.commands.items()
    }


def test_parquet_columns_are_documented() -> None:
    """The table of kinds has every file's columns with type and nulls, in order."""
    documented = {kind.strip("`"): columns for kind, columns in rows("### What `export` writes")}
    assert documented == {
        kind: ", ".join(
            f"`{field.name}` {SHORT.get(str(field.type), field.type)}{'?' * field.nullable}"
            for field in schema
        )
        for kind, schema in SCHEMAS.items()
    }


@pytest.mark.parametrize("page", [COMMANDS, OPERATIONS], ids=["commands", "operations"])
def test_shown_anchors_and_commands_are_real(page: str) -> None:
    """Every anchor shown can be read, and every ledger command shown exists."""
    anchors = re.findall(r"\b[a-z]+=([0-9]+:[0-9a-f]+)", page)
    assert anchors
    assert all(read_anchor(anchor)[0] for anchor in anchors)
    shown = re.findall(r"tocsin ledger (?:FILE|alarms\.yaml) ([a-z-]+)", page)
    assert shown
    assert set(shown) <= set(ledger.commands)
