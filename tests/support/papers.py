"""Where the real data of the papers lie: a slice in every checkout, the whole where it is named.

``TOCSIN_DATA=FOLDER`` names the folder that ``make papers`` takes as DATA; tests then read both.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.support.tree import ROOT

__all__ = ["FOLDERS", "SLICE"]

SLICE: Final = ROOT / "tests" / "benchmarks" / "data"
_WHOLE: Final = os.environ.get("TOCSIN_DATA", "")
FOLDERS: Final = (SLICE, *([Path(_WHOLE)] if _WHOLE else []))
