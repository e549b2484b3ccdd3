"""Wheels and source distributions of the tree, built without writing to it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.support.tree import ROOT, tracked

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Built", "build", "build_tree"]

_BUILD: Final = (
    "import sys; from setuptools import build_meta as b;"
    " b.build_wheel(sys.argv[1]); b.build_sdist(sys.argv[1])"
)


@dataclass(frozen=True)
class Built:
    """What building a copy of the tree gave."""

    files: set[str]
    wheel: Path
    sdist: Path


def build_tree(folder: Path) -> Built:
    """Build a copy of the tree as it is, in an empty folder."""
    source = folder / "source"
    files = tracked(ROOT)
    for name in files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    return Built(files, *build(source, folder / "dist"))


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """Build a wheel and a source distribution of a tree, whatever the time; warnings are errors."""
    out.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _BUILD, str(out)],
        cwd=source,
        env={"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": "1700000000"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))
