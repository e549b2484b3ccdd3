"""Takes out of an environment what a worker never reads, and writes down what is in it.

Use: ``python slim.py VENV``. Removed are installers, tests of packages, headers and sources to
compile against, Arrow's parts for remote servers, and second copies of its libraries. Code,
licences and compiled bytecode stay: without the last a worker on a read-only disk would compile
all of it at every start. ``VENV/sbom.json`` names every package with version and licence
(CycloneDX 1.5).
"""  # noqa: INP001  # a script of the image's, no package

from __future__ import annotations

import json
import re
import shutil
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["bill", "removed", "slim"]

INSTALLERS = ("pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources")
TESTED = ("numpy", "scipy", "pyarrow", "greenlet")
"""Their folders called ``tests`` hold tests; elsewhere that name may be a package's own."""

COMPILED_AGAINST = frozenset(
    (".h", ".hpp", ".pxd", ".pyx", ".pxi", ".pyi", ".a", ".c", ".cc", ".cpp")
)
SCIPY = ("stats", "io", "signal", "interpolate", "integrate", "ndimage", "cluster", "odr")
"""Tocsin asks for special functions and roots: what those import stays, these do not."""

FOLDERS = (
    *(f"scipy/{name}" for name in SCIPY),
    "pyarrow/include",
    "pyarrow/src",
    "numpy/_core/include",
    "numpy/_core/lib",
)
ARROW_REMOTE = ("flight", "s3", "gcsfs", "azurefs", "hdfs")
"""Parts of Arrow that speak to servers: files lie here, events come by Kafka."""


def removed(site: Path) -> Iterator[Path]:
    """Yield files and folders of a ``site-packages`` that a worker never reads."""
    for name in INSTALLERS:
        for found in (*site.glob(name), *site.glob(f"{name}-*.dist-info")):
            if found.is_dir():
                yield found
    yield from site.glob("distutils-precedence.pth")
    for package in TESTED:
        yield from (folder for folder in site.glob(f"{package}/**/tests") if folder.is_dir())
    yield from (path for path in site.rglob("*.*") if path.suffix in COMPILED_AGAINST)
    yield from (site / folder for folder in FOLDERS if (site / folder).is_dir())
    for part in ARROW_REMOTE:
        yield from site.glob(f"pyarrow/lib*{part}*.so*")
        yield from site.glob(f"pyarrow/_{part}*.so")
    # Wheels have no links: what others load is called `.so.NUMBER`, the rest are copies of it.
    for library in site.glob("pyarrow/lib*.so.*"):
        if re.fullmatch(r"lib\w+\.so\.\d+", library.name):
            yield from library.parent.glob(f"{library.name}.*")
            yield from library.parent.glob(library.name.rpartition(".")[0])


def slim(site: Path) -> int:
    """Remove it.

    Returns:
        The bytes that were freed.
    """
    before = _bytes(site)
    for path in list(removed(site)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)  # it lay in a folder that has gone
    return before - _bytes(site)


def bill(site: Path) -> dict[str, Any]:
    """Return the software bill of materials of a ``site-packages``: no time, no number, no host.

    Two images of the same packages have the same bill.
    """
    components = []
    for each in distributions(path=[str(site)]):
        name, version = each.metadata["Name"], each.version
        told = [
            each.metadata[key] for key in ("License-Expression", "License") if key in each.metadata
        ]
        licence = told[0] if told else ""
        component: dict[str, Any] = {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name.lower().replace('_', '-')}@{version}",
        }
        if licence:
            component["licenses"] = [{"license": {"name": licence.splitlines()[0]}}]
        components.append(component)
    components.sort(key=lambda component: component["purl"])
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}


def main() -> None:
    """Slim the environment that is named, and leave its bill beside it."""
    environment = Path(sys.argv[1])
    (site,) = environment.glob("lib/python3.*/site-packages")
    freed = slim(site)
    (environment / "sbom.json").write_text(json.dumps(bill(site), indent=2) + "\n", "utf-8")
    print(f"{freed / 1e6:.0f} MB removed, {_bytes(site) / 1e6:.0f} MB stay")  # noqa: T201


def _bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
