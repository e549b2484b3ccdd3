"""What is wrong with a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.config.loading import examine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accountant.errors import ConfigError


def check(path: Path, *, environ: Mapping[str, str]) -> list[ConfigError]:
    """Return everything wrong with a file, as far as its stages could be checked."""
    return list(examine(path, environ=environ).errors)
