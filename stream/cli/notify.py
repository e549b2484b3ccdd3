"""``tocsin notify``: alarms to Alertmanager, webhooks and MQTT."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from stream.cli.options import CONFIGURATION
from stream.cli.shared import log_of
from stream.config.notify.reading import read_subscription
from stream.kafka.notify.notifier import notify as bring

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["notify"]


@click.command()
@CONFIGURATION
@click.option(
    "--from-beginning",
    is_flag=True,
    help="A group without deliveries starts with the oldest records.",
)
def notify(file: Path, *, from_beginning: bool) -> None:
    """Send alarms to Alertmanagers, webhooks and MQTT, at least once, until stopped.

    It reads the alarms and the decisions topic, as an analyst may, and nothing else. FILE has
    `notify` and `kafka`; it may be the file of alarms, or one without feeds.
    """
    setup = read_subscription(file, environ=os.environ)
    bring(setup, log_of(setup.subscription.log), from_beginning=from_beginning)
