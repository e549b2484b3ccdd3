"""The formats of files that hold events, by their suffixes; nothing that reads them."""

from __future__ import annotations

from typing import Final

__all__ = ["SUFFIXES"]

SUFFIXES: Final = (".parquet", ".csv", ".jsonl")
"""Of files that can be replayed."""
