"""Boards without a broker: windows as they are read, and the page that they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from msgspec.structs import replace

from stream.kafka.board.standing import Standings
from stream.kafka.board.view import Writer
from stream.kafka.public.pairing import Window
from stream.logs.settings import LogSettings
from stream.model.alarms import KafkaSettings
from stream.model.boards import Board
from stream.model.subscriptions import BoardSetup, Subscription
from tests.support.published import HOUR_MS, alarm_of, decision_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.decisions.records import AlarmRecord, DecisionRecord
    from stream.kafka.board.view import AlarmView
    from stream.model.alarms import Budget
    from stream.model.feeds import Domain
    from stream.model.lifecycles import Lifecycle


def setup_of(
    lifecycles: Mapping[str, Lifecycle] | None = None,
    board: Board | None = None,
    budget: Budget | None = None,
    groups: Mapping[str, Domain] | None = None,
) -> BoardSetup:
    """Return what a board runs on, of a broker that nobody asks."""
    kafka = KafkaSettings("127.0.0.1:1", "tocsin", "alarms", "decisions", "bell", "ledgers", {})
    subscription = Subscription(kafka, "UTC", lifecycles or {}, LogSettings())
    return BoardSetup(subscription, board or Board(), budget, groups or {})


def window_of(
    decision: DecisionRecord, alarms: Sequence[AlarmRecord] = (), *, whole: bool = True
) -> Window:
    """Return a window as it is read, published as it ends."""
    published_ms = (decision.sequence + 1) * HOUR_MS
    return Window(decision, published_ms, alarms=tuple(alarms), whole=whole)


@dataclass
class Scene:
    """A board that is told of windows, one an hour of each alarm."""

    setup: BoardSetup = field(default_factory=setup_of)

    def __post_init__(self) -> None:
        """Begin with nothing heard of."""
        self.standings = Standings(self.setup.subscription, self.setup.board.windows)

    def hour(
        self,
        number: int,
        rooms: Sequence[str] = (),
        *,
        denied: bool = False,
        unanswered: int = 0,
        alarm: str = "crowd",
    ) -> None:
        """Tell of a window."""
        alarms = [alarm_of(number, {"room": room}, alarm=alarm) for room in rooms]
        decision = decision_of(
            number, denied=denied, unanswered=unanswered, alarms=alarms, alarm=alarm
        )
        self.standings.take(window_of(decision, alarms))

    def step(self, number: int, rooms: Sequence[str] = (), *, hours: int = 3) -> None:
        """Tell of an hour as a step of a window of so many."""
        first = number // hours * hours
        opened, closes = decision_of(first), decision_of(first + hours - 1)
        here = decision_of(number)
        rings = [
            replace(
                alarm_of(first, {"room": room}),
                window_end=closes.window_end,
                step_start=here.window_start,
                step_end=here.window_end,
            )
            for room in rooms
        ]
        whole = {"whole_start": opened.window_start, "whole_end": closes.window_end}
        self.standings.take(window_of(replace(decision_of(number, alarms=rings), **whole), rings))

    def alarms(self, now_ms: int = 0) -> tuple[AlarmView, ...]:
        """Return what the page shows of every alarm."""
        return Writer(self.setup).alarms(self.standings, now_ms)

    def html(self, now_ms: int = 0, *, caught_up: bool = True, away: bool = False) -> str:
        """Return the page."""
        writer = Writer(self.setup)
        view = writer.view(self.standings, now_ms=now_ms, caught_up=caught_up, away=away)
        return writer.page(view)


class Page(HTMLParser):
    """A page as a browser takes it apart.

    Args:
        html: the page.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All of it, with single spaces."""
        return " ".join("".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        """Return the attributes of the elements of a name."""
        return [attributes for name, attributes in self.tags if name == tag]
