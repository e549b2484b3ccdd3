"""What ``make up`` makes and ``make down`` removes, looked at without starting any of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import runpy
import shutil
import socket
import subprocess
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest
from cryptography import x509

from deploy.kafka.runtime import HOST, free_port
from deploy.up import composed, native
from deploy.up.__main__ import main
from deploy.up.certificates import make_certificates
from deploy.up.places import choose_ports, is_stack
from deploy.up.processes import Processes, StartError
from deploy.up.roles import furnish
from tests.support.procs import ran
from tests.support.tree import ROOT, yaml_of

if TYPE_CHECKING:
    from pathlib import Path


ENGINE = """\
#!/bin/sh
echo "$(basename "$0") $*" >>{told}
exit {code}
"""

PODMAN = """\
#!/bin/sh
echo "podman $*" >>{told}
case $1 in
    ps) echo it ;;
    wait) echo {code} ;;
    inspect) echo running ;;
    healthcheck) test "$(grep -c 'podman healthcheck' {told})" -gt {sick_for} ;;
esac
"""
PODMAN_COMPOSE = """\
#!/bin/sh
echo "podman-compose $*" >>{told}
case " $* " in
    *' --version '*) echo podman-compose version {version} ;;
    *' config '*) echo '{config}' ;;
esac
echo "${{COMPOSE_FILE-}}" >>{files}
"""
CONDITIONS = {
    "worker": {"depends_on": {"rights": {"condition": "service_completed_successfully"}}},
    "rights": {"depends_on": {"broker": {"condition": "service_healthy"}}},
    "broker": {},
    "custodian": {"profiles": ["custodian"]},
}
"""Of a file's services: not in the order that they start in."""


@dataclass(frozen=True)
class Engines:
    """A folder in front of all others on PATH, and the engines that are put there."""

    folder: Path

    @property
    def told(self):
        """Where each writes what it is called with."""
        return self.folder / "told"

    def put(self, name, text, **given):
        """Write one."""
        path = self.folder / name
        path.write_text(text.format(told=self.told, **given))
        path.chmod(0o755)

    def podman(self, *, sick_for, code):
        """Write one whose services are healthy after so many questions, and end with a code."""
        self.put("podman", PODMAN, sick_for=sick_for, code=code)
        self.podman_compose("1.6.0", CONDITIONS)

    def podman_compose(self, version, services):
        """Write one that tells its version, its file and what it was called with."""
        config, files = json.dumps({"services": services}), self.folder / "files"
        self.put("podman-compose", PODMAN_COMPOSE, version=version, config=config, files=files)


@pytest.fixture
def engines(tmp_path, monkeypatch):
    """Engines of the test's own; podman's conditions are looked at again at once.

    Secrets are made in a folder of the test's: those of a checkout may be in use.
    """
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy" / "secrets.sh", tmp_path / "deploy")
    monkeypatch.setattr("deploy.up.composed._ROOT", tmp_path)
    monkeypatch.setattr("deploy.up.podman._EVERY_S", 0.0)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Engines(tmp_path)


@pytest.fixture
def places(tmp_path):
    """The places of a stack, with its passwords and certificates and nothing that runs."""
    found = choose_ports(tmp_path / "up", 0)
    ran("sh", ROOT / "deploy" / "secrets.sh", found.secrets)
    make_certificates(found.certificates.folder)
    return found


def test_what_was_not_made_by_it_is_not_removed(tmp_path, capsys):
    """Somebody's folder stays as it is; where there is none, there is nothing to do."""
    (tmp_path / "letters").write_text("dear")
    assert main(["down", "--folder", str(tmp_path)]) == 1
    assert "was not made by make up" in capsys.readouterr().err
    assert (tmp_path / "letters").exists()
    assert main(["down", "--folder", str(tmp_path / "none")]) == 0


def test_a_process_with_an_id_that_was_given_away_is_somebody_elses(tmp_path):
    """The moment it started at tells them apart: it runs on, while our own are ended."""
    processes = Processes(tmp_path / "run")
    ours = processes.start("ours", ["sleep", "600"], where=tmp_path)
    with subprocess.Popen(["sleep", "600"]) as theirs:
        (tmp_path / "run" / "1-gone.pid").write_text(f"{theirs.pid} 1\n")
        assert processes.all() == {"ours": ours}
        for name in ("ours", "gone"):
            processes.end(name)
        assert processes.all() == {}
        assert theirs.poll() is None
        theirs.kill()


def test_one_that_does_not_hear_is_ended_at_once(tmp_path, monkeypatch):
    """SIGTERM, then SIGKILL; what could not be started is shown with the end of its log."""
    monkeypatch.setattr("deploy.up.processes._END_S", 0.2)
    processes = Processes(tmp_path / "run")
    deaf = ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.05; done"]
    processes.start("deaf", deaf, where=tmp_path)
    processes.wait("deaf", lambda: "deaf" in processes.log("deaf").read_text())
    processes.end("deaf")
    assert processes.all() == {}
    processes.start("broken", ["sh", "-c", "echo no such thing; exit 1"], where=tmp_path)
    with pytest.raises(StartError, match="no such thing"):
        processes.wait("broken", lambda: False)


def test_ports_that_are_taken_are_named(tmp_path):
    """They follow one another; nothing is made where one of them is somebody else's."""
    with socket.socket() as other:
        other.bind((HOST, 0))
        taken = other.getsockname()[1]
        with pytest.raises(StartError, match=rf"127\.0\.0\.1:{taken}.*\n.*PORTS="):
            choose_ports(tmp_path / "up", taken)
    assert not (tmp_path / "up").exists()
    with pytest.raises(StartError, match="write one from"):
        choose_ports(tmp_path / "up", 70_000)
    ports = _somewhere(tmp_path / "up").ports
    assert sorted(ports.values()) == list(range(min(ports.values()), max(ports.values()) + 1))
    assert is_stack(tmp_path / "up")
    with pytest.raises(StartError, match="make down"):
        native.up(tmp_path / "up", 0)


def _somewhere(folder):
    """Return places whose ports follow one another: the other tests take some of that range."""
    for _ in range(20):
        with contextlib.suppress(StartError):
            return choose_ports(folder, free_port())
    return choose_ports(folder, free_port())


def test_a_role_has_its_own_secrets_and_no_others(places):
    """Every password in a role's folder is that role's, and none of them is there twice."""
    furnish(places)
    secrets = {path.read_text("ascii"): path.name for path in places.secrets.iterdir()}
    found = {
        role: {
            secrets[word]
            for path in (places.folder / role).iterdir()
            for word in re.findall(r"\b[0-9a-f]{48}\b", path.read_text())
        }
        for role in ("worker", "custodian", "mqtt", "notify", "sensor", "analyst")
    }
    assert found == {
        "worker": {"db_password", "custodian_token", "kafka_tocsin"},
        "custodian": {"db_password", "custodian_token", "kafka_custodian"},
        "mqtt": {"metrics_token", "kafka_mqtt", "mqtt_mqtt"},
        "notify": {"kafka_notify", "mqtt_notify"},
        "sensor": {"mqtt_sensor"},
        "analyst": {"kafka_analyst", "mqtt_analyst"},
    }
    assert places.folder.stat().st_mode & 0o077 == 0


def test_certificates_are_the_authoritys_whose_key_is_nowhere(places):
    """Those of servers name loopback, the custodian's is no server's; made once."""
    certificates = places.certificates
    authority = x509.load_pem_x509_certificate(certificates.authority.read_bytes())
    for name, usage in (("server", "serverAuth"), ("custodian", "clientAuth")):
        own = x509.load_pem_x509_certificate(certificates.certificate(name).read_bytes())
        own.verify_directly_issued_by(authority)
        (only,) = own.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert only._name == usage
        named = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert [str(each) for each in named.get_values_for_type(x509.IPAddress)] == [HOST]
        assert certificates.key(name).stat().st_mode & 0o077 == 0
    assert len(list(certificates.folder.glob("*.key"))) == 2
    before = certificates.authority.read_bytes()
    assert make_certificates(certificates.folder).authority.read_bytes() == before


def test_an_engine_that_does_not_answer_is_said(tmp_path, monkeypatch):
    """No engine, or one that is not running: nothing is started, and the words say which."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StartError, match="podman is missing"):
        composed.up("podman")
    Engines(tmp_path).put("docker", ENGINE, code=1)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(StartError, match="docker does not answer"):
        composed.up("docker")


@pytest.mark.parametrize(
    ("version", "refused"),
    [("1.0.3", True), ("1.5.0", True), ("1.6.0", False), ("1.10.0", False)],
)
def test_a_podman_compose_older_than_what_was_seen_is_refused(engines, version, refused):
    """Nothing is started by it; 1.10 is newer than 1.6."""
    engines.put("podman", ENGINE, code=0)
    engines.podman_compose(version, {})
    said = pytest.raises(StartError, match=rf"version {version[:3]}.*\n.*1\.6 or newer")
    with said if refused else contextlib.nullcontext():
        composed.up("podman")
    assert ("build" in engines.told.read_text().split()) is not refused


def test_podman_starts_nothing_before_its_conditions_are_met(engines, monkeypatch):
    """Health is asked for, and asked again; an end is waited for, and its code is looked at."""
    engines.podman(sick_for=2, code=0)
    monkeypatch.delenv("COMPOSE_FILE", raising=False)
    composed.up("podman")
    said = engines.told.read_text()
    seen = re.findall(
        r"^podman-compose --project-name tocsin-up (.*)|^(podman (?:healthcheck|wait).*)",
        said,
        flags=re.MULTILINE,
    )
    assert ["".join(each) for each in seen] == [
        "build",
        "config",
        "up --detach --no-deps broker",
        *["podman healthcheck run it"] * 3,
        "up --detach --no-deps rights",
        "podman wait it",
        "up --detach --no-deps worker",
    ]
    files = set((engines.folder / "files").read_text().split())
    assert files == {"docker-compose.yml:deploy/up/podman.yml"}


@pytest.mark.parametrize(
    ("sick_for", "code", "error"),
    [(0, 1, "rights ended with 1"), (9_999, 0, "broker is not healthy")],
)
def test_what_podman_could_not_start_is_named(engines, monkeypatch, sick_for, code, error):
    """What a condition waits for and does not come: nothing that needs it is started."""
    engines.podman(sick_for=sick_for, code=code)
    monkeypatch.setattr("deploy.up.podman._HEALTH_S", 0.2)
    with pytest.raises(StartError, match=rf"{error}\n  hint: podman logs it"):
        composed.up("podman")
    assert "worker" not in engines.told.read_text().split()


def test_what_containers_keep_is_removed_under_a_name_of_its_own(engines):
    """The file's own project may be somebody's ledger: its volumes stay."""
    for name in ("podman", "podman-compose"):
        engines.put(name, ENGINE, code=0)
    assert main(["down", "--with", "podman"]) == 0
    assert engines.told.read_text().splitlines() == [
        "podman info",
        "podman-compose --project-name tocsin-up down --volumes",
    ]
    compose = yaml_of("docker-compose.yml")
    assert compose["name"] != "tocsin-up"


def test_the_office_is_too_full_in_two_windows_of_four():
    """All in the auditorium, more than it holds; otherwise nobody's room is nearly full."""
    office = ROOT / "examples" / "office"
    people = runpy.run_path(str(office / "people.py"))
    rows = (office / "capacity.csv").read_text().split()[1:]
    holds = {room: int(count) for room, count in (row.split(",") for row in rows)}
    for number in range(8):
        gone = [room for _, room in people["rooms_of"](Random(number), number, list(holds))]
        full = {room for room in holds if gone.count(room) > holds[room] / 2}
        assert full == ({"auditorium"} if number % 4 < 2 else set())
        assert (gone.count("auditorium") > holds["auditorium"]) == bool(full)
