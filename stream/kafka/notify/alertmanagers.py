"""Alertmanager, by its API v2: alerts that end by themselves and are renewed while they fire."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from stream.kafka.notify.posting import Poster
from stream.kafka.tasks import now_ms
from stream.windows.instants import from_iso_utc, iso_utc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.decisions.lifecycle import Notice
    from stream.kafka.notify.messages import Message

__all__ = ["TARGET", "AlertmanagerTarget"]

_RESOLVED_MS: Final = 900_000  # so long it is said again, as Prometheus does
_MOMENT_MS: Final = 60_000  # longer than Alertmanager waits before it tells anybody
_DENIED: Final = "TocsinWindowDenied"


class AlertmanagerTarget(Poster):
    """Alerts with an end: they lapse when no window is heard of, and are renewed while they fire.

    Args:
        name: as configured.
        url: where it is, without ``/api/v2``.
        resend_interval: what fires is sent again after so many milliseconds.
    """

    together = True

    def __init__(self, name: str, *, url: str, resend_interval: int) -> None:
        super().__init__(f"alertmanager-{name}", f"{url.rstrip('/')}/api/v2/alerts")
        self.resend_s = resend_interval / 1000
        self._standing: dict[frozenset[tuple[str, str]], Message] = {}

    def remember(self, message: Message) -> None:
        """Say again what fires, as long as it stands, and for a while what is over.

        Alerts are told apart by their labels: a group fires at another severity as another one.
        """
        if message.notice.status != "denied":
            self._standing[frozenset(_labels(message.notice).items())] = message

    async def send(self, messages: Sequence[Message]) -> None:
        """Post the alerts of a window at once."""
        # What has ended by itself before it could be delivered is said all the same, for a moment.
        until_ms = now_ms() + _MOMENT_MS
        alerts = [self._alert(message, max(message.ends_ms, until_ms)) for message in messages]
        await self.post(msgspec.json.encode(alerts), {})
        for message in messages:
            self.remember(message)

    async def refresh(self) -> bool:
        """Post what holds: an Alertmanager that was restarted has forgotten it."""
        at_ms = now_ms()
        self._standing = {
            mark: message for mark, message in self._standing.items() if _until_ms(message) > at_ms
        }
        if self._standing:
            alerts = [self._alert(one, one.ends_ms) for one in self._standing.values()]
            await self.post(msgspec.json.encode(alerts), {})
        return bool(self._standing)

    def _alert(self, message: Message, ends_ms: int) -> dict[str, object]:
        notice = message.notice
        start_ms = from_iso_utc(notice.since or notice.window_start)
        if notice.status == "resolved":
            ends_ms = min(message.published_ms, now_ms())
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


def _until_ms(message: Message) -> int:
    """Return until when it is said again."""
    if message.notice.status == "resolved":
        return message.published_ms + _RESOLVED_MS
    return message.ends_ms


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


TARGET: Final = AlertmanagerTarget
