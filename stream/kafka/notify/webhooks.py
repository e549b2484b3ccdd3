"""Webhooks: web servers that take notices with signed bodies."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING, Final

import msgspec

from stream.kafka.notify.messages import body
from stream.kafka.notify.posting import Poster
from stream.kafka.tasks import now_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.decisions.lifecycle import Notice
    from stream.kafka.notify.messages import Message

__all__ = ["TARGET", "WebhookTarget", "signature"]


class WebhookTarget(Poster):
    """Notices as JSON, signed as Standard Webhooks have it.

    Args:
        name: as configured.
        url: where they are posted.
        secret: signs them.
    """

    def __init__(self, name: str, *, url: str, secret: str) -> None:
        super().__init__(f"webhook-{name}", url)
        self._secret = secret.encode()

    def wants(self, notice: Notice) -> bool:
        """Take what is new: nobody wants to be told in every window."""
        return notice.status != "ongoing"

    async def send(self, messages: Sequence[Message]) -> None:
        """Post each by itself."""
        for message in messages:
            content, stamp = msgspec.json.encode(body(message)), str(now_ms() // 1000)
            mark = message.notice.notice_id
            headers = {
                "webhook-id": mark,
                "webhook-timestamp": stamp,
                "webhook-signature": signature(self._secret, mark, stamp, content),
            }
            await self.post(content, headers)


def signature(secret: bytes, mark: str, stamp: str, content: bytes) -> str:
    """Return what proves that a body is ours: ``v1,`` and HMAC-SHA-256 in base64.

    Args:
        secret: that both sides know.
        mark: the header ``webhook-id``.
        stamp: the header ``webhook-timestamp``, in seconds.
        content: the body as it is sent.
    """
    signed = b".".join((mark.encode(), stamp.encode(), content))
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


TARGET: Final = WebhookTarget
