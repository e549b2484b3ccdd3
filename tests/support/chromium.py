"""Chromium without a window, told what to do by its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import aiohttp

from tests.support.waiting import PATIENCE_S

_PAUSE_S = 0.1
_KEYS = {"Tab": (9, ""), "Enter": (13, "\r")}


def found() -> str | None:
    """Return the command of the browser; ``None`` where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Chromium:
    """One page in a browser of its own; an asynchronous context manager.

    What the console and the network complain of is kept in ``complaints``.
    """

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self._folder = Path(tempfile.mkdtemp(prefix="chromium-"))
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0

    async def __aenter__(self) -> Self:
        """Start it, with an empty page."""
        command = found()
        if command is None:
            raise FileNotFoundError("chromium is not installed: apt-get install chromium")
        options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
        quiet = ("--no-first-run", "--disable-extensions", "--disable-background-networking")
        place = (f"--user-data-dir={self._folder}", "--remote-debugging-port=0", "about:blank")
        nowhere = asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(
            command, *options, *quiet, *place, stdout=nowhere, stderr=nowhere
        )
        self._session = aiohttp.ClientSession()
        await self._connect()
        self._listening = asyncio.create_task(self._listen())
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.tell(f"{domain}.enable")
        return self

    async def __aexit__(self, *_: object) -> None:
        """End it."""
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening
        await self._socket.close()
        await self._session.close()
        self._process.kill()
        await self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def tell(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return what it answers."""
        self._number += 1
        number = self._number
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE_S):
            return await answer

    async def open(self, url: str) -> None:
        """Go to a page and wait until it is loaded."""
        await self.tell("Page.navigate", url=url)
        there = f"location.href === {json.dumps(url)}"
        await self.until(f"{there} && document.readyState === 'complete'")

    async def value(self, expression: str) -> Any:
        """Return what an expression is on the page."""
        answer = await self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until an expression is true on the page."""
        async with asyncio.timeout(PATIENCE_S):
            while not await self.value(expression):  # noqa: ASYNC110  # nothing tells when it is
                await asyncio.sleep(_PAUSE_S)

    async def press(self, key: str) -> None:
        """Press a key and let it go."""
        number, text = _KEYS[key]
        told = {"key": key, "code": key, "windowsVirtualKeyCode": number}
        await self.tell("Input.dispatchKeyEvent", type="keyDown", **told, text=text)
        await self.tell("Input.dispatchKeyEvent", type="keyUp", **told)

    async def look(self, width: int, height: int, **media: str) -> None:
        """Be a screen of a size, whose reader prefers what media features say."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        await self.tell("Emulation.setDeviceMetricsOverride", **size)
        features = [
            {"name": name.replace("_", "-"), "value": value} for name, value in media.items()
        ]
        await self.tell("Emulation.setEmulatedMedia", features=features)

    async def picture(self, path: Path, most: int) -> None:
        """Write what is seen of the page, all its length or so many pixels of it, as PNG."""
        width, height = await self.value(
            "[innerWidth, document.documentElement.getBoundingClientRect().height]"
        )
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, most), "scale": 1}
        answer = await self.tell(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip
        )
        await asyncio.to_thread(path.write_bytes, base64.b64decode(answer["data"]))

    async def _connect(self):
        async with asyncio.timeout(PATIENCE_S):
            while not (port := self._port()):  # noqa: ASYNC110  # another process writes it
                await asyncio.sleep(_PAUSE_S)
        url = f"http://127.0.0.1:{port}/json"
        async with self._session.get(url) as answer:
            pages = [one for one in await answer.json() if one["type"] == "page"]
        self._socket = await self._session.ws_connect(
            pages[0]["webSocketDebuggerUrl"], max_msg_size=0
        )

    def _port(self):
        """Return where it listens; empty until it does."""
        try:
            text = (self._folder / "DevToolsActivePort").read_text()
        except FileNotFoundError:
            return ""
        return text.partition("\n")[0]

    async def _listen(self):
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                self._answers.pop(said["id"]).set_result(said.get("result", {}))
            elif said["method"] == "Log.entryAdded":
                entry = said["params"]["entry"]
                self.complaints.append(f"{entry['level']}: {entry['text']}")
            elif said["method"] == "Runtime.exceptionThrown":
                self.complaints.append(str(said["params"]["exceptionDetails"]["text"]))
