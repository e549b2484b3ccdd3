"""``tocsin plan``: what a configuration costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console

from stream.cli.shared import CONFIG, echo_json, load_alarms
from stream.planning.lines import plan_lines
from stream.planning.outlook import outlook
from stream.planning.tables import plan_tables

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["plan"]


@click.command()
@click.argument("file", type=CONFIG)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def plan(file: Path, *, as_json: bool) -> None:
    """Say what a configuration costs, before any data is read."""
    alarms = load_alarms(file, notes=True)
    looked = outlook(alarms)
    if not as_json:
        Console().print(*plan_tables(looked, alarms), sep="\n")
        return
    for line in plan_lines(looked, alarms):
        echo_json(line)
