"""Pages answer at once here, and do not wait for their tenth of a second."""

from __future__ import annotations

import pytest

from stream.metrics import pages


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(pages, "_EVERY_S", 0.001)
