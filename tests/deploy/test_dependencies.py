"""The lock files and the page that explains them."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.kafka.runtime import default_version
from tests.support.procs import ran
from tests.support.tree import ROOT, text_of

LOCKS = ("run.lock", "image.lock", "dev.lock")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", flags=re.MULTILINE)


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """The project table of pyproject.toml, with the build backend's requirements."""
    loaded = tomllib.loads(text_of("pyproject.toml"))
    return {**loaded["project"], "build": loaded["build-system"]["requires"]}


@pytest.mark.parametrize("name", [*LOCKS, "peers.lock"])
def test_a_lock_pins_every_package_by_hash_and_names_no_host(name: str) -> None:
    """Each entry has a version and SHA-256 hashes; nothing says where to fetch it."""
    text = _read(name)
    assert not re.search(r"://|^-|index-url|find-links|trusted-host| @ ", text, flags=re.MULTILINE)
    entries = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE))
    assert len(entries) == len(_pins(name)) > 20
    for entry in entries:
        assert _PIN.match(entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry


def test_the_developers_lock_contains_the_users_at_the_same_versions() -> None:
    """Tests run on exactly what a user installs, and so does the image."""
    run, image, dev = (_pins(name) for name in LOCKS)
    assert {name: image.get(name) for name in run} == run
    assert {name: dev.get(name) for name in image} == image


def test_the_locks_satisfy_what_pyproject_asks_for(project: dict[str, Any]) -> None:
    """A changed requirement without `make lock` is noticed here."""
    run, image, dev = (_pins(name) for name in LOCKS)
    extras = [line for extra in project["optional-dependencies"].values() for line in extra]
    always, mqtt = (
        project["dependencies"] + project["build"],
        project["optional-dependencies"]["mqtt"],
    )
    for pins, lines in ((run, always), (image, mqtt), (dev, extras)):
        for line in lines:
            requirement = Requirement(line)
            version = pins[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), line


def test_users_install_nothing_that_only_developers_need(project: dict[str, Any]) -> None:
    """No package of an extra is in the users' lock, unless it is a requirement of its own."""
    own = {_name(line) for line in project["dependencies"] + project["build"]}
    for extra in project["optional-dependencies"].values():
        for line in extra:
            assert _name(line) in own or _name(line) not in _pins("run.lock"), line


def test_every_dependency_is_explained_once(project: dict[str, Any]) -> None:
    """docs/dev/dependencies.md has one row per runtime dependency, and no other row."""
    page = text_of("docs/dev/dependencies.md")
    table = page.split("## ", 1)[0]
    rows = re.findall(r"^\| `([A-Za-z0-9-]+)` \|", table, flags=re.MULTILINE)
    assert sorted(rows) == sorted(_name(line) for line in project["dependencies"])


def test_the_system_packages_are_known_and_documented() -> None:
    """Each Debian package has a command that is looked for, and its row on the page."""
    packages = text_of("deploy/apt-packages.txt").split()
    script = text_of("deploy/prerequisites.sh")
    page = text_of("docs/dev/dependencies.md")
    for package in packages:
        assert re.search(rf"^ +{re.escape(package)}\) ", script, flags=re.MULTILINE)
        assert f"`{package}`" in page


def test_an_unknown_system_package_is_an_error() -> None:
    """The script never takes a package that it cannot look for as present."""
    done = ran(ROOT / "deploy" / "prerequisites.sh", "no-such-package", code=None)
    assert done.returncode != 0
    assert "no-such-package" in done.stderr


def test_compose_and_the_tests_run_the_same_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    """The image of docker-compose.yml has the version that the pom pins."""
    monkeypatch.delenv("TOCSIN_KAFKA_VERSION", raising=False)
    compose = text_of("docker-compose.yml")
    assert f"image: apache/kafka:{default_version()}@sha256:" in compose


def _read(name: str) -> str:
    return text_of(f"requirements/{name}")


def _pins(name: str) -> dict[str, str]:
    return {canonicalize_name(package): version for package, version in _PIN.findall(_read(name))}


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)
