"""What a page over HTTP answers."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING, NamedTuple

from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from email.message import Message

FREE = ("127.0.0.1", 0)
"""Any free port on loopback."""


class Answer(NamedTuple):
    """A status, what is said with it, and the headers of both."""

    status: int
    body: bytes
    headers: Message


def asked(
    address: tuple[str, int], path: str = "/metrics", *, method: str = "GET", **headers: str
) -> Answer:
    """Return the answer of whoever listens at an address, also a refusal."""
    with closing(HTTPConnection(*address, timeout=PATIENCE_S)) as connection:
        connection.request(method, path, headers=headers)
        found = connection.getresponse()
        return Answer(found.status, found.read(), found.headers)
