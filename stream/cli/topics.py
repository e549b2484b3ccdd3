"""``tocsin topics``: the topics of a configuration, checked, created, given more partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from stream.cli.add_partitions import add_partitions
from stream.cli.main import Suggesting
from stream.cli.options import CONFIGURATION
from stream.cli.shared import load_alarms, refuse_found, say_awaited
from stream.kafka.topics import check as problems_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["topics"]

_PARTITIONS: Final = 4


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
    default=_PARTITIONS,
    show_default=True,
    help="Partitions of new feed topics.",
)
def create(file: Path, partitions: int) -> None:
    """Create the topics that are missing, and check all; a topic that exists is not changed."""
    _check(file, create_missing=True, partitions=partitions)


def _check(file: Path, *, create_missing: bool = False, partitions: int = _PARTITIONS) -> None:
    alarms = load_alarms(file)
    say_awaited(alarms)
    refuse_found(problems_of(alarms, create_missing=create_missing, partitions=partitions))
    click.echo("ok")


topics.add_command(add_partitions)
