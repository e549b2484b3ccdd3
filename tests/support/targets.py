"""What alarms are delivered to, as real processes: Mosquitto, Alertmanager, and a web server."""

from __future__ import annotations

import json
import subprocess
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from deploy.kafka.runtime import HOST, free_port, port_answers
from tests.support.answers import asked
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ALERTMANAGER = """\
route: {receiver: inbox, group_by: [fingerprint], group_wait: 0s, group_interval: 1s}
receivers:
  - name: inbox
    webhook_configs: [{url: "URL", send_resolved: true}]
"""


@dataclass
class _Server:
    """One process on a port of its own, that may be killed and started again."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def command(self):
        """Return its command line; files are written first."""
        raise NotImplementedError

    def start(self):
        """Start it, and wait until it answers."""
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        wait_until(f"{self.folder.name} answers", lambda: port_answers(self.port))

    def stop(self):
        """Tell it to end, and wait until it has."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)

    def kill(self):
        """End it as a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE_S)


@dataclass
class Mosquitto(_Server):
    """An MQTT broker.

    Args:
        keeps: whether it keeps sessions on the disk when it is told to end; otherwise what was
            retained is gone as well.
    """

    keeps: bool = False

    def command(self) -> list[str]:
        """Return the command line."""
        settings = self.folder / "mosquitto.conf"
        lines = [f"listener {self.port} {HOST}", "allow_anonymous true"]
        if self.keeps:
            lines += ["persistence true", f"persistence_location {self.folder}/", "user root"]
            lines += ["max_queued_messages 0"]
        settings.write_text("\n".join([*lines, ""]))
        return ["/usr/sbin/mosquitto", "-c", str(settings)]


@dataclass
class AlertmanagerServer(_Server):
    """An Alertmanager that tells an inbox."""

    inbox: str = ""

    def command(self) -> list[str]:
        """Return the command line."""
        settings = self.folder / "alertmanager.yml"
        settings.write_text(_ALERTMANAGER.replace("URL", self.inbox))
        return [
            "prometheus-alertmanager",
            f"--config.file={settings}",
            f"--storage.path={self.folder / 'data'}",
            f"--web.listen-address={HOST}:{self.port}",
            "--cluster.listen-address=",
        ]

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        super().start()
        wait_until("Alertmanager is ready", self._ready)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self.port}"

    def firing(self) -> set[str]:
        """Return the rooms of what fires now."""
        alerts = json.loads(asked((HOST, self.port), "/api/v2/alerts?active=true").body)
        return {alert["labels"].get("room", "") for alert in alerts}

    def _ready(self):
        try:
            return asked((HOST, self.port), "/-/ready").status == 200
        except OSError:
            return False


class Inbox:
    """A web server that keeps what it is sent; a context manager.

    Args:
        answers: status by path; 200 for others.
    """

    def __init__(self, answers: Mapping[str, int] | None = None) -> None:
        self.answers = dict(answers or {})
        self.letters: list[tuple[str, dict[str, str], bytes]] = []
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                content = self.rfile.read(int(self.headers["Content-Length"]))
                inbox.letters.append((self.path, dict(self.headers.items()), content))
                self.send_response(inbox.answer(self.path, content))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                """Say nothing."""

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        """Begin to listen."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, _content: bytes) -> int:
        """Return the status that a letter is answered with."""
        return self.answers.get(path, 200)

    def at(self, path: str) -> list[dict[str, Any]]:
        """Return what was sent to a path, as JSON."""
        return [json.loads(content) for where, _, content in list(self.letters) if where == path]
