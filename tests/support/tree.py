"""Where the source tree begins."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["ROOT", "text_of"]

ROOT: Final = Path(__file__).resolve().parents[2]


def text_of(path: str) -> str:
    """Return a file of the checkout as text."""
    return (ROOT / path).read_text(encoding="utf-8")
