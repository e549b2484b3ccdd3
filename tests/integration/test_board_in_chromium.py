"""The board in a real browser, over a real broker.

What can be told without one, ``tests/unit/stream/kafka/board`` tells; pictures of it are taken by
``tests/docs/pictures.py``.
"""

from __future__ import annotations

import asyncio
import signal
import time

import pytest

from stream.logs.lines import Line
from tests.docs.pictures import PATTERN
from tests.support.boarded import Boarded, Topics
from tests.support.chromium import Chromium
from tests.support.published import HOUR_MS

pytestmark = pytest.mark.integration

MORE = """\
budget: {privacy_unit: user, epsilon_max: "4", period: 1d}
alarms:
  fire-code:
    groups: {room: [auditorium, canteen, lobby, archive]}
    lifecycle: {of: [2, 3], annotations: {summary: "{room} is too full since {since}"}}
"""
AWAY = "Kafka does not answer"
HOSTILE = "<img src=x onerror='window.hacked=1'>"
WIDE, NARROW = (1280, 900), (390, 844)
VIEW = "document.getElementById('view')"


def written(broker):
    """Publish sixteen hours of two alarms, up to now, with denials and silence."""
    topics = Topics(broker, "pictures")
    first = time.time_ns() // 1_000_000 // HOUR_MS - 16
    for hour in range(16):
        rooms = [room for room, fires in PATTERN.items() if fires >> (15 - hour) & 1]
        topics.publish(first + hour, rooms, denied=hour in {5, 6}, alarm="fire-code")
        topics.publish(first + hour, [], alarm="night-watch")
    return topics


def test_the_board_in_a_browser(own_broker, tmp_path):
    """Keyboard, phone, light and dark, news; board and Kafka are killed, and the page goes on."""
    topics = written(own_broker)
    board = Boarded(tmp_path, topics.kafka, MORE)
    process = board.start()

    async def work():
        async with Chromium() as browser:
            await browser.look(*WIDE, prefers_color_scheme="light")
            await browser.open(board.url)
            await browser.until("document.title === '(1) Tocsin board'")
            await fits(browser)
            await keyboard(browser)
            await news(browser, topics)
            await asyncio.to_thread(process.tell, signal.SIGKILL)
            await browser.until("!document.getElementById('link').hidden")
            again = await asyncio.to_thread(board.start)
            await browser.until("document.getElementById('link').hidden")
            topics.publish(900_002, ["lab"], alarm="after")
            await browser.until(f"{VIEW}.textContent.includes('after')")

            await asyncio.to_thread(own_broker.kill)
            await browser.until(f"{VIEW}.textContent.includes('{AWAY}')")
            assert board.get("/readyz") == "not ready: kafka\n"
            assert await browser.value(f"{VIEW}.textContent.includes('after')")
            await asyncio.to_thread(own_broker.restart)
            topics.publish(900_003, ["attic"], alarm="after")
            await browser.until(f"{VIEW}.textContent.includes('attic')")
            await browser.until(f"!{VIEW}.textContent.includes('{AWAY}')")
            assert board.ready()
            await asyncio.to_thread(again.tell, signal.SIGTERM)
            assert await asyncio.to_thread(again.ended) == 0, again.text()
            for event in (Line.UNREACHABLE, Line.BACK):
                assert again.says(event, dependency="kafka")
            # While nobody listened there was nothing to connect to; nothing else was complained of.
            refused = "net::ERR_"
            assert [each for each in browser.complaints if refused not in each] == []

    try:
        asyncio.run(work())
    finally:
        board.stop()
        topics.close()


async def fits(browser):
    """No page is wider than its screen; dark is dark; who wants no motion gets none."""
    across = "document.documentElement.scrollWidth <= innerWidth"
    shade = "getComputedStyle(document.body).backgroundColor"
    shades = []
    for scheme in ("light", "dark"):
        for size in (WIDE, NARROW, (320, 600)):
            await browser.look(*size, prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
            assert await browser.value(across), (scheme, size)
        shades.append(await browser.value(shade))
    assert shades[0] != shades[1]
    await browser.value("document.querySelector('[data-mark]').classList.add('fresh')")
    moves = "getComputedStyle(document.querySelector('[data-mark]')).animationName"
    assert await browser.value(moves) == "none"
    await browser.look(*WIDE, prefers_reduced_motion="no-preference")
    assert await browser.value(moves) == "fresh"


async def keyboard(browser):
    """The way past the heading is first, then what can be opened; all of it without a mouse."""
    await browser.press("Tab")
    assert await browser.value("document.activeElement.className") == "skip"
    await browser.press("Enter")
    assert await browser.value("document.activeElement.id") == "view"
    await browser.press("Tab")
    assert await browser.value("document.activeElement.tagName") == "SUMMARY"
    await browser.press("Enter")
    assert await browser.value("document.querySelectorAll('details[open]').length") == 1


async def news(browser, topics):
    """An alarm is said aloud once, as words; what was open stays open, what had focus has it."""
    focused = await browser.value("document.activeElement.id")
    topics.publish(900_000, [HOSTILE], alarm="crowd")
    await browser.until("document.title === '(2) Tocsin board'")
    said = await browser.value("document.getElementById('news').textContent")
    assert said.startswith(f"Firing: crowd room {HOSTILE} since")
    assert "fire-code" not in said
    assert await browser.value("window.hacked === undefined && document.images.length === 0")
    assert await browser.value("document.activeElement.id") == focused
    assert await browser.value("document.querySelectorAll('details[open]').length") == 1
    topics.publish(900_001, [], alarm="crowd")
    await browser.until("document.title === '(1) Tocsin board'")
    assert await browser.value("document.getElementById('news').textContent") == said
