"""``tocsin deliver``: alarms to Alertmanager, webhooks and MQTT."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from stream.cli.shared import FILE
from stream.config.delivery.reading import read_subscription
from stream.kafka.delivery.deliver import deliver as bring
from stream.logs.clients import redirect
from stream.logs.lines import Log

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["deliver"]


@click.command()
@click.argument("file", type=FILE)
@click.option(
    "--from-beginning",
    is_flag=True,
    help="A group that has delivered nothing yet begins with the oldest records kept.",
)
def deliver(file: Path, *, from_beginning: bool) -> None:
    """Bring alarms to Alertmanagers, webhooks and MQTT, at least once, until stopped.

    It reads the alarms and the decisions topic, as an analyst may, and nothing else. FILE has
    `deliver` and `kafka`; it may be the file of alarms, or one without feeds.
    """
    setup = read_subscription(file, environ=os.environ)
    log = Log(sys.stderr, setup.subscription.log)
    redirect(log)
    bring(setup, log, from_beginning=from_beginning)
