"""``tocsin board``: alarms on a web page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from stream.cli.options import CONFIGURATION
from stream.cli.shared import log_of
from stream.config.notify.reading import read_board
from stream.kafka.board.board import show

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["board"]


@click.command()
@CONFIGURATION
def board(file: Path) -> None:
    """Show analysts what fires, on a web page, until stopped.

    It reads the alarms and the decisions topic, as an analyst may, and nothing else. FILE has
    `kafka`; it may be the file of alarms, or one without feeds. The page is at `board.listen`,
    on this machine alone where that is left out.
    """
    setup = read_board(file, environ=os.environ)
    show(
        setup,
        log_of(setup.subscription.log),
        lambda address: click.echo(f"The board is at {address}"),
    )
