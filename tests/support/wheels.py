"""Wheels and source distributions of the tree, built without writing to it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deploy.release.__main__ import build
from tests.support.tree import ROOT, tracked

if TYPE_CHECKING:
    from pathlib import Path

EPOCH = 1_700_000_000


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
    wheel, sdist = build(source, folder / "dist", EPOCH)
    return Built(files, wheel, sdist)
