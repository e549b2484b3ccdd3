"""Writes the dashboards of ``dashboards/`` from the code beside it.

Use: ``python -m deploy.grafana.build``
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.grafana.alarms import alarms
from deploy.grafana.custodian import custodian

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FOLDER", "texts"]

FOLDER = Path(__file__).resolve().with_name("dashboards")


def texts() -> Mapping[str, str]:
    """Return every file's text, by its path below ``dashboards``: a folder for each audience."""
    made = {"public/alarms.json": alarms(), "custodian/custodian.json": custodian()}
    return {path: json.dumps(model, indent=2) + "\n" for path, model in made.items()}


def main() -> None:
    """Write them."""
    for path, text in texts().items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
