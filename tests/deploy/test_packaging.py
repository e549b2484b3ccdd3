"""What a wheel and a source distribution hold, and that the wheel works where no checkout is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.tree import ROOT, text_of, tracked

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = ("accountant", "operators", "stream")
PROJECT = tomllib.loads(text_of("pyproject.toml"))
BUILD = "import sys; from setuptools import build_meta as b; b.build_wheel({0}); b.build_sdist({0})"


@dataclass(frozen=True)
class Built:
    """What building a copy of the tree gave."""

    files: set[str]
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A wheel and a source distribution of the tree as it is; the tree is not written to."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    files = tracked(ROOT)
    for name in files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, "-W", "error", "-c", BUILD.format(repr(str(out)))],
        cwd=source,
        capture_output=True,
        check=True,
    )
    return Built(files, next(out.glob("*.whl")), next(out.glob("*.tar.gz")))


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it, and an empty folder to work in."""

    python: Path
    folder: Path

    def tocsin(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the installed command in the empty folder."""
        return self.run(str(self.python.with_name("tocsin")), *arguments, **environ)

    def run(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run any command there, with nothing of this process's paths."""
        kept = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "COLUMNS": "100", **environ}
        return subprocess.run(
            command, cwd=self.folder, env=kept, capture_output=True, check=False, text=True
        )


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """As `pipx install` does it: an environment of its own; dependencies are this one's."""
    home = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    options = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir"]
    subprocess.run(
        [*pip, "install", *options, str(built.wheel)],
        check=True,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
    )
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return Installed(python, tmp_path_factory.mktemp("empty"))


@pytest.mark.long
def test_a_wheel_holds_the_packages_and_nothing_else(built: Built) -> None:
    """Every file below the packages, schemas too, the command's file, licences."""
    with zipfile.ZipFile(built.wheel) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
    about = {name for name in names if ".dist-info/" in name}
    wanted = {name for name in built.files if name.split("/")[0] in PACKAGES} | {"tocsin.py"}
    assert names - about == wanted
    assert {name.split("/", 1)[1] for name in about} >= {
        "licenses/LICENSE",
        "licenses/NOTICE",
        "entry_points.txt",
    }


@pytest.mark.long
def test_a_source_distribution_holds_the_tree(built: Built) -> None:
    """Docs, examples, tests and what they need: every file, and nothing that a run left."""
    with tarfile.open(built.sdist) as archive:
        names = {each.name.split("/", 1)[1] for each in archive.getmembers() if each.isfile()}
    made = {name for name in names if name.split("/")[0] in ("PKG-INFO", "setup.cfg")}
    made |= {name for name in names if name.startswith("tocsin.egg-info/")}
    assert sorted(built.files - names) == []
    assert sorted(names - made - built.files) == []


@pytest.mark.long
def test_an_installed_wheel_works_in_an_empty_folder(installed: Installed) -> None:
    """The README's first commands, with the office's files beside them and no checkout."""
    version = PROJECT["project"]["version"]
    assert installed.tocsin("--version").stdout == f"tocsin, version {version}\n"
    for path in (ROOT / "examples" / "office").iterdir():
        if path.is_file():
            shutil.copy(path, installed.folder)
    checked = installed.tocsin("check", "alarms.yaml")
    assert (checked.returncode, checked.stdout) == (0, "ok\n"), checked.stderr
    planned = installed.tocsin("plan", "alarms.yaml", "--json")
    assert planned.returncode == 0, planned.stderr
    ran = installed.tocsin("run", "alarms.yaml", "--replay", "badges.jsonl", "--json")
    assert ran.returncode == 0, ran.stderr
    assert '"alarm_id"' in ran.stdout
    assert (installed.folder / ".tocsin" / "office.db").exists()
    where = installed.run(str(installed.python), "-c", "import stream; print(stream.__file__)")
    assert where.stdout.startswith(str(installed.python.parents[1]))


@pytest.mark.long
@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize("shape", ["{}/__init__.py", "{}.py"])
def test_another_package_of_our_name_is_said_in_a_sentence(
    installed: Installed, tmp_path: Path, name: str, shape: str
) -> None:
    """Another distribution stands in front: exit code 2, its place, what to do; no traceback."""
    other = tmp_path / shape.format(name)
    other.parent.mkdir(exist_ok=True)
    other.write_text("raise RuntimeError('imported')\n", encoding="utf-8")
    done = installed.tocsin("--version", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    place = other.parent if other.name == "__init__.py" else other
    sentence, hint = done.stderr.splitlines()
    assert sentence == f"error: another `{name}` stands before Tocsin's own: {place}"
    assert hint.startswith("  hint: ")
    assert done.stdout == ""


@pytest.mark.long
def test_a_folder_of_our_name_does_no_harm(installed: Installed, tmp_path: Path) -> None:
    """A folder without Python in it, as anybody may have one, never goes before a package."""
    (tmp_path / "stream").mkdir()
    done = installed.tocsin("--version", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_what_stands_before_ours_is_seen_from_the_checkout_too(tmp_path: Path) -> None:
    """`python -m tocsin` in a folder with another `operators`: as for the installed command."""
    (tmp_path / "operators.py").write_text("", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tocsin", "--version"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 2
    assert "another `operators` stands before Tocsin's own" in done.stderr
