"""Couriers: in order, again and again, and what is never taken is kept."""

from __future__ import annotations

import asyncio
import io
import json
import stat
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from accountant.errors import DependencyError
from stream.decisions.lifecycle import State, step
from stream.kafka.notify.messages import AwayError, DeadLetters, Message, RefusedError, ends_ms
from stream.kafka.notify.sender import Sender
from stream.logs.lines import Line, Log
from stream.model.lifecycles import EVERY_WINDOW
from stream.windows.instants import from_iso_utc, iso_utc
from tests.support.published import HOUR_MS, alarm_of, decision_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from stream.decisions.lifecycle import Notice


def notice(number: int) -> Notice:
    """Return a notice of a window."""
    alarm = alarm_of(number, {"room": "hall"})
    _, (found,) = step(State(), decision_of(number, alarms=[alarm]), [alarm], EVERY_WINDOW)
    return found


def message(number: int) -> Message:
    """Return the message of a window."""
    return Message(notice(number), 0, HOUR_MS)


class Door:
    """A target that answers as it is told to, and remembers what it took."""

    name, resend_s, together = "door", 0.01, False

    def __init__(self, answers: Sequence[Exception | None] = ()) -> None:
        self.answers, self.taken, self.refreshed = list(answers), [], 0

    def wants(self, _: Notice) -> bool:
        """Take all."""
        return True

    def remember(self, message: Message) -> None:
        """Note it, apart from what was sent."""
        self.taken.append(-message.notice.sequence)

    async def send(self, messages: Sequence[Message]) -> None:
        """Answer as told."""
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        self.taken += [one.notice.sequence for one in messages]

    async def refresh(self) -> None:
        """Count."""
        self.refreshed += 1

    async def close(self) -> None:
        """Close nothing."""


class Brought:
    """A sender that brings windows to a door, of which the second has nothing to say.

    Args:
        door: the target.
        folder: of its dead letters.
        windows: how many.
        give_up_s: how long it waits for the target.
    """

    def __init__(self, door: Door, folder: Path, windows: int, give_up_s: float = 60) -> None:
        self.file, self.said, self.door, self.windows = (
            folder / "letters",
            io.StringIO(),
            door,
            windows,
        )
        letters, log = DeadLetters(self.file), Log(self.said)
        self.sender = Sender(door, letters, give_up_s, log, first_pause_s=0.001)
        for number in range(1, windows + 1):
            self.sender.put(number, [message(number)] if number != 2 else [])

    async def until(self, ready: Callable[[], bool]) -> None:
        """Bring them until something has happened."""
        task = asyncio.create_task(self.sender.run())
        while not ready():  # noqa: ASYNC110  # what is waited for sets no event
            await asyncio.sleep(0.001)
        task.cancel()

    async def letters(self) -> list[dict[str, Any]]:
        """Bring all; return the dead letters."""
        await self.until(lambda: self.sender.delivered == self.windows and self.door.refreshed > 1)
        if not self.file.exists():
            return []
        assert stat.S_IMODE(self.file.stat().st_mode) == 0o600
        return [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]


async def test_what_is_away_is_tried_again_in_order(tmp_path: Path) -> None:
    """Three failures, and every window arrives once, in its order."""
    door = Door([AwayError("a"), AwayError("b"), None, AwayError("c")])
    brought = Brought(door, tmp_path, 4)
    assert (await brought.letters(), door.taken) == ([], [1, 3, 4])
    assert Line.UNREACHABLE in brought.said.getvalue()
    assert Line.BACK in brought.said.getvalue()


async def test_what_is_refused_is_kept_and_holds_nothing_up(tmp_path: Path) -> None:
    """One letter, with the notice as it was to be sent; the next ones arrive."""
    door = Door([RefusedError("answer 400")])
    brought = Brought(door, tmp_path, 3)
    (letter,) = await brought.letters()
    assert door.taken == [3]
    assert (letter["target"], letter["why"]) == ("door", "answer 400")
    assert letter["notice"]["notice_id"] == notice(1).notice_id
    assert Line.UNDELIVERED in brought.said.getvalue()


async def test_a_target_that_stays_away_is_given_up(tmp_path: Path) -> None:
    """After the time one is ready to wait, each further notice is tried once."""
    door = Door([AwayError("gone")] * 2)
    letters = await Brought(door, tmp_path, 3, give_up_s=0).letters()
    assert [letter["notice"]["sequence"] for letter in letters] == [1, 3]
    assert door.taken == []


async def test_a_disk_that_takes_no_letter_ends_it(tmp_path: Path) -> None:
    """What would be lost is not committed: the process says so and ends."""
    letters = DeadLetters(tmp_path / "no" / "folder")
    with pytest.raises(DependencyError, match="cannot be written"):
        await letters.keep("door", message(1), "answer 400")


async def test_nothing_counts_as_delivered_before_it_is_taken(tmp_path: Path) -> None:
    """While the target is away, the place of the first window it did not take stays."""
    door = Door([None, *[AwayError("gone")] * 1_000])
    brought = Brought(door, tmp_path, 4)
    await brought.until(lambda: len(door.answers) < 997)
    assert (brought.sender.delivered, door.taken) == (2, [1])


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
def test_an_alert_neither_lapses_nor_lingers(length_ms: int, next_ms: int, stands_ms: int) -> None:
    """It stands until the next window must have been heard of."""
    one = notice(5)
    start = from_iso_utc(one.window_start)
    changed = replace(
        one, window_end=iso_utc(start + length_ms), next_start=iso_utc(start + next_ms)
    )
    assert ends_ms(changed, 7) == 7 + stands_ms
