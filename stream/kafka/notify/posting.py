"""What targets that are web servers share: JSON by POST, and which answers mean later or never."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import aiohttp

from stream.kafka.notify.messages import AwayError, RefusedError, Target

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Poster"]

_PATIENCE: Final = aiohttp.ClientTimeout(total=10.0)
_LATER: Final = frozenset({408, 425, 429})


class Poster(Target):
    """Posts JSON to one address.

    Args:
        name: of the target.
        url: the address.
    """

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def post(self, content: bytes, headers: Mapping[str, str]) -> None:
        """Return once the server has taken it.

        Raises:
            AwayError: no answer, or one that says later.
            RefusedError: an answer that says never.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=_PATIENCE)
        sent = {"Content-Type": "application/json", **headers}
        try:
            async with self._session.post(
                self._url, data=content, headers=sent, allow_redirects=False
            ) as answer:
                status = answer.status
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise AwayError(type(error).__name__) from error
        if status in _LATER or status >= 500:
            raise AwayError(f"answer {status}")
        if not 200 <= status < 300:
            raise RefusedError(f"answer {status}")

    async def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            await self._session.close()
