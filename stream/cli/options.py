"""Options that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from stream.cli.shared import FILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.decorators import FC

__all__ = ["ALARMS", "JSON_LINES", "LIMIT", "YES", "given_files", "published"]

JSON_LINES: Final = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
YES: Final = click.option("--yes", is_flag=True, help="Do not ask.")
ALARMS: Final = click.option(
    "--alarm",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this one; repeatable.",
)
LIMIT: Final = click.option(
    "--limit", type=click.IntRange(1), metavar="WINDOWS", help="Only so many windows per alarm."
)


def given_files(text: str, *, required: bool = False) -> Callable[[FC], FC]:
    """Return the decorator for files of events: ``--replay A B``, as ``replayed`` and ``more``."""
    replayed = click.option(
        "--replay",
        "replayed",
        multiple=True,
        required=required,
        metavar="[FEED=]PATH...",
        help=text,
    )
    more = click.argument("more", nargs=-1, metavar="[[FEED=]PATH...]")
    return lambda command: replayed(more(command))


def published(text: str) -> Callable[[FC], FC]:
    """Return the decorator for what replays printed, as ``saved``."""
    return click.option(
        "--published", "saved", multiple=True, type=FILE, metavar="FILE.jsonl", help=text
    )
