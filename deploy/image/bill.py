"""Writes down what is in an image: its software bill of materials (CycloneDX 1.5).

Use: ``python bill.py ROOT ENVIRONMENT``, which writes ``ENVIRONMENT/sbom.json``: Python, every
package of the environment, and every package of Debian's in ``root.py``'s root.
"""

from __future__ import annotations

import json
import platform
import sys
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["bill"]


def bill(site: Path, stanzas: Path | None = None) -> dict[str, Any]:
    """Return the bill of a ``site-packages``: no time, no number, no host.

    Two images of the same packages have the same bill.

    Args:
        site: where Python's packages are.
        stanzas: a folder with a control file per package of Debian's.
    """
    components = [*_python(site), *(_debian(stanzas) if stanzas else ())]
    components.sort(key=lambda component: str(component["purl"]))
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}


def main() -> None:
    """Leave the bill of a root and an environment in the latter."""
    root, environment = map(Path, sys.argv[1:])
    (site,) = environment.glob("lib/python3.*/site-packages")
    told = bill(site, root / "var/lib/dpkg/status.d")
    version = platform.python_version()
    told["components"].insert(0, _component("python", version, f"pkg:generic/python@{version}"))
    (environment / "sbom.json").write_text(json.dumps(told, indent=2) + "\n", "utf-8")


def _python(site: Path) -> Iterator[dict[str, Any]]:
    for each in distributions(path=[str(site)]):
        name, version = each.metadata["Name"], each.version
        component = _component(
            name, version, f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
        )
        told = [
            each.metadata[key] for key in ("License-Expression", "License") if key in each.metadata
        ]
        licence = told[0] if told else ""
        if licence:
            component["licenses"] = [{"license": {"name": licence.splitlines()[0]}}]
        yield component


def _debian(stanzas: Path) -> Iterator[dict[str, Any]]:
    for file in stanzas.iterdir():
        told = HeaderParser().parsestr(file.read_text("utf-8"))
        name, version = told["Package"], told["Version"]
        url = f"pkg:deb/debian/{name}@{version}?arch={told['Architecture']}"
        yield _component(name, version, url)


def _component(name: str, version: str, url: str) -> dict[str, Any]:
    return {"type": "library", "name": name, "version": version, "purl": url}


if __name__ == "__main__":
    main()
