"""Where a configuration says that things are: ``host:port``, and the URL of a ledger."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from stream.config.scalars import wrong

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream.config.findings import Findings

__all__ = ["bootstrap_of", "ledger_url"]

_PORT: Final = re.compile("[0-9]{1,5}")
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+")
_KNOWN: Final = "write sqlite:///ledger.db or postgresql://user:password@host/database"


def bootstrap_of(text: str) -> str:
    """Return a list of brokers without blanks."""
    parts = [part.strip() for part in text.split(",")]
    hint = _bootstrap_problem(text, parts)
    if hint:
        raise wrong("not a list of host:port", hint)
    return ",".join(parts)


def _bootstrap_problem(text: str, parts: Iterable[str]) -> str:
    """Return how a list of brokers has to be written instead, "" where it is right."""
    scheme, separator, _ = text.partition("://")
    if separator and scheme.isidentifier():
        return "write host:port alone; what the listener speaks is kafka.security's to say"
    if "@" in text:
        return "write host:port alone; user and password belong to kafka.security"
    for part in parts:
        host, _, port = part.rpartition(":")
        if not (_PORT.fullmatch(port) and 0 < int(port) < 65_536 and _is_host(host)):
            hint = "write host:port, several separated by commas"
            return f"{hint}, an IPv6 address in brackets" if ":" in host else hint
    return ""


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
    scheme, separator, rest = url.partition("://")
    if not separator:
        problem = "the ledger is not a database URL", _KNOWN
    elif scheme == "sqlite":
        url = f"sqlite:///{folder / rest.removeprefix('/')}"
        problem = _sqlite_problem(rest)
    elif scheme in ("postgresql", "postgresql+psycopg"):
        url = f"postgresql+psycopg://{rest}"
        problem = _postgresql_problem(rest)
    else:
        hint = f"{_KNOWN}; did you mean `postgresql://`?" if scheme == "postgres" else _KNOWN
        problem = "the ledger is neither SQLite nor PostgreSQL", hint
    if problem[0]:
        findings.wrong("ledger", *problem)
    return url


def _sqlite_problem(rest: str) -> tuple[str, str]:
    path, message = rest.removeprefix("/"), ""
    if rest in ("", "/") or path.startswith(":memory:"):
        message = "a ledger in memory forgets what was spent"
    elif not rest.startswith("/"):
        message = "SQLite has no host"
    elif "?" in path or "#" in path:
        message = "a ledger in SQLite takes no options"
    elif path.endswith("/"):
        message = "the ledger is a file, not a folder"
    return message, "write sqlite:///ledger.db"


def _postgresql_problem(rest: str) -> tuple[str, str]:
    try:
        parts = urlsplit(f"postgresql://{rest}")
        _ = parts.port
        readable = rest.count("@") < 2  # one ends the password, another is in it
    except ValueError:
        readable = False
    if not readable:
        hint = "write postgresql://user:password@host:5432/database, with @ and : of a password"
        message = "the host or port of the ledger's URL cannot be read"
        return message, f"{hint} as %40 and %3A"
    named = parts.path.strip("/") or parts.query
    return "" if named else "the ledger's URL names no database", _KNOWN


def _is_host(text: str) -> bool:
    """Tell whether it is a name, an IPv4 address, or an IPv6 address in brackets."""
    if text.startswith("[") and text.endswith("]"):
        try:
            return ipaddress.ip_address(text[1:-1]).version == 6  # of the protocol
        except ValueError:
            return False
    return _HOST.fullmatch(text) is not None
