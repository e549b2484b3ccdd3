"""``tocsin watch``: alarms as they leave."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

import click

from stream.cli.shared import CONFIG, echo_json, load_alarms
from stream.kafka.watch import watch as follow

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["watch"]


@click.command()
@click.argument("file", type=CONFIG)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--from-beginning", is_flag=True, help="Start with the oldest alarm on the topic.")
def watch(file: Path, *, as_json: bool, from_beginning: bool) -> None:
    """Follow the alarms on Kafka until interrupted."""
    alarms = load_alarms(file)
    with (
        suppress(KeyboardInterrupt),
        closing(follow(alarms, from_beginning=from_beginning)) as found,
    ):
        for alarm in found:
            if as_json:
                echo_json(alarm)
            else:
                predicate = ", ".join(alarm["predicate"].values()) or "(all)"
                click.echo(f"{alarm['window_start']}  {alarm['query']}  {predicate}")
