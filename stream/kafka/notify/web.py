"""Targets that are web servers: Alertmanager's API v2, and webhooks with signed bodies."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import TYPE_CHECKING, Final

import aiohttp
import msgspec

from stream.kafka.notify.messages import AwayError, RefusedError, Target, body
from stream.kafka.tasks import now_ms
from stream.windows.instants import from_iso_utc, iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from stream.decisions.lifecycle import Notice
    from stream.kafka.notify.messages import Message
    from stream.model.notifications import Alertmanager, Webhook

__all__ = ["AlertmanagerTarget", "WebhookTarget", "signature"]

_PATIENCE: Final = aiohttp.ClientTimeout(total=10.0)
_LATER: Final = frozenset({408, 425, 429})
_MOMENT_MS: Final = 60_000  # longer than Alertmanager waits before it tells anybody
_DENIED: Final = "TocsinWindowDenied"


class _Poster(Target):
    """Posts JSON to one address.

    Args:
        name: of the target.
        url: the address.
        now_ms: the wall clock.
    """

    def __init__(self, name: str, url: str, now_ms: Callable[[], int]) -> None:
        self.name = name
        self._url = url
        self._now_ms = now_ms
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
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise AwayError(type(error).__name__) from error
        if status in _LATER or status >= 500:
            raise AwayError(f"answer {status}")
        if not 200 <= status < 300:
            raise RefusedError(f"answer {status}")

    async def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            await self._session.close()


class AlertmanagerTarget(_Poster):
    """Alerts with an end: they lapse when no window is heard of, and are renewed while they fire.

    Args:
        settings: where it is.
        now_ms: the wall clock.
    """

    together = True

    def __init__(self, settings: Alertmanager, now_ms: Callable[[], int] = now_ms) -> None:
        super().__init__(f"alertmanager-{settings.name}", f"{settings.url}/api/v2/alerts", now_ms)
        self.resend_s = settings.resend_interval_ms / 1000
        self._standing: dict[str, Message] = {}

    def remember(self, message: Message) -> None:
        """Say it again at the next refresh, as long as it stands."""
        notice = message.notice
        if notice.status in {"firing", "ongoing"}:
            self._standing[notice.fingerprint] = message
        elif notice.status == "resolved":
            self._standing.pop(notice.fingerprint, None)

    async def send(self, messages: Sequence[Message]) -> None:
        """Post the alerts of a window at once."""
        now_ms = self._now_ms()
        # What has ended by itself before it could be delivered is said all the same, for a moment.
        until_ms = now_ms + _MOMENT_MS
        alerts = [self._alert(message, max(message.ends_ms, until_ms)) for message in messages]
        await self.post(msgspec.json.encode(alerts), {})
        for message in messages:
            self.remember(message)

    async def refresh(self) -> None:
        """Post what fires: an Alertmanager that was restarted has forgotten it."""
        now_ms = self._now_ms()
        self._standing = {
            mark: message for mark, message in self._standing.items() if message.ends_ms > now_ms
        }
        if self._standing:
            alerts = [self._alert(one, one.ends_ms) for one in self._standing.values()]
            await self.post(msgspec.json.encode(alerts), {})

    def _alert(self, message: Message, ends_ms: int) -> dict[str, object]:
        notice, now_ms = message.notice, self._now_ms()
        start_ms = from_iso_utc(notice.since or notice.window_start)
        if notice.status == "resolved":
            ends_ms = min(message.published_ms, now_ms)
        annotations = {
            "window_start": notice.window_start,
            "window_end": notice.window_end,
            **({"alarm_id": notice.alarm_id} if notice.alarm_id else {}),
            **notice.annotations,
        }
        return {
            "labels": _labels(notice),
            "annotations": annotations,
            "startsAt": iso_utc(min(start_ms, ends_ms)),
            "endsAt": iso_utc(ends_ms),
        }


class WebhookTarget(_Poster):
    """Notices as JSON, signed as Standard Webhooks have it.

    Args:
        settings: where it is, and the secret.
        now_ms: the wall clock.
    """

    def __init__(self, settings: Webhook, now_ms: Callable[[], int] = now_ms) -> None:
        super().__init__(f"webhook-{settings.name}", settings.url, now_ms)
        self._secret = settings.secret

    def wants(self, notice: Notice) -> bool:
        """Take what is new: nobody wants to be told in every window."""
        return notice.status != "ongoing"

    async def send(self, messages: Sequence[Message]) -> None:
        """Post each by itself."""
        for message in messages:
            content, stamp = msgspec.json.encode(body(message)), str(self._now_ms() // 1000)
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


def _labels(notice: Notice) -> dict[str, str]:
    """Return what an alert is known by: the same for as long as it fires."""
    if notice.status == "denied":
        reason = notice.reason or ""
        named = {"alertname": _DENIED, "alarm": notice.alarm, "reason": reason}
    else:
        named = {"alertname": notice.alarm, "fingerprint": notice.fingerprint}
    fields = {_label(name): value for name, value in notice.group.items()}
    return {**fields, **notice.labels, **named}


def _label(name: str) -> str:
    """Return a field's name as Alertmanager takes it."""
    plain = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return plain if not plain[:1].isdigit() else f"_{plain}"
