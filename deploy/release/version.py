"""The version stands in ``pyproject.toml``; whatever else says it is written from there.

Use: ``python -m deploy.release.version``, which writes it into the chart, the image, compose and
the AsyncAPI file (``make version``). Tests compare them.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

__all__ = ["PLACES", "said", "version", "write"]

ROOT: Final = Path(__file__).resolve().parents[2]
PLACES: Final = (
    ("deploy/helm/tocsin/Chart.yaml", r"^(version: )(.+)$"),
    ("deploy/helm/tocsin/Chart.yaml", r"^(appVersion: )(.+)$"),
    ("docs/asyncapi.yaml", r"^(  version: )(.+)$"),
    ("docker-compose.yml", r"^(  image: tocsin:)(.+)$"),
    ("deploy/Dockerfile", r"^(ARG VERSION=)(.+)$"),
)
"""Files and lines that say it."""


def version(root: Path = ROOT) -> str:
    """Return the version of a tree."""
    told: str = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return told


def said(root: Path = ROOT) -> list[str]:
    """Return what each place says; nothing for one that says it nowhere or twice."""
    texts = [((root / name).read_text("utf-8"), line) for name, line in PLACES]
    found = [re.findall(line, text, re.MULTILINE) for text, line in texts]
    return [each[0][1] if len(each) == 1 else "" for each in found]


def write(root: Path = ROOT) -> None:
    """Write it into every place."""
    for name, line in PLACES:
        path = root / name
        text = re.sub(line, rf"\g<1>{version(root)}", path.read_text("utf-8"), flags=re.MULTILINE)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
