"""``tocsin plan``: what a configuration costs."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from stream.cli.shared import CONFIG, echo_json, load_alarms
from stream.planning.lines import plan_lines
from stream.planning.outlook import outlook
from stream.planning.ringing_tables import ringing_lines, ringing_tables
from stream.planning.tables import plan_tables
from stream.planning.worth import worths
from stream.simulation.outputs import check_output, write_private

__all__ = ["plan"]


@click.command()
@click.argument("file", type=CONFIG)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Draw it on a page, too.",
)
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
def plan(file: Path, *, as_json: bool, page: Path | None, force: bool) -> None:
    """Say what a configuration costs, before any data is read."""
    alarms = load_alarms(file, notes=True)
    if page is not None:
        check_output(page, force=force)
    looked = outlook(alarms)
    worth = worths(alarms)
    if page is not None:
        from stream.planning.page import plan_page  # noqa: PLC0415  # templates only where asked

        write_private(page, plan_page(looked, worth, alarms), force=force)
    if not as_json:
        Console().print(*plan_tables(looked, alarms), *ringing_tables(worth), sep="\n")
        return
    for line in (*plan_lines(looked, alarms), *ringing_lines(worth)):
        echo_json(line)
