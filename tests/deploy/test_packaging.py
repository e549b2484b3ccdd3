"""What a wheel and a source distribution hold, and that the wheel works where no checkout is."""

from __future__ import annotations

import ast
import re
import shutil
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from deploy.release.__main__ import build
from deploy.release.version import version
from deploy.release.wheel import OURS, renamed, standalone
from tests.support.procs import ran
from tests.support.tree import ROOT, text_of
from tests.support.wheels import EPOCH, build_tree

if TYPE_CHECKING:
    from pathlib import Path

MADE = {"tocsin/__init__.py", "tocsin/__main__.py", "tocsin/py.typed"}
LIBRARY = ROOT / "docs" / "how-to" / "use-as-a-library.md"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and a source distribution of the tree as it is; the tree is not written to."""
    return build_tree(tmp_path_factory.mktemp("built"))


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it, and an empty folder to work in."""

    python: Path
    folder: Path

    def tocsin(self, *arguments):
        """Run the installed command in the empty folder."""
        return self.run(self.python.with_name("tocsin"), *arguments)

    def run(self, *command, code=0):
        """Run any command there, with nothing of this process's paths."""
        kept = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "COLUMNS": "100"}
        return ran(*command, code=code, cwd=self.folder, env=kept)

    def pip(self, *words):
        """Have this process's pip do something to the environment, from no index."""
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        self.run(*pip, "--python", self.python, *words)

    def install(self, wheel):
        """Install one wheel; dependencies are this process's."""
        self.pip("install", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir", str(wheel))


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """The wheel of another distribution with packages of our names, and a module in each."""
    wheel = tmp_path_factory.mktemp("foreign") / "foreign-1.0-py3-none-any.whl"
    about = "foreign-1.0.dist-info"
    files = {
        f"{name}/{each}.py": "FOREIGN = True\n" for name in OURS for each in ("__init__", "cli")
    }
    files[f"{about}/METADATA"] = "Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n"
    files[f"{about}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


@pytest.fixture(scope="module", params=["first", "last"])
def installed(request, built, foreign, tmp_path_factory):
    """An environment that Tocsin, installed first or last, shares with foreign packages.

    They are whole while Tocsin is there, and when it has gone.
    """
    home = tmp_path_factory.mktemp("venv")
    ran(sys.executable, "-m", "venv", "--without-pip", home)
    made = Installed(home / "bin" / "python", tmp_path_factory.mktemp("empty"))
    for wheel in (built.wheel, foreign) if request.param == "first" else (foreign, built.wheel):
        made.install(wheel)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    yield made
    whole = "".join(f"import {name}.cli; assert {name}.cli.FOREIGN; " for name in OURS)
    for script in (f"import tocsin.stream; {whole}", whole):
        made.run(made.python, "-c", script)
        if "tocsin" in script:
            made.pip("uninstall", "--yes", "tocsin")


@pytest.mark.long
def test_a_wheel_holds_one_package_and_nothing_else(built):
    """Every file below the packages, schemas too, two that begin it, licences."""
    with zipfile.ZipFile(built.wheel) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
        told = {name.split("/")[1]: wheel.read(name) for name in names if ".dist-info/" in name}
        modules = {name: wheel.read(name) for name in names if name.endswith(".py")}
    about = {name for name in names if ".dist-info/" in name}
    ours = {f"tocsin/{name}" for name in built.files if name.split("/")[0] in OURS}
    assert names - about == ours | MADE
    assert {name.split("/", 1)[1] for name in about} >= {
        "licenses/LICENSE",
        "licenses/NOTICE",
        "entry_points.txt",
    }
    assert told["top_level.txt"] == b"tocsin\n"
    short = {name for name, text in modules.items() if set(OURS) & set(_imported(text))}
    assert short == set()


def _imported(module):
    """Yield the first part of every name that a module imports."""
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Import):
            yield from (each.name.split(".")[0] for each in node.names)


@pytest.mark.long
def test_the_same_files_give_the_same_bytes(built, tmp_path):
    """In another folder, of other times and modes: from what the source distribution holds."""
    with tarfile.open(built.sdist) as archive:
        members = archive.getmembers()
        archive.extractall(tmp_path / "unpacked")  # noqa: S202  # our own
    (source,) = (tmp_path / "unpacked").iterdir()
    for path in source.rglob("*"):
        if path.is_file() and not path.stat().st_mode & 0o100:
            path.chmod(0o600)
    again = tmp_path / "again"
    wheel, sdist = build(source, again, EPOCH)
    assert {(each.uid, each.gid, each.uname, each.gname) for each in members} == {(0, 0, "", "")}
    assert {each.mode for each in members if each.isfile()} == {0o644, 0o755}
    assert (wheel.name, sdist.name) == (built.wheel.name, built.sdist.name)
    assert wheel.read_bytes() == built.wheel.read_bytes()
    assert sdist.read_bytes() == built.sdist.read_bytes()


@pytest.mark.long
def test_an_index_shows_the_readme_without_the_checkout(built):
    """Links to files are words there; no badge, no picture, nothing that is not in the readme."""
    with zipfile.ZipFile(built.wheel) as wheel:
        text = wheel.read(f"tocsin-{version()}.dist-info/METADATA").decode()
    shown = text.split("\n\n", 1)[1]
    assert "Description-Content-Type: text/markdown" in text
    assert shown.strip() == standalone(text_of("README.md")).strip()
    assert "](docs/" in text_of("README.md")
    assert "](docs/" not in shown


STAYS = [
    "from . import stream\n",
    "import streams, operator\n",
    '"""See ``stream.model``."""\n',
    "say = 'pass operators.NoiseSource(), whose key is fresh'\n",
    "stream = open('x')\nstream.flush()\n",
    "import_module(f'{__package__}.{name}')\nimport_module('json')\n",
    "files('tzdata')\n",
]
"""Relative imports, other names, words, and names that come from the module itself."""


@pytest.mark.parametrize(
    ("source", "made"),
    [
        *zip(STAYS, STAYS, strict=True),
        ("from stream.model import alarms\n", "from tocsin.stream.model import alarms\n"),
        ("from  operators import (\n    A)\n", "from  tocsin.operators import (\n    A)\n"),
        ("x = 'é'; from accountant import x\n", "x = 'é'; from tocsin.accountant import x\n"),
        ("import json, stream.cli as c\n", "import json, tocsin.stream.cli as c\n"),
        ("from \\\n    stream import a\n", "from tocsin.\\\n    stream import a\n"),
        (
            "def f():\n    from stream import a; import operators as b\n",
            "def f():\n    from tocsin.stream import a; import tocsin.operators as b\n",
        ),
    ],
)
def test_imports_of_ours_alone_are_renamed(source, made):
    """Wherever they stand; the lines stay where they are."""
    assert renamed(source.encode(), "a.py").decode() == made


@pytest.mark.parametrize(
    "source",
    [
        "import stream.cli\n",
        "import operators\n",
        "from\\\n    stream import cli\n",
        "room = 'stream.planning'\n",
        "room = f'stream.cli.{name}'\n",
        "import_module(name)\n",
        "importlib.import_module(f'{name}.x')\n",
        "__import__('stream')\n",
        "files('stream')\n",
        "eval('1')\n",
        "exec(text)\n",
    ],
)
def test_an_import_that_is_not_seen_ends_the_build(source):
    """It would fail, or take another's package, only where the wheel is installed."""
    with pytest.raises(ValueError, match=r"^a\.py:\d+: names a package of Tocsin's where"):
        renamed(source.encode(), "a.py")


@pytest.mark.long
def test_a_source_distribution_holds_the_tree(built):
    """Docs, examples, tests and what they need: every file, and nothing that a run left."""
    with tarfile.open(built.sdist) as archive:
        names = {each.name.split("/", 1)[1] for each in archive.getmembers() if each.isfile()}
    made = {
        name for name in names if re.match(r"(PKG-INFO|setup\.cfg|tocsin\.egg-info)(/|$)", name)
    }
    assert sorted(built.files - names) == []
    assert sorted(names - made - built.files) == []


@pytest.mark.long
def test_an_installed_wheel_works_in_an_empty_folder(installed):
    """The README's first commands, with the office's files beside them and no checkout."""
    assert installed.tocsin("--version").stdout == f"tocsin, version {version()}\n"
    module = installed.run(installed.python, "-m", "tocsin", "--help")
    assert module.stdout.startswith("Usage: tocsin")
    for path in (ROOT / "examples" / "office").iterdir():
        if path.is_file():
            shutil.copy(path, installed.folder)
    assert installed.tocsin("check", "alarms.yaml").stdout == "ok\n"
    installed.tocsin("plan", "alarms.yaml", "--json")
    replayed = installed.tocsin("run", "alarms.yaml", "--replay", "badges.jsonl", "--json")
    assert '"alarm_id"' in replayed.stdout
    assert (installed.folder / ".tocsin" / "office.db").exists()


@pytest.mark.long
def test_the_librarys_page_is_true_of_a_wheel(installed):
    """Every example, as it is printed; the modules are the wheel's."""
    assert installed.run(installed.python, "-m", "doctest", LIBRARY).stdout == ""
    where = installed.run(
        installed.python, "-c", "import tocsin.operators as o; print(o.__name__, o.__file__)"
    )
    assert where.stdout.startswith(f"tocsin.operators {installed.python.parents[1]}")


def test_a_checkout_has_the_wheels_names():
    """The very modules, so that an error raised by one is caught by the other's name."""
    script = (
        "from tocsin.operators.svt import ask\n"
        "import tocsin.accountant.errors as ours, accountant.errors, operators.svt\n"
        "assert ours is accountant.errors and ask is operators.svt.ask\n"
        "for name in ('tocsin.deploy', 'tocsin.operators.nothing'):\n"
        "    try:\n"
        "        __import__(name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        assert error.name == name, error\n"
        "    else:\n"
        "        raise AssertionError(name)\n"
    )
    environ = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    ran(sys.executable, "-c", script, env=environ)
