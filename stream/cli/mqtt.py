"""``tocsin mqtt``: sensors' messages on MQTT to a feed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from stream.cli.shared import FILE
from stream.config.mqtt.reading import read_mqtt
from stream.logs.clients import redirect
from stream.logs.lines import Log

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["mqtt"]


@click.command()
@click.argument("file", type=FILE)
def mqtt(file: Path) -> None:
    """Forward sensors' messages from MQTT to a feed, at least once, until stopped.

    It writes the feed's topic, as a sensor may, and nothing else. FILE has `mqtt` and `kafka`,
    and no feeds. What Kafka does not take yet waits in a file, and what that does not hold waits
    with the MQTT broker.
    """
    from stream.kafka.mqtt.source import forward  # noqa: PLC0415  # needs an extra, help does not

    setup = read_mqtt(file, environ=os.environ)
    log = Log(sys.stderr, setup.log)
    redirect(log)
    forward(setup, log)
