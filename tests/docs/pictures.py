"""Pictures for the site, taken as it is built: pages of Tocsin in a browser, light and dark.

The board shows made-up records, as it would show them from Kafka; the plan is that of an example.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from accountant.units import Contribution, PrivacyUnit
from stream.model.alarms import Budget
from stream.model.boards import Board
from stream.model.feeds import Domain
from stream.model.lifecycles import Lifecycle
from stream.windows.calendars import LocalCalendar
from stream.windows.periods import Periods
from tests.support.boards import Scene, setup_of
from tests.support.chromium import Chromium, found
from tests.support.procs import ran
from tests.support.published import HOUR_MS
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

PATTERN = {
    "auditorium": 0b0000110001110011,
    "canteen": 0b1100001100001100,
    "lobby": 0b0010000000000000,
}
"""Rooms, and in which of sixteen hours each fires."""
_ROOMS = (*PATTERN, "archive", "reading room")
_FIRST = 490_000  # hours since 1970
_WIDTH = 960
_MOST_HIGH = 1_200


def can_take() -> bool:
    """Tell whether there is a browser."""
    return found() is not None


def take(names: Iterable[str], to: Path) -> None:
    """Write ``NAME-light.png`` and ``NAME-dark.png`` of every picture into a folder.

    Raises:
        KeyError: there is no such picture.
    """
    asyncio.run(_take({name: _PAGES[name] for name in names}, to))


async def _take(pages, to):
    with tempfile.TemporaryDirectory() as folder:
        async with Chromium() as browser:
            for name, make in pages.items():
                await browser.look(_WIDTH, _MOST_HIGH)
                await browser.open((await asyncio.to_thread(make, Path(folder))).as_uri())
                for shade in ("light", "dark"):
                    await browser.look(_WIDTH, _MOST_HIGH, prefers_color_scheme=shade)
                    await browser.picture(to / f"{name}-{shade}.png", _MOST_HIGH)


def _board(folder):
    """Write the board's page without its script, as there is no server to ask."""
    alarms = {"fire-code": Lifecycle(annotations={"summary": "{room} is too full since {since}"})}
    links = {"Grafana": "https://grafana.example.com/"}
    groups = {"fire-code": Domain(("room",), (_ROOMS,))}
    day = Periods(LocalCalendar(1, 1, "UTC"))
    budget = Budget(PrivacyUnit.USER, Fraction(4), day, Contribution())
    scene = Scene(setup_of(alarms, Board(links=links), budget, groups))
    for hour in range(16):
        rooms = [room for room, fires in PATTERN.items() if fires >> (15 - hour) & 1]
        scene.hour(_FIRST + hour, rooms, denied=hour in {5, 6}, alarm="fire-code")
        scene.hour(_FIRST + hour, alarm="night-watch")
    static = ROOT / "stream/kafka/board/static"
    html = scene.html((_FIRST + 16) * HOUR_MS).replace('<script src="board.js" defer></script>', "")
    path = folder / "board.html"
    path.write_text(html.replace('href="board.css"', f'href="{(static / "board.css").as_uri()}"'))
    return path


def _plan(folder):
    path, example = folder / "plan.html", ROOT / "examples/office"
    command = [sys.executable, "-m", "tocsin", "plan", "alarms.yaml", "--html", str(path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran(*command, cwd=example, env=env)
    return path


_PAGES = {"board": _board, "plan": _plan}
