"""One real Kafka broker on loopback, without Docker: for tests and for ``make kafka``.

Use::

    with Broker() as broker:                       # about three seconds
        broker.create_topic("building.badges", partitions=4)
        client = AIOKafkaProducer(bootstrap_servers=broker.bootstrap)

    broker = Broker(version="4.3.1", settings={"log.retention.ms": "60000"}).start()
    broker.kill()       # SIGKILL: the broker is gone, its log and its ports are kept
    broker.restart()    # the same cluster id, log and address again
    broker.detach()     # it goes on when this process ends
    broker.pause()      # SIGSTOP: connections hang; resume() ends it
    broker.stop()       # orderly; removes the data unless a directory was given

From a shell, in the foreground until Ctrl-C::

    python -m deploy.kafka.broker [--version 3.9.1] [--port 9092] [--data DIR]

The broker is KRaft, one node, both roles, listening on 127.0.0.1 only. Its jars come from Maven
Central by ``pom.xml`` beside this file, once per version, into ``.cache/kafka-<version>/libs``; the
first one leaves its loaded classes beside them, from which later ones start sooner. If Java or
Maven is missing and a Docker engine answers, the image ``apache/kafka:<version>`` runs instead,
behind the same methods. Every broker dies with the process that started it, even when that process
is killed: a watchdog holds the end of a pipe and ends the broker when the pipe closes.
"""  # noqa: INP001  # a script beside its pom, also imported by the tests

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from deploy.kafka.runtime import (
    HOST,
    BrokerError,
    class_archive,
    default_version,
    docker,
    fetch_jars,
    free_port,
    java,
    missing_for_java,
    port_answers,
    require_java_or_docker,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Broker", "BrokerError"]

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0
ARCHIVE_TIMEOUT_S = 300.0
START_ATTEMPTS = 3

_JAVA = ("-Xms256m", "-Xmx1G", "-XX:+UseSerialGC", "-Djava.awt.headless=true", "-Xshare:auto")
# The client compiler pays off after minutes; a test's broker lives for seconds.
_JAVA_FAST_START = ("-XX:TieredStopAtLevel=1",)
_LOGGING = """\
log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={file}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d %p %m (%c)%n
"""


class Broker:
    """One broker process, with its own cluster id, data directory and two loopback ports.

    Args:
        version: Kafka's version, ``3.9.1`` or any later one that Maven Central has; the variable
            ``TOCSIN_KAFKA_VERSION`` or the pom's version where None.
        port: the port clients connect to; a free one where 0.
        directory: where configuration, server.log and data lie; a temporary directory, removed by
            ``stop``, where None. A directory that holds a stopped broker continues it.
        settings: broker settings that add to or replace the default ones.
        fast_start: start sooner and run slower; benchmarks pass False.
    """

    def __init__(
        self,
        *,
        version: str | None = None,
        port: int = 0,
        directory: Path | None = None,
        settings: Mapping[str, str] | None = None,
        fast_start: bool = True,
    ) -> None:
        self.version = version or default_version()
        self.directory = directory or Path(tempfile.mkdtemp(prefix="tocsin-kafka-"))
        self.cluster_id = ""
        self._temporary = directory is None
        self._fixed_port = port
        self._port = port
        self._controller_port = 0
        self._extra = dict(settings or {})
        self._fast_start = fast_start
        self._leaves: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._container = ""

    @property
    def bootstrap(self) -> str:
        """The address for ``bootstrap_servers``; it survives ``kill`` and ``restart``."""
        return f"{HOST}:{self._port}"

    @property
    def pid(self) -> int | None:
        """The process id of the running broker, None while it is down."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def log_file(self) -> Path:
        """What the broker printed."""
        return self.directory / "server.log"

    def start(self) -> Self:
        """Format the storage if it is new, start, and wait until the broker answers.

        Raises:
            BrokerError: Java, Maven and Docker are missing, or the broker ended or stayed silent;
                the text holds the end of its log.
        """
        require_java_or_docker()
        if not missing_for_java():
            fetch_jars(self.version)
        continued = self._identity_file.is_file()
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                self._start_once()
                break
            except BrokerError:
                self._end(signal.SIGKILL)
                if attempt == START_ATTEMPTS or self._fixed_port or continued:
                    raise
                # Another process may have taken a port between our choice and the broker's bind.
                self._port = self._controller_port = 0
                self._identity_file.unlink(missing_ok=True)
                shutil.rmtree(self.directory / "data", ignore_errors=True)
        return self

    def stop(self) -> None:
        """End the broker in order (SIGTERM, then SIGKILL) and remove a temporary directory."""
        self._end(signal.SIGTERM)
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def kill(self) -> None:
        """End the broker at once with SIGKILL; data and address stay for ``restart``."""
        self._end(signal.SIGKILL)

    def restart(self) -> Self:
        """Start again on the same data and ports, after an orderly end if it still runs."""
        self._end(signal.SIGTERM)
        self._start_once()
        return self

    def detach(self) -> int:
        """Let the broker outlive this process, and return its id: it ends by a signal alone."""
        if self.pid is None:
            raise BrokerError("the broker is not running")
        self._dismiss_watchdog()
        return self.pid

    def pause(self) -> None:
        """Stop the process from running without ending it: clients see a broker that hangs."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused broker run again."""
        self._signal(signal.SIGCONT)

    @contextlib.contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        """An admin client that is closed at the end of the block."""
        client = KafkaAdminClient(
            bootstrap_servers=self.bootstrap, bootstrap_timeout_ms=10_000, **self._login()
        )
        try:
            yield client
        finally:
            client.close()

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic and wait until each of its partitions has a leader.

        Args:
            name: the topic's name.
            partitions: how many.
            config: topic settings; ``message.timestamp.type`` is LogAppendTime unless it is here.
        """
        configs = {"message.timestamp.type": "LogAppendTime", **(config or {})}
        topic = {"num_partitions": partitions, "replication_factor": 1, "configs": configs}
        with self.admin() as client:
            client.create_topics({name: topic})
            client.wait_for_topics([name], timeout_ms=20_000)

    def delete_topic(self, name: str, *, timeout_s: float = 20.0) -> None:
        """Delete a topic and wait until the broker no longer lists it."""
        deadline = time.monotonic() + timeout_s
        with self.admin() as client:
            client.delete_topics([name])
            while name in client.list_topics():
                if time.monotonic() > deadline:
                    raise BrokerError(f"topic {name} is still listed after {timeout_s:.0f} s")
                time.sleep(0.05)

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def _start_once(self) -> None:
        if self.pid is not None:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        self._write_settings()
        launch = self._docker_command() if missing_for_java() else self._java_command()
        output = (self.directory / "stdout.log").open("ab")
        with output:
            self._process = subprocess.Popen(  # noqa: S603  # our own command line
                launch,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                start_new_session=True,  # Ctrl-C must reach us, and we stop the broker in order
            )
        self._watchdog = _watch(self._process.pid, self._container)
        self._wait()

    def _java_command(self) -> list[str]:
        libs = fetch_jars(self.version)
        launch = [java(), *_JAVA, *(_JAVA_FAST_START if self._fast_start else ())]
        leaving = [f"-XX:ArchiveClassesAtExit={self._leaves}"] if self._leaves else []
        archive = None if leaving else class_archive(libs, self._leave_classes)
        if archive is not None:
            launch.append(f"-XX:SharedArchiveFile={archive}")
        logging = self.directory / "log4j.properties"
        logging.write_text(_LOGGING.format(file=self.log_file), encoding="utf-8")
        launch += [f"-Dlog4j.configuration=file:{logging}", "-cp", f"{libs}/*"]
        if not self._has_data():
            command = [*launch, "kafka.tools.StorageTool", "format", "-t", self.cluster_id]
            command += ["-c", str(self._settings_file)]
            done = subprocess.run(  # noqa: S603  # our own command line
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise BrokerError(f"kafka storage format failed:\n{done.stdout}{done.stderr}")
        return [*launch, *leaving, "kafka.Kafka", str(self._settings_file)]

    def _leave_classes(self, path: Path) -> bool:
        """Run another broker of this version that leaves its loaded classes in a file."""
        other = Broker(version=self.version)
        other._leaves = path
        try:
            with other:
                other.create_topic("classes")
                process = other._process
                other._end(signal.SIGTERM, ARCHIVE_TIMEOUT_S)
        except (BrokerError, KafkaError):
            return False
        killed = process is None or process.returncode == -signal.SIGKILL
        return path.is_file() and not killed

    def _docker_command(self) -> list[str]:
        self._container = f"tocsin-kafka-{uuid.uuid4().hex[:12]}"
        tools = "/opt/kafka/bin"
        script = f"exec {tools}/kafka-server-start.sh {self._settings_file}"
        if not self._has_data():
            form = f"{tools}/kafka-storage.sh format -t {self.cluster_id} -c {self._settings_file}"
            script = f"{form} && {script}"
        # The host's network keeps the loopback listeners; the mount keeps the data through kill().
        run = ["docker", "run", "--rm", "--name", self._container, "--network", "host"]
        run += ["--user", f"{os.getuid()}:{os.getgid()}", "-e", "KAFKA_HEAP_OPTS=-Xmx1G"]
        run += ["-e", f"LOG_DIR={self.directory}", "-v", f"{self.directory}:{self.directory}"]
        return [*run, "--entrypoint", "sh", f"apache/kafka:{self.version}", "-c", script]

    @property
    def _identity_file(self) -> Path:
        return self.directory / "identity.json"

    @property
    def _settings_file(self) -> Path:
        return self.directory / "server.properties"

    def _has_data(self) -> bool:
        return (self.directory / "data" / "meta.properties").is_file()

    def _write_settings(self) -> None:
        if self._identity_file.is_file():
            known = json.loads(self._identity_file.read_text(encoding="utf-8"))
            self.cluster_id = known["cluster_id"]
            self._port = self._port or known["port"]
            self._controller_port = self._controller_port or known["controller_port"]
        self.cluster_id = self.cluster_id or _new_cluster_id()
        self._port = self._port or free_port()
        while self._controller_port in {0, self._port}:
            self._controller_port = free_port()
        known = {"cluster_id": self.cluster_id, "port": self._port}
        known["controller_port"] = self._controller_port
        self._identity_file.write_text(json.dumps(known), encoding="utf-8")
        lines = (f"{key}={value}\n" for key, value in self._settings().items())
        self._settings_file.write_text("".join(lines), encoding="utf-8")

    def _login(self) -> dict[str, Any]:
        """Return what a client has to say to be let in."""
        return {}

    def _settings(self) -> dict[str, str]:
        client, controller = f"{HOST}:{self._port}", f"{HOST}:{self._controller_port}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{client},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{client}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.directory / "data"),
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",
            # A busy machine must not lose its broker to a heartbeat that came late.
            "broker.session.timeout.ms": "30000",
            "broker.heartbeat.interval.ms": "500",
            # Twice a second a record that says nothing, for others to follow: there are none.
            "metadata.max.idle.interval.ms": "0",
            "num.network.threads": "2",
            "num.io.threads": "4",
            "background.threads": "2",
            "log.cleaner.dedupe.buffer.size": "4194304",
            "log.retention.check.interval.ms": "300000",
            **self._extra,
        }

    def _wait(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.pid is None:
                raise BrokerError(f"the broker ended while it started:\n{self._tail()}")
            if port_answers(self._port):
                # kafka-python backs off for long after a refusal, so ask once the port is open.
                with contextlib.suppress(KafkaError), self.admin() as client:
                    if client.describe_cluster()["brokers"]:
                        return
            time.sleep(0.05)
        raise BrokerError(f"the broker did not answer in {START_TIMEOUT_S:.0f} s:\n{self._tail()}")

    def _tail(self) -> str:
        texts = []
        for path in (self.directory / "stdout.log", self.log_file):
            if path.is_file():
                texts += path.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
        return "\n".join(texts)

    def _signal(self, number: signal.Signals) -> None:
        if self.pid is None:
            raise BrokerError("the broker is not running")
        if self._container:
            name = {signal.SIGSTOP: "pause", signal.SIGCONT: "unpause"}[number]
            docker(name, self._container)
        else:
            os.kill(self.pid, number)

    def _end(self, number: signal.Signals, timeout_s: float = STOP_TIMEOUT_S) -> None:
        process, self._process = self._process, None
        # First, so that it never acts on a process id that has been reaped and given away.
        self._dismiss_watchdog()
        if process is None:
            return
        if self._container:
            docker("stop" if number is signal.SIGTERM else "kill", self._container)
        elif process.poll() is None:
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)  # a paused one would not hear SIGTERM
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _dismiss_watchdog(self) -> None:
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is not None:
            watchdog.kill()
            watchdog.wait()
            if watchdog.stdin is not None:
                watchdog.stdin.close()


def _watch(pid: int, container: str) -> subprocess.Popen[bytes]:
    """Start a shell that kills the broker when our end of its standard input closes."""
    kill = f"docker kill {container}" if container else f"kill -9 {pid}"
    return subprocess.Popen(  # noqa: S603  # our own command line
        ["/bin/sh", "-c", f"read -r _; {kill}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _new_cluster_id() -> str:
    while True:
        text = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):  # it would read as an option of the storage tool
            return text


def _arguments(argv: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description="A local Kafka broker to play with, on loopback.")
    parser.add_argument("--version", help="Kafka's version (default: the pom's)")
    parser.add_argument("--port", type=int, default=9092, help="port for clients; 0: a free one")
    parser.add_argument("--data", type=Path, help="keep the data here (default: temporary)")
    return parser.parse_args(argv)


def main() -> int:
    """Run a broker in the foreground until Ctrl-C or SIGTERM."""
    options = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    data = options.data.resolve() if options.data else None
    broker = Broker(version=options.version, port=options.port, directory=data, fast_start=False)
    try:
        with broker:
            print(f"Kafka {broker.version} at {broker.bootstrap} (Ctrl-C ends it)", flush=True)  # noqa: T201
            print(f"  log   {broker.log_file}", flush=True)  # noqa: T201
            while broker.pid is not None:
                time.sleep(0.5)
            print("the broker ended by itself; read its log", file=sys.stderr)  # noqa: T201
            return 1
    except KeyboardInterrupt:
        return 0
    except BrokerError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1


if __name__ == "__main__":
    sys.exit(main())
