"""Configurations that tests write as text, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.config.loading import examine
from tests.support.configurations import MARK

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.loading import Report
    from stream.model.alarms import Alarms


def examined(folder: Path, text: str, **tables: str) -> Report:
    """Return what a configuration and its tables come to, marks removed."""
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text(rows.replace(MARK, ""))
    path = folder / "alarms.yaml"
    path.write_text(text.replace(MARK, ""))
    return examine(path, environ={})


def loaded(folder: Path, text: str, **tables: str) -> Alarms:
    """Return what a configuration without errors comes to."""
    report = examined(folder, text, **tables)
    assert report.alarms is not None, [str(error) for error in report.errors]
    return report.alarms
