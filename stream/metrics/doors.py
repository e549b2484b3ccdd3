"""Who may come in to a page over HTTP: so many at once, and nobody who says nothing for long.

One loop serves all of them, so that a connection costs no thread. Where there is no room, whoever
has waited longest without asking anything makes room for the next: probes get in whatever others
do. Every connection asks once.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from accountant.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Doors", "address_text", "cannot_listen"]

_MOST: Final = 512
_PATIENCE_S: Final = 10.0
_END: Final = b"\r\n\r\n"


def address_text(host: str, port: int) -> str:
    """Return an address as it is written."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def cannot_listen(setting: str, address: tuple[str, int], error: Exception) -> ConfigError:
    """Return what is said of an address that cannot be listened on.

    Args:
        setting: that has it.
        address: host and port.
        error: what the system said.
    """
    reason = getattr(error, "strerror", None) or "not an address"
    return ConfigError(
        f"{setting} cannot listen on {address_text(*address)}: {reason}",
        hint=f"stop what listens there, or write another host:port in {setting}",
    )


class Doors:
    """Makes the protocol of each connection to one server; call it as a factory of protocols.

    Args:
        inner: makes the protocol that answers.
        lifetime_s: how long a connection may last after it has asked; ``None`` for as long as it is
            answered.
    """

    def __init__(
        self,
        inner: Callable[[], asyncio.Protocol],
        *,
        lifetime_s: float | None = None,
    ) -> None:
        self.lifetime_s = lifetime_s
        self._inner = inner
        self._open = 0
        self._waiting: dict[_Door, None] = {}

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of one connection."""
        return cast("asyncio.Protocol", _Door(self, self._inner()))

    def entered(self, door: _Door) -> None:
        """Count one in, at the price of the one that has waited longest."""
        if self._open >= _MOST:
            next(iter(self._waiting), door).shut()
        self._open += 1
        self._waiting[door] = None

    def asked(self, door: _Door) -> None:
        """Take note that a connection is not waiting any more."""
        self._waiting.pop(door, None)

    def left(self, door: _Door) -> None:
        """Count one out."""
        self._open -= 1
        self.asked(door)


class _Door:
    """One connection, as asyncio has it: everything goes on to the protocol inside."""

    def __init__(self, doors: Doors, inner: asyncio.Protocol) -> None:
        self._doors = doors
        self._inner = inner
        self._transport: asyncio.Transport | None = None
        self._limit: asyncio.TimerHandle | None = None
        self._seen = b""
        self._has_asked = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def shut(self) -> None:
        """End the connection at once."""
        self._doors.asked(self)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let it in, for a while."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # for the type checker
        self._transport = transport
        self._limit = asyncio.get_running_loop().call_later(_PATIENCE_S, self.shut)
        self._inner.connection_made(transport)
        self._doors.entered(self)

    def data_received(self, data: bytes) -> None:
        """Hand on what it says; once that is a question, it has the time of an answer."""
        if not self._has_asked:
            self._has_asked = _END in self._seen + data
            self._seen = (self._seen + data)[1 - len(_END) :]
            if self._has_asked:
                self._answering()
        self._inner.data_received(data)

    def _answering(self) -> None:
        self._doors.asked(self)
        self._end_limit()
        if self._doors.lifetime_s is not None:
            loop = asyncio.get_running_loop()
            self._limit = loop.call_later(self._doors.lifetime_s, self.shut)

    def _end_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let it out."""
        self._end_limit()
        self._doors.left(self)
        self._inner.connection_lost(exc)
