"""``tocsin plan``: what a configuration costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from stream.cli.gate import FILES, examined, worst
from stream.cli.shared import echo_json
from stream.planning.lines import plan_lines
from stream.planning.outlook import outlook
from stream.planning.ringing_tables import ringing_lines, ringing_tables
from stream.planning.tables import plan_tables
from stream.planning.worth import worths
from stream.simulation.outputs import check_output, write_private

if TYPE_CHECKING:
    from stream.model.alarms import Alarms

__all__ = ["plan"]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Draw it on a page, too.",
)
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
def plan(files: tuple[Path, ...], *, as_json: bool, page: Path | None, force: bool) -> None:
    """Say what a configuration costs and what it is worth, before any data is read."""
    several = len(files) > 1
    if page is not None:
        if several:
            raise click.UsageError("--html draws one file; give one")
        check_output(page, force=force)
    found = []
    for path in files:
        one = examined(path)
        found.append(one)
        one.say()
        if several and not as_json:
            click.echo(f"{path}:")
        if one.alarms is not None:
            _show(
                one.alarms, str(path) if several else None, as_json=as_json, page=page, force=force
            )
        if several and as_json:
            echo_json(one.verdict())
    click.get_current_context().exit(worst(found))


def _show(
    alarms: Alarms, file: str | None, *, as_json: bool, page: Path | None, force: bool
) -> None:
    """Show one plan; each object says its file where there are several."""
    looked = outlook(alarms)
    worth = worths(alarms)
    if page is not None:
        from stream.planning.page import plan_page  # noqa: PLC0415  # templates only where asked

        write_private(page, plan_page(looked, worth, alarms), force=force)
    if not as_json:
        Console().print(*plan_tables(looked, alarms), *ringing_tables(worth), sep="\n")
        return
    for line in (*plan_lines(looked, alarms), *ringing_lines(worth)):
        echo_json(line if file is None else {"file": file, **line})
