"""Where a configuration says that things are: ``host:port``, and the URL of a ledger."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stream.config.scalars import address_of, wrong

if TYPE_CHECKING:
    from stream.config.findings import Findings

__all__ = ["bootstrap_of", "ledger_url"]

_SQLITE: Final = re.compile(r"/(?!:memory:)[^?#]*[^?#/]")
_POSTGRESQL: Final = re.compile(
    r"([^@/]*@)?(\[[0-9A-Fa-f:.]+\]|[^@:/?\[\]]*)(:[0-9]{1,5})?(/[^@]+|/?\?.+)", re.ASCII
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


def ledger_url(url: str | None, stem: str, findings: Findings) -> str:
    """Return the URL of the ledger, relative SQLite paths resolved beside the configuration.

    Args:
        url: as written; ``None`` where it was left out.
        stem: of the configuration's name, after which a ledger is called then.
        findings: receives what is wrong with it.
    """
    folder = findings.folder.resolve()
    if url is None:
        return f"sqlite:///{folder / '.tocsin' / stem}.db"
    scheme, _, rest = url.partition("://")
    message = ""
    if scheme == "sqlite":
        url = f"sqlite:///{folder / rest.removeprefix('/')}"
        if not _SQLITE.fullmatch(rest):
            message = "this SQLite ledger is not a file: it is in memory, or has a host or options"
    elif scheme in ("postgresql", "postgresql+psycopg"):
        url = f"postgresql+psycopg://{rest}"
        if not _POSTGRESQL.fullmatch(rest):
            message = "the host, port or database of this URL is not valid"
    else:
        message = "`ledger` is not a URL of SQLite or PostgreSQL"
    if message:
        findings.wrong("ledger", message, _KNOWN)
    return url
