"""The compose file: valid by the published schema, as closed as the page on operations says."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from stream.config.loading import check
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

COMPOSE = ROOT / "docker-compose.yml"
OWN_IMAGE = "tocsin:"
CUSTODIAN_PORT = "9465"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file with its anchors and merges resolved."""
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    return loaded


def test_the_file_follows_the_compose_specification(tmp_path: Path) -> None:
    """The published JSON schema accepts the file, and rejects a copy with a misspelt key."""
    assert _schema(COMPOSE) == 0
    broken = tmp_path / "docker-compose.yml"
    text = COMPOSE.read_text(encoding="utf-8")
    broken.write_text(text.replace("healthcheck:", "healthchek:", 1), encoding="utf-8")
    assert _schema(broken) != 0


def test_every_image_is_pinned_to_a_version(compose: dict[str, Any]) -> None:
    """No image floats: each tag is a full version, and so is the base of our own image."""
    images = {name: service["image"] for name, service in compose["services"].items()}
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    bases = re.findall(r"^FROM (\S+)", dockerfile, flags=re.MULTILINE)
    assert len(bases) == 2
    for image in [*images.values(), *bases]:
        assert re.search(r":v?\d+\.\d+(\.\d+)?([.-][a-z0-9.-]+)?$", image), image


def test_nothing_is_published_beyond_loopback(compose: dict[str, Any]) -> None:
    """Every published port is bound to 127.0.0.1, and the custodian's is not published."""
    ports = [p for s in compose["services"].values() for p in s.get("ports", [])]
    assert ports
    for port in ports:
        assert port.startswith("127.0.0.1:")
        assert CUSTODIAN_PORT not in port.split(":")[-1]
        low, _, high = port.split(":")[1].partition("-")
        assert not int(low) <= int(CUSTODIAN_PORT) <= int(high or low) or port.endswith(":9464")


def test_the_database_cannot_be_reached_from_outside(compose: dict[str, Any]) -> None:
    """PostgreSQL holds raw aggregates: no port is published, its network is internal."""
    postgres = compose["services"]["postgres"]
    assert "ports" not in postgres
    assert all(compose["networks"][name]["internal"] for name in postgres["networks"])


def test_no_secret_stands_in_the_file(compose: dict[str, Any]) -> None:
    """Passwords and tokens come from the environment, and compose refuses to start without them."""
    for secret in compose["secrets"].values():
        assert secret["environment"].startswith("TOCSIN_")
    for service in compose["services"].values():
        for key, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|TOKEN", key):
                assert value.startswith("/run/secrets/") or re.fullmatch(r"\$\{\w+:\?.+\}", value)
    example = (ROOT / "deploy" / "example.env").read_text(encoding="utf-8")
    names = {secret["environment"] for secret in compose["secrets"].values()}
    assert set(re.findall(r"^(\w+)=$", example, flags=re.MULTILINE)) == names


def test_our_containers_run_without_root_or_a_writable_disk(compose: dict[str, Any]) -> None:
    """The worker drops every capability, writes to memory only, and is nobody's root."""
    ours = [s for s in compose["services"].values() if s["image"].startswith(OWN_IMAGE)]
    assert len(ours) == 2
    for service in ours:
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", dockerfile, flags=re.MULTILINE)
    assert "--require-hashes -r /src/requirements/run.lock" in dockerfile


def test_what_runs_for_long_is_watched(compose: dict[str, Any]) -> None:
    """Every service but the one that makes topics and ends has a health check."""
    for name, service in compose["services"].items():
        assert ("healthcheck" in service) == (name != "topics"), name
    # A worker's page of metrics answers whatever happens: only /readyz says whether it can work.
    assert "/readyz" in compose["services"]["tocsin"]["healthcheck"]["test"][-1]


def test_kafka_stamps_records_itself_and_creates_no_topic(compose: dict[str, Any]) -> None:
    """LogAppendTime is the broker's default, and a misspelt topic is an error."""
    settings = compose["services"]["kafka"]["environment"]
    assert settings["KAFKA_LOG_MESSAGE_TIMESTAMP_TYPE"] == "LogAppendTime"
    assert settings["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"


def test_everything_that_is_mounted_exists(compose: dict[str, Any]) -> None:
    """A missing file would be mounted as an empty directory, which is hard to tell from a fault."""
    for service in compose["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (ROOT / source).exists()
            else:
                assert source in compose["volumes"]


def test_the_image_is_built_from_what_the_context_sends() -> None:
    """.dockerignore lets through every path that the Dockerfile copies."""
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, flags=re.MULTILINE)
    sources = [source for line in copied for source in line.split()]
    assert sources
    for source in sources:
        assert f"!{source}" in allowed
        assert (ROOT / source).exists()


def test_the_configuration_that_compose_runs_is_sound() -> None:
    """`tocsin check` finds nothing wrong with both secrets set, and asks for them otherwise."""
    file = ROOT / "deploy" / "tocsin" / "alarms.yaml"
    secrets = {"TOCSIN_DB_PASSWORD": "0a1b", "TOCSIN_CUSTODIAN_TOKEN": "2c3d"}
    assert check(file, environ=secrets) == []
    assert {error.file for error in check(file, environ={})} == {str(file)}


def _schema(file: Path) -> int:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run(
        [*command, str(file)], capture_output=True, check=False, timeout=PATIENCE_S
    )
    return done.returncode
