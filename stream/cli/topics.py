"""``tocsin topics``: the topics of a configuration, checked or made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.shared import BAD_INPUT, FILE, load_alarms, say_awaited
from stream.kafka.topics import check

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["topics"]


@click.command()
@click.argument("file", type=FILE)
@click.option("--apply", "create", is_flag=True, help="Create the topics that are missing.")
@click.option(
    "--partitions", type=click.IntRange(1), default=4, show_default=True, help="Of new feed topics."
)
def topics(file: Path, *, create: bool, partitions: int) -> None:
    """Check the topics a configuration needs, or create them."""
    alarms = load_alarms(file)
    say_awaited(alarms)
    problems = check(alarms, apply=create, partitions=partitions)
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        click.get_current_context().exit(BAD_INPUT)
    click.echo("ok")
