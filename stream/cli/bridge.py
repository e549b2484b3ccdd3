"""``tocsin bridge``: sensors' messages on MQTT to a feed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from stream.cli.shared import FILE
from stream.config.bridge.reading import read_bridge
from stream.logs.clients import redirect
from stream.logs.lines import Log

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["bridge"]


@click.command()
@click.argument("file", type=FILE)
def bridge(file: Path) -> None:
    """Bring sensors' messages from MQTT to a feed, at least once, until stopped.

    It writes the feed's topic, as a sensor may, and nothing else. FILE has `bridge` and `kafka`,
    and no feeds. What Kafka does not take yet waits in a file, and what that does not hold waits
    with the MQTT broker.
    """
    from stream.kafka.bridge.bridge import carry  # noqa: PLC0415  # needs an extra, help does not

    setup = read_bridge(file, environ=os.environ)
    log = Log(sys.stderr, setup.log)
    redirect(log)
    carry(setup, log)
