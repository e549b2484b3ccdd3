"""``tocsin topics``: the topics of a configuration, checked, created, given more partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stream.cli.add_partitions import add_partitions
from stream.cli.main import Suggesting
from stream.cli.options import CONFIGURATION
from stream.cli.shared import load_alarms, refuse_found, say_awaited
from stream.kafka.topics import check as check_topics

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["topics"]


@click.group(cls=Suggesting)
def topics() -> None:
    """Check or create the topics of a configuration, or add partitions to one."""


@topics.command()
@CONFIGURATION
def check(file: Path) -> None:
    """Check the topics that a configuration needs; change nothing."""
    _check(file)


@topics.command()
@CONFIGURATION
@click.option(
    "--partitions",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Partitions of new feed topics.",
)
def create(file: Path, partitions: int) -> None:
    """Create the topics that are missing, and check all; a topic that exists is not changed."""
    _check(file, created_with=partitions)


def _check(file: Path, *, created_with: int = 0) -> None:
    """Say what is wrong; feed topics that are missing are created with so many partitions."""
    alarms = load_alarms(file)
    say_awaited(alarms)
    found, _ = check_topics(alarms, create_with=created_with)
    refuse_found(found)
    click.echo("ok")


topics.add_command(add_partitions)
