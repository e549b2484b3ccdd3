"""Earlier commits of this repository, to measure beside the tree as it is."""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ROOT", "checkout"]

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Lend the files of a commit, in a folder that goes away."""
    packed = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x"], cwd=folder, check=True, input=packed)
        yield Path(folder)
