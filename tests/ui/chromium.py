"""A headless Chromium that tests drive over its DevTools protocol, and a page in it."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.servers import LOOK_SECONDS, Process, ServerFailedError, started
from tests.support.waiting import moment

Json = dict[str, Any]

SECONDS = 20.0
_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without these it looks for its makers' servers, and opens a window.
_QUIET = (
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--mute-audio",
    "--hide-scrollbars",
)


def found() -> str | None:
    """Return the path of a Chromium, None where the machine has none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab: it runs scripts, is typed into and looked at; `troubles` are errors that it met."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self.session: str | None = None
        self.troubles: list[str] = []
        self.asked: list[str] = []

    async def read(self) -> None:
        """Take what the browser says until it ends."""
        async for message in self._socket:
            told = json.loads(message.data)
            if (waiting := self._answers.pop(told.get("id"), None)) is not None:
                waiting.set_result(told)
            else:
                await self._take(told.get("method"), told.get("params", {}))

    async def _take(self, method: str | None, params: Json) -> None:
        match method:
            case "Runtime.exceptionThrown":
                self.troubles.append(json.dumps(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.troubles.append(params["entry"]["text"])
            case "Audits.issueAdded":
                self.troubles.append(json.dumps(params["issue"]))
            case "Page.javascriptDialogOpening":
                self.troubles.append(f"dialog: {params['message']}")
            case "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])

    async def do(self, method: str, **params: Any) -> Json:
        """Send a command and return its result."""
        identity = next(self._ids)
        waiting = asyncio.get_running_loop().create_future()
        self._answers[identity] = waiting
        message = {"id": identity, "method": method, "params": params}
        await self._socket.send_json(
            message | ({"sessionId": self.session} if self.session else {})
        )
        async with asyncio.timeout(SECONDS):
            told = await waiting
        assert "error" not in told, f"{method}: {told['error']}"
        result: Json = told["result"]
        return result

    async def go(self, url: str) -> None:
        """Open a URL."""
        await self.do("Page.navigate", url=url)
        await self.holds("document.readyState === 'complete'")

    async def run(self, script: str) -> Any:
        """Return the value of an expression."""
        told = await self.do(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def holds(self, script: str) -> None:
        """Wait until an expression is true; fail with what the page shows."""
        loop = asyncio.get_running_loop()
        end = loop.time() + SECONDS
        while not await self.run(f"Boolean({script})"):
            if loop.time() > end:
                raise AssertionError(f"not so: {script}\n{await self.text()}\n{self.troubles}")
            await moment()

    async def text(self, selector: str = "body") -> str:
        """Return the text that one sees."""
        return str(await self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    async def resize(self, width: int, height: int, scheme: str = "light") -> None:
        """Set the size of the window, and whether it is dark."""
        await self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        await self.do("Emulation.setEmulatedMedia", features=[feature])

    async def type(self, text: str) -> None:
        """Type into what has the focus."""
        await self.do("Input.insertText", text=text)

    async def press(self, key: str, code: int) -> None:
        """Press and release a key."""
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        named = {"key": key, "code": key.strip() or "Space", "windowsVirtualKeyCode": code}
        await self.do("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        await self.do("Input.dispatchKeyEvent", type="keyUp", **named)

    async def picture(self, path: Path) -> bytes:
        """Write what one sees as a PNG, and return it."""
        told = await self.do("Page.captureScreenshot", format="png")
        image = base64.b64decode(told["data"])
        await asyncio.to_thread(_write, path, image)
        return image


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@contextmanager
def browser() -> Iterator[str]:
    """Start a Chromium for the block and give the URL by which it is driven."""
    path = found()
    if path is None:
        raise ServerFailedError("There is no Chromium here.")
    # Its sandbox needs a user that is not root.
    root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory(prefix="vmcp-ui-", ignore_cleanup_errors=True) as profile:
        argv = [path, *_QUIET, *root, "--remote-debugging-port=0", f"--user-data-dir={profile}"]
        with started("chromium", [*argv, "about:blank"]) as process:
            port, place = _place(process, Path(profile) / "DevToolsActivePort")
            yield f"ws://127.0.0.1:{port}{place}"


def _place(process: Process, file: Path) -> list[str]:
    """Wait for the file in which a Chromium says where it listens."""
    deadline = time.monotonic() + SECONDS
    while not (file.exists() and len(told := file.read_text().split()) == 2):
        process.check_alive()
        if time.monotonic() > deadline:
            raise process.failed(f"did not listen within {SECONDS:g} s")
        with suppress(subprocess.TimeoutExpired):
            process.popen.wait(LOOK_SECONDS)
    return told


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Page]:
    """Give a blank page of a browser that shares nothing with other pages."""
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(url, max_msg_size=0) as socket,
        asyncio.TaskGroup() as tasks,
    ):
        page = Page(socket)
        reading = tasks.create_task(page.read())
        context = (await page.do("Target.createBrowserContext"))["browserContextId"]
        target = await page.do("Target.createTarget", url="about:blank", browserContextId=context)
        attached = await page.do("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits", "Accessibility"):
            await page.do(f"{domain}.enable")
        yield page
        page.session = None
        await page.do("Target.disposeBrowserContext", browserContextId=context)
        reading.cancel()
