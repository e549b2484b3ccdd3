"""Files that tests write, and change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def write_rows(path: Path, rows: Iterable[object]) -> Path:
    """Write rows as JSON, one a line, and return the path."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def edit(path: Path | str, old: str, new: str) -> None:
    """Replace what stands in a file."""
    text = Path(path).read_text()
    assert old in text, path
    Path(path).write_text(text.replace(old, new))
