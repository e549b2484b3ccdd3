"""``tocsin plan``: what a configuration costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console

from stream.cli.gate import FILES, examined, worst
from stream.cli.shared import echo_json
from stream.planning.lines import plan_lines
from stream.planning.outlook import outlook
from stream.planning.tables import plan_tables

if TYPE_CHECKING:
    from pathlib import Path

    from stream.cli.gate import Examined

__all__ = ["plan"]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def plan(files: tuple[Path, ...], *, as_json: bool) -> None:
    """Say what a configuration costs, before any data is read."""
    found = []
    for path in files:
        one = examined(path)
        found.append(one)
        one.say()
        if as_json:
            _echo_lines(one, several=len(files) > 1)
            continue
        if len(files) > 1:
            click.echo(f"{path}:")
        if one.alarms is not None:
            Console().print(*plan_tables(outlook(one.alarms), one.alarms), sep="\n")
    click.get_current_context().exit(worst(found))


def _echo_lines(one: Examined, *, several: bool) -> None:
    """Write a plan as objects; of several files each says whose it is, and what becomes of it."""
    if one.alarms is not None:
        for line in plan_lines(outlook(one.alarms), one.alarms):
            echo_json({"file": one.file, **line} if several else line)
    if several or one.exit_code:
        echo_json(one.verdict())
