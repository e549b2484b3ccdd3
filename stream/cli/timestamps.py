"""Times as a person types them: by the clocks of the configuration's `timezone`."""

from __future__ import annotations

from typing import Final

import click

from stream.windows.instants import instant_ms
from stream.windows.localtime import load_zone

__all__ = ["TIME", "past_ms", "typed_ms"]

TIME: Final = "TIME"
"""What an option that takes an instant calls it in its help."""

_WRITE: Final = "write 2025-03-03, 2025-03-03T08:00 or, with an offset, 2025-03-03T08:00+01:00"


def typed_ms(text: str, timezone: str, option: str) -> int:
    """Return the instant that an option names; an offset or ``Z`` in it wins over the time zone.

    Args:
        text: a date, whose first instant is meant, or an instant of ISO 8601.
        timezone: IANA name.
        option: for the error.

    Raises:
        click.BadParameter: it names none, or one that clocks of the time zone skip or show twice.
    """
    try:
        return instant_ms(text, load_zone(timezone))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} {error}; {_WRITE}", param_hint=option) from None


def past_ms(text: str, timezone: str, option: str, now_ms: int) -> int:
    """Return the same of an instant that is not later than now.

    Raises:
        click.BadParameter: as ``typed_ms``, or it lies in the future.
    """
    at_ms = typed_ms(text, timezone, option)
    if at_ms > now_ms:
        raise click.BadParameter(
            f"{text!r} is in the future; write a time in the past", param_hint=option
        )
    return at_ms
