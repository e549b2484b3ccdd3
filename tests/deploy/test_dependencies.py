"""The lock files and the page that explains them."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.kafka.runtime import default_version
from tests.support.procs import ran
from tests.support.tree import ROOT, text_of

LOCKS = ("run.lock", "image.lock", "dev.lock")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", flags=re.MULTILINE)


PROJECT = tomllib.loads(text_of("pyproject.toml"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
REQUIRED = PROJECT["project"]["dependencies"]
ALWAYS = [*REQUIRED, *PROJECT["build-system"]["requires"]]
EXPLAINED = text_of("docs/dev/dependencies.md")


@pytest.mark.parametrize("name", [*LOCKS, "peers.lock"])
def test_a_lock_pins_every_package_by_hash_and_names_no_host(name):
    """Each entry has a version and SHA-256 hashes; nothing says where to fetch it."""
    text = text_of(f"requirements/{name}")
    assert not re.search(r"://|^-|index-url|find-links|trusted-host| @ ", text, flags=re.MULTILINE)
    entries = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE))
    assert len(entries) == len(_pins(name)) > 20
    for entry in entries:
        assert _PIN.match(entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry


def test_the_developers_lock_contains_the_users_at_the_same_versions():
    """Tests run on exactly what a user installs, and so does the image."""
    run, image, dev = (_pins(name) for name in LOCKS)
    assert {name: image.get(name) for name in run} == run
    assert {name: dev.get(name) for name in image} == image


def test_the_locks_satisfy_what_pyproject_asks_for():
    """A changed requirement without `make lock` is noticed here."""
    asked = (ALWAYS, EXTRAS["mqtt"], [line for extra in EXTRAS.values() for line in extra])
    for lock, lines in zip(LOCKS, asked, strict=True):
        for line in lines:
            assert Requirement(line).specifier.contains(_pins(lock)[_name(line)]), line


def test_users_install_nothing_that_only_developers_need():
    """No package of an extra is in the users' lock, unless it is a requirement of its own."""
    extras = {_name(line) for extra in EXTRAS.values() for line in extra}
    assert extras & _pins("run.lock").keys() <= set(map(_name, ALWAYS))


def test_every_dependency_is_explained_once():
    """docs/dev/dependencies.md has one row per runtime dependency, and no other row."""
    table = EXPLAINED.split("## ", 1)[0]
    rows = re.findall(r"^\| `([A-Za-z0-9-]+)` \|", table, flags=re.MULTILINE)
    assert sorted(rows) == sorted(map(_name, REQUIRED))


def test_the_system_packages_are_known_and_documented():
    """Each Debian package has a command that is looked for, and its row on the page."""
    script = text_of("deploy/prerequisites.sh")
    for package in text_of("deploy/apt-packages.txt").split():
        assert re.search(rf"^ +{re.escape(package)}\) ", script, flags=re.MULTILINE)
        assert f"`{package}`" in EXPLAINED


def test_an_unknown_system_package_is_an_error():
    """The script never takes a package that it cannot look for as present."""
    done = ran(ROOT / "deploy" / "prerequisites.sh", "no-such-package", code=None)
    assert done.returncode != 0
    assert "no-such-package" in done.stderr


def test_compose_and_the_tests_run_the_same_kafka(monkeypatch):
    """The image of docker-compose.yml has the version that the pom pins."""
    monkeypatch.delenv("TOCSIN_KAFKA_VERSION", raising=False)
    compose = text_of("docker-compose.yml")
    assert f"image: apache/kafka:{default_version()}@sha256:" in compose


def _pins(name):
    found = _PIN.findall(text_of(f"requirements/{name}"))
    return {canonicalize_name(package): version for package, version in found}


def _name(requirement):
    return canonicalize_name(Requirement(requirement).name)
