"""The image, built once for all that runs it.

``TOCSIN_IMAGE_PYTHON`` names where a Python like the Dockerfile's is installed, which stands in for
its base image (``tests/support/engine.py``).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.engine import ABOUT, IMAGE, Engine, stand_in


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    """An engine that has the image; its storage is removed at the end."""
    python = Path(os.environ.get("TOCSIN_IMAGE_PYTHON") or sys.base_prefix)
    assert python != Path("/usr"), "Debian's own is no stand-in: make image-check PYTHON312=FOLDER"
    with Engine(tmp_path_factory.mktemp("engine")) as made:
        stand_in(made, python)
        made.build(IMAGE, ABOUT)
        yield made
