"""Options that several commands have, and times as a person types them."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from stream.cli.shared import FILE, load_alarms
from stream.windows.instants import instant_ms
from stream.windows.localtime import load_zone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.decorators import FC

__all__ = [
    "ALARMS",
    "CONFIGURATION",
    "FORCE",
    "JSON_LINES",
    "LIMIT",
    "PUBLISHED",
    "TIME",
    "YES",
    "configured",
    "given_files",
    "typed_ms",
]

TIME: Final = "TIME"
"""What an option that takes an instant calls it in its help."""

_WRITE: Final = "write 2025-03-03, 2025-03-03T08:00 or, with an offset, 2025-03-03T08:00+01:00"
CONFIGURATION: Final = click.argument("file", type=FILE)
JSON_LINES: Final = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object per line."
)
FORCE: Final = click.option("--force", is_flag=True, help="Replace files that exist.")
YES: Final = click.option("--yes", is_flag=True, help="Do not ask.")
PUBLISHED: Final = click.option(
    "--published",
    "saved",
    multiple=True,
    type=FILE,
    metavar="FILE.jsonl",
    help="What `tocsin run --json` printed, instead of the topics; repeatable.",
)
ALARMS: Final = click.option(
    "--alarm",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this alarm; repeatable.",
)
LIMIT: Final = click.option(
    "--limit", type=click.IntRange(1), metavar="WINDOWS", help="At most so many windows per alarm."
)


def configured(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command of ``tocsin ledger FILE`` that is given the configuration.

    It is read once the command's own options are.
    """

    @click.pass_obj
    @wraps(command)
    def read(file: Path, /, **named: Any) -> None:
        command(load_alarms(file, quiet=True), **named)

    return read


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


def typed_ms(text: str | None, timezone: str, option: str) -> int | None:
    """Return the instant that an option names; an offset or ``Z`` in it wins over the time zone.

    Args:
        text: a date, whose first instant is meant, or an instant of ISO 8601; ``None`` for neither.
        timezone: IANA name.
        option: for the error.

    Raises:
        click.BadParameter: it names none, or one that clocks of the time zone skip or show twice.
    """
    if text is None:
        return None
    try:
        return instant_ms(text, load_zone(timezone))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} {error}; {_WRITE}", param_hint=option) from None
