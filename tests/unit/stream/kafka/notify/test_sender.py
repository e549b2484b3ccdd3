"""Senders: in order, again and again, and what is never taken is said."""

from __future__ import annotations

import asyncio
from unittest.mock import AsyncMock, Mock

import pytest
from msgspec.structs import replace

from stream.kafka.notify import sender
from stream.kafka.notify.messages import AwayError, RefusedError, ends_ms
from stream.kafka.notify.sender import Sender
from stream.logs.lines import Line
from stream.windows.instants import from_iso_utc, iso_utc
from tests.support.notices import messages
from tests.support.published import HOUR_MS
from tests.support.said import Said

MESSAGES = {one.notice.sequence: one for one in messages({"room": "hall"})}
WINDOWS = 3


class Scene:
    """A sender that brings windows to a target, of which the second has nothing to say.

    It is the target, too: it answers as it is told to, and remembers what it took.

    Args:
        answers: of the target; it takes what comes after them.
        give_up_s: how long the sender waits for the target.
    """

    name, resend_s, together = "door", 0.01, False

    def __init__(self, answers, give_up_s=60):
        self.answers, self.taken, self.tried = list(answers), list[int](), set[int]()
        self.said = Said()
        self.refresh, self.close, self.remember = AsyncMock(), AsyncMock(), Mock()
        self.sender = Sender(self, give_up_s, self.said.log)
        for number in range(1, WINDOWS + 1):
            self.sender.put(number, [MESSAGES[number]] if number != 2 else [])

    def wants(self, _):
        """Take all."""
        return True

    async def send(self, sent):
        """Answer as told."""
        self.tried |= {one.notice.sequence for one in sent}
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        self.taken += [one.notice.sequence for one in sent]

    async def until(self, ready):
        """Bring them until something has happened."""
        task = asyncio.create_task(self.sender.run())
        while not ready():  # noqa: ASYNC110  # what is waited for sets no event
            await asyncio.sleep(0.001)
        task.cancel()

    def given_up(self):
        """Return what the log says of notices that were given up: whose, how many, which, why."""
        lines = [one for one in self.said.lines if one["event"] == U]
        return [(one["dependency"], one["alarms"], one["message"]) for one in lines]


@pytest.fixture(autouse=True)
def _hasty(monkeypatch):
    """No time passes between two tries."""
    monkeypatch.setattr(sender, "_FIRST_PAUSE_S", 0.001)


A, B, U = Line.UNREACHABLE, Line.BACK, Line.UNDELIVERED


@pytest.mark.parametrize(
    ("answers", "give_up_s", "taken", "given_up", "why", "said"),
    [
        # what is away is tried again, and every window arrives once
        ([AwayError(), AwayError(), None, AwayError()], 60, [1, 3], [], "", [A, B, A, B]),
        # what is refused is said, and holds nothing up
        ([RefusedError("answer 400")], 60, [3], [1], "answer 400", [U]),
        # a target that stays away is given up; then each further notice is tried once, and kept
        ([AwayError()] * 2, 0, [], [1, 3], "not taken for 0 s", [A, U, B, A, U, B]),
    ],
)
async def test_every_window_arrives_in_order_or_is_told_of(
    *, answers, give_up_s, taken, given_up, why, said
):
    """With what an operator should see of it."""
    scene = Scene(answers, give_up_s)
    await scene.until(lambda: scene.sender.delivered == WINDOWS and scene.refresh.await_count > 1)
    assert (scene.taken, scene.said.events) == (taken, said)
    assert scene.remember.call_count == (0 if give_up_s else 2)
    starts = [MESSAGES[number].notice.window_start for number in given_up]
    assert scene.given_up() == [("door", 1, f"{why}: crowd, window from {at}") for at in starts]


async def test_nothing_counts_as_delivered_before_it_is_taken():
    """While the target is away, the place of the first window it did not take stays."""
    scene = Scene([None, *[AwayError()] * 1_000])
    await scene.until(lambda: len(scene.answers) < 997)
    assert (scene.sender.delivered, scene.taken) == (2, [1])


async def test_of_too_many_the_oldest_are_given_up_without_an_attempt(monkeypatch):
    """An attempt may take its time-out. What fails once is tried again, however many wait."""
    monkeypatch.setattr(sender, "_MOST_WAITING", 0)
    once = Scene([AwayError()])
    assert once.sender.full
    await once.until(lambda: once.sender.delivered == WINDOWS)
    assert once.taken == [1, 3]
    monkeypatch.setattr(sender, "_LONGEST_PAUSE_S", 1e-6)
    scene = Scene([AwayError()] * 1_000)
    scene.refresh.side_effect = AwayError()
    scene.sender.put(4, [MESSAGES[4]])
    await scene.until(lambda: scene.sender.delivered == WINDOWS)
    assert 3 not in scene.tried
    assert not scene.sender.full
    assert all("more than 0 windows wait: crowd" in why for *_, why in scene.given_up())


@pytest.mark.parametrize(
    ("length_ms", "next_ms", "stands_ms"),
    [
        (HOUR_MS, HOUR_MS, HOUR_MS * 3 // 2),  # windows side by side
        (HOUR_MS, HOUR_MS // 4, HOUR_MS * 3 // 8),  # windows that overlap
        (HOUR_MS, 60 * HOUR_MS, HOUR_MS * 3 // 2),  # a weekend: it does not stand until Monday
        (3_000, 3_000, 63_000),  # never less than a minute of slack
        (24 * HOUR_MS, 24 * HOUR_MS, 26 * HOUR_MS),  # nor more than two hours
    ],
)
def test_an_alert_neither_lapses_nor_lingers(length_ms, next_ms, stands_ms):
    """It stands until the next window must have been heard of."""
    one = MESSAGES[0].notice
    start = from_iso_utc(one.window_start)
    changed = replace(
        one, window_end=iso_utc(start + length_ms), next_start=iso_utc(start + next_ms)
    )
    assert ends_ms(changed, 7) == 7 + stands_ms


async def test_a_target_with_nothing_to_say_again_has_not_answered():
    """What was unreachable before its turn is unreachable after it."""
    scene = Scene([AwayError()] * 2, give_up_s=0)
    scene.refresh.return_value = False
    await scene.until(lambda: scene.sender.delivered == WINDOWS and scene.refresh.await_count > 1)
    assert [one["event"] for one in scene.said.lines] == [A, U, U]
