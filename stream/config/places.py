"""Where a configuration says that things are: brokers, the URL of a ledger, the time zone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final
from zoneinfo import available_timezones

from pydantic import AfterValidator, ValidationInfo

from stream.config.scalars import Text, address_of, closest, wrong
from stream.windows.localtime import load_zone

if TYPE_CHECKING:
    from stream.config.findings import Findings

__all__ = ["TimeZone", "bootstrap_of", "ledger_url"]

_SQLITE: Final = re.compile(r"/(?!:memory:)[^?#\0]*[^?#/\0]")
_POSTGRESQL: Final = re.compile(
    r"(?![^\0]*\0|.*[?&]port=[^&]*[^&,0-9])"  # zero bytes, and ports that are no numbers
    r"([^@/]*@)?(\[[0-9A-Fa-f:.]+\]|[^@:/?\[\]]*)(:[0-9]{1,5})?(/[^@]+|/?\?.+)",
    re.ASCII,
)
_KNOWN: Final = (
    "write sqlite:///ledger.db or postgresql://user:password@host:5432/database, with %40, %3A and"
    " %2F for @, : and / in the password"
)


def bootstrap_of(text: str) -> str:
    """Return a list of brokers without blanks."""
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        found = address_of(part)
        if found is None or not found[1]:
            hint = "write host:port, several separated by commas, and [...] around an IPv6 address"
            raise wrong("not a list of host:port", hint)
    return ",".join(parts)


def ledger_url(url: str, info: ValidationInfo[Findings]) -> str:
    """Return the URL of a ledger, relative SQLite paths resolved beside the configuration."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        if not _SQLITE.fullmatch(rest):
            message = "this SQLite ledger is not a file: it is in memory, or has a host or options"
            raise wrong(message, _KNOWN)
        return f"sqlite:///{info.context.folder.resolve() / rest.removeprefix('/')}"
    if scheme not in ("postgresql", "postgresql+psycopg") or not _POSTGRESQL.fullmatch(rest):
        raise wrong("`ledger` is not a URL of SQLite or PostgreSQL", _KNOWN)
    return f"postgresql+psycopg://{rest}"


def _time_zone(name: str) -> str:
    """Return the name of a zone that there is."""
    try:
        return load_zone(name).key
    except ValueError:
        zones = (zone for zone in available_timezones() if "/" in zone or zone == "UTC")
        hint = closest(name, zones, "write an IANA name, as Europe/Berlin or UTC")
        raise wrong("unknown time zone", hint) from None


TimeZone = Annotated[Text, AfterValidator(_time_zone)]
"""The name of a time zone."""
