"""The examples of the repository, copied to where a test may write.

``make demo`` leaves a ledger beside each example; a copy never takes it along.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.support.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples"
BADGES = EXAMPLES / "office" / "badges.jsonl"
SALES = EXAMPLES / "retail" / "online_retail.parquet"


def copied(name: str, folder: Path) -> Path:
    """Copy an example without its ledger and return the configuration in the copy.

    Args:
        name: of the example.
        folder: gets a folder of that name, or has one already.
    """
    made = folder / name
    ledger = shutil.ignore_patterns(".tocsin")
    shutil.copytree(EXAMPLES / name, made, ignore=ledger, dirs_exist_ok=True)
    return made / "alarms.yaml"
