"""Copies what Python and an environment need out of the system they were built on, and no more.

Use: ``python root.py FOLDER ENVIRONMENT``, where both were installed from Debian's packages. What
is found is the root of an image with no shell's tools, no package manager and no Perl: whole
packages, those that own a library which Python or the environment loads, and ``NAMED``. Their
control files lie in ``var/lib/dpkg/status.d``, where scanners of images look for them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["installed", "libraries", "needed", "put"]

NAMED = ("base-files", "base-passwd", "dash", "netbase")
"""Licences and the release's name, users, a shell for ``serve.sh``, names of ports."""

MADE = (
    *("etc/passwd", "etc/group", "etc/nsswitch.conf", "etc/ld.so.conf", "etc/ld.so.conf.d"),
    "etc/ssl/certs/ca-certificates.crt",
)
"""What no package holds, for it was made when they were installed; and authorities."""

LEFT = re.compile(
    r"^usr/share/(man|locale|info|lintian|bug|base-files|menu)/"
    r"|^usr/share/doc/.*/(?!copyright$)[^/]*$"
    r"|/gconv/|^etc/(cron|dpkg|init\.d|logrotate)"
)
"""Of the packages: pages to read, and characters of other centuries."""

PYTHON = shutil.ignore_patterns(
    *("ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter", "turtle*", "_tkinter.*"),
    *("config-3.*", "site-packages", "include", "pkgconfig", "man", "share", "src", "games", "*.a"),
    *("2to3*", "idle*", "pip*", "pydoc", "pydoc3*", "python*-config", "python*-gdb.py"),
)
"""Of Python: installers, windows, its own tests, what to compile against."""


def libraries(folders: Iterable[Path]) -> set[Path]:
    """Return the libraries outside of folders that compiled files in them load."""
    found: set[Path] = set()
    homes = tuple(f"{folder}/" for folder in folders)
    for folder in map(Path, homes):
        compiled = [*folder.rglob("*.so*"), *folder.glob("bin/python3.*")]
        for path in compiled:
            if path.is_file() and not path.is_symlink():
                told = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
                names = re.findall(r"(/\S+) \(0x", told.stdout)
                found.update(Path(name) for name in names if not name.startswith(homes))
    return found


def installed(lists: Path = Path("/var/lib/dpkg/info")) -> dict[Path, str]:
    """Return by file the package that brought it, links of folders resolved."""
    return {
        _at(Path(line)): file.name.removesuffix(".list").partition(":")[0]
        for file in lists.glob("*.list")
        for line in file.read_text("utf-8").splitlines()
    }


def needed(files: Iterable[Path], owners: Mapping[Path, str]) -> set[str]:
    """Return the packages that files belong to, and those that are always there.

    Raises:
        KeyError: nobody knows where a file came from.
    """
    return {owners[_at(file)] for file in files} | set(NAMED)


def put(paths: Iterable[Path], root: Path) -> None:
    """Copy files and links into a root; folders as they are named there."""
    for path in sorted(paths):
        name = str(path).removeprefix("/")
        if LEFT.search(name) or (path.is_dir() and not path.is_symlink()):
            continue
        copy = root / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=False)


def main() -> None:
    """Make the root that is named."""
    root, environment = map(Path, sys.argv[1:])
    python = Path(sys.base_prefix)
    owners = installed()
    packages = needed(libraries((python, environment)), owners)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in ("dev", "proc", "sys", "run", "root", "etc"):
        (root / name).mkdir()
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    put((path for path, owner in owners.items() if owner in packages), root)
    put((each for name in MADE for each in _all(Path("/", name))), root)
    shutil.copytree(python, root / str(python)[1:], symlinks=True, ignore=PYTHON)
    for name, stanza in _stanzas(Path("/var/lib/dpkg/status").read_text("utf-8")):
        if name in packages:
            at = root / "var/lib/dpkg/status.d" / name
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_text(stanza + "\n", "utf-8")
    subprocess.run(["ldconfig", "-r", root], check=True)
    print(f"{len(packages)} packages:", *sorted(packages))


def _at(path: Path) -> Path:
    return Path(os.path.realpath(path.parent), path.name)


def _all(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir():
        yield from path.rglob("*")


def _stanzas(status: str) -> Iterator[tuple[str, str]]:
    for stanza in status.split("\n\n"):
        for name in re.findall(r"^Package: (\S+)$", stanza, flags=re.MULTILINE):
            yield name, stanza


if __name__ == "__main__":
    main()
