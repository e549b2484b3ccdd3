"""``tocsin mqtt``: sensors' messages on MQTT to a feed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from stream.cli.options import CONFIGURATION
from stream.cli.shared import log_of
from stream.config.mqtt.reading import read_mqtt

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["mqtt"]


@click.command()
@CONFIGURATION
def mqtt(file: Path) -> None:
    """Forward sensors' messages from MQTT to a feed, at least once, until stopped.

    It writes the feed's topic, as a sensor may, and nothing else. FILE has `mqtt` and `kafka`,
    and no feeds. Messages that Kafka does not take yet wait at the MQTT broker.
    """
    from stream.kafka.mqtt.source import forward  # noqa: PLC0415  # needs an extra, help does not

    setup = read_mqtt(file, environ=os.environ)
    forward(setup, log_of(setup.log))
