"""What targets are sent: alerts that end, letters that are signed, topics that are escaped."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
from importlib import import_module
from inspect import signature

import aiohttp
import msgspec
import pytest
from msgspec.structs import replace

from deploy.kafka.runtime import HOST
from deploy.site.mappings import models_of
from stream.config.notify.keys import NotifyModel
from stream.decisions.lifecycle import State, step
from stream.kafka import notify
from stream.kafka.notify import alertmanagers, posting, webhooks
from stream.kafka.notify.alertmanagers import AlertmanagerTarget
from stream.kafka.notify.messages import AwayError, Message, RefusedError
from stream.kafka.notify.mqtt import MqttTarget, escaped
from stream.kafka.notify.webhooks import WebhookTarget
from stream.model.lifecycles import EVERY_WINDOW
from stream.windows.instants import from_iso_utc
from tests.support.published import HOUR_MS, alarm_of, decision_of
from tests.support.targets import Inbox

NOW_MS = 3 * HOUR_MS
KINDS = {place[0]: model for place, model in models_of(NotifyModel).items() if place[1:] == ("*",)}
SECRET = "a secret of many bytes"  # noqa: S105  # no server knows it


@pytest.fixture(autouse=True)
def _at_three(monkeypatch):
    """The wall clock stands."""
    for kind in (alertmanagers, webhooks):
        monkeypatch.setattr(kind, "now_ms", lambda: NOW_MS)


def told(*rooms, denied=-1):
    """Return the notices of windows in which these rooms ring, at a severity after an @."""
    state, found = State(), []
    for number, ringing in enumerate(rooms):
        parts = [room.partition("@") for room in ringing]
        alarms = [
            replace(alarm_of(number, {"room-id": room}), severity=level or msgspec.UNSET)
            for room, _, level in parts
        ]
        decision = decision_of(number, denied=number == denied, alarms=alarms)
        state, notices = step(state, decision, alarms, EVERY_WINDOW)
        found.append(list(notices))
    return found


@pytest.fixture(scope="module")
def served():
    """A web server that keeps what it is sent."""
    with Inbox() as inbox:
        yield inbox


@pytest.fixture
def inbox(served):
    """The same, which has got nothing yet and takes everything."""
    served.letters.clear()
    served.answers.clear()
    return served


async def posted(inbox, *rooms, denied=-1):
    """Return the alerts that an Alertmanager is sent: window by window, then again."""
    target = AlertmanagerTarget("main", url=f"{inbox.url}/", resend_interval=1000)
    for notices in told(*rooms, denied=denied):
        await target.send([Message(one, NOW_MS - 5, 4 * HOUR_MS) for one in notices])
    await target.refresh()
    await target.close()
    return inbox.at("/api/v2/alerts")


async def test_an_alert_keeps_its_labels_and_ends_when_it_is_resolved(inbox):
    """The same labels throughout; what fires ends in the future, what is resolved has ended."""
    alerts = [alert for alert, *_ in await posted(inbox, ["hall"], ["hall"], [])]
    labels = alerts[0]["labels"]
    assert [alert["labels"] for alert in alerts] == [labels] * 4
    assert (labels["room_id"], labels["alertname"]) == ("hall", "crowd")
    ends = [from_iso_utc(alert["endsAt"]) for alert in alerts]
    assert ends == [4 * HOUR_MS, 4 * HOUR_MS, NOW_MS - 5, NOW_MS - 5]
    assert {from_iso_utc(alert["startsAt"]) for alert in alerts} == {0}


async def test_another_severity_is_another_alert(inbox):
    """In the window in which it changes, the old one ends and the new one begins.

    That they ended is said again: an Alertmanager that forgot would never tell anybody.
    """
    _, changed, silent, again = await posted(inbox, ["hall@warning"], ["hall@critical"], [])
    by_level = {one["labels"]["severity"]: from_iso_utc(one["endsAt"]) for one in changed}
    assert by_level == {"warning": NOW_MS - 5, "critical": 4 * HOUR_MS}
    assert [one["labels"]["severity"] for one in silent] == ["critical"]
    assert [one["labels"]["severity"] for one in again] == ["warning", "critical"]


async def test_what_fires_is_said_again_and_a_denial_has_a_name_of_its_own(inbox):
    """An Alertmanager that forgot is told what fires; a denied window renews it and is an alert."""
    *_, denied, again = await posted(inbox, ["hall"], [], denied=1)
    assert [alert["labels"]["alertname"] for alert in denied] == ["TocsinWindowDenied", "crowd"]
    assert denied[0]["labels"] == {
        "alertname": "TocsinWindowDenied",
        "alarm": "crowd",
        "reason": "budget",
    }
    assert [alert["labels"]["alertname"] for alert in again] == ["crowd"]


@contextlib.asynccontextmanager
async def pager(url):
    """Yield what sends a notice to a web server."""
    target = WebhookTarget("pager", url=url, secret=SECRET)
    ((notice,),) = told(["hall"])
    yield lambda: target.send([Message(notice, 0, 0)])
    await target.close()


@pytest.mark.parametrize(
    ("status", "raised"),
    [
        (200, None),
        (204, None),
        (301, RefusedError),
        (400, RefusedError),
        (429, AwayError),
        (503, AwayError),
    ],
)
async def test_an_answer_says_whether_to_try_again(inbox, status, raised):
    """Later, never, or taken."""
    inbox.answers["/x"] = status
    async with pager(f"{inbox.url}/x") as send:
        with contextlib.nullcontext() if raised is None else pytest.raises(raised):
            await send()
    ((_, headers, content),) = inbox.letters
    signed = f"{json.loads(content)['notice_id']}.{NOW_MS // 1000}.".encode() + content
    proof = base64.b64encode(hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{proof}"
    assert json.loads(content)["status"] == "firing"


async def test_who_takes_a_connection_and_never_answers_is_away(monkeypatch):
    """After its limit, and tried again: the second time it is asked anew."""
    monkeypatch.setattr(posting, "_PATIENCE", aiohttp.ClientTimeout(total=0.2))
    left = asyncio.Semaphore(0)

    async def silent(reader, writer):
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        left.release()

    async with await asyncio.start_server(silent, HOST, 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with pager(f"http://{HOST}:{port}") as send:
            for _ in range(2):
                with pytest.raises(AwayError, match="Timeout"):
                    await send()
                await left.acquire()
            server.close()  # a port that is closed is later, too
            with pytest.raises(AwayError):
                await send()
    assert left.locked(), "nobody else connected"


NO_HOST, MQTT = "desk..example", {"topic_prefix": "a", "discovery_prefix": ""}


@pytest.mark.parametrize(
    "target",
    [
        WebhookTarget("pager", url=f"http://{NO_HOST}", secret=SECRET),
        MqttTarget("home", broker=(NO_HOST, 1), **MQTT),
        MqttTarget("home", broker=(HOST, 1), cafile="none.pem", **MQTT),
    ],
)
async def test_what_cannot_be_reached_for_a_mistake_here_is_away(target):
    """A name that is none, a file that is just being written: it ends no other target."""
    with pytest.raises(AwayError):
        await target.send([Message(told(["hall"])[0][0], 0, 0)])
    await target.close()


@pytest.mark.parametrize(
    ("value", "level"),
    [
        ("hall", "hall"),
        ("a/b", "a%2Fb"),
        ("+", "%2B"),
        ("#", "%23"),
        ("50%", "50%25"),
        ("", "%"),
        ("\0\n", "%00%0A"),
        ("Küche 2", "Küche 2"),
        ("a\x85b", "a%C2%85b"),
        ("\ufffe", "%EF%BF%BE"),
    ],
)
def test_a_value_is_one_level_of_a_topic(value, level):
    """No value reaches into another's topic, and no two values share one."""
    assert escaped(value) == level


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_takes_the_keys_that_it_has(kind):
    """The file of a kind is found by its key, and its target takes what is written below it."""
    target = import_module(f"{notify.__name__}.{kind}").TARGET
    taken = signature(target).parameters
    keys = KINDS[kind].model_fields
    assert taken.keys() == {"name", *keys}
