"""Kills, an outage and wrong clocks under load: nothing is lost, doubled, or larger than it was.

``make soak`` runs it in full (``--full``, some forty minutes) and writes a report; ``make test``
runs eighty seconds of it. What is checked, and how, is said in :mod:`tests.soak.verdict`.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.soak.report import REPORT, examined
from tests.soak.run import run_soak
from tests.soak.timetable import LONG, SHORT
from tests.support.tree import ROOT

pytestmark = pytest.mark.integration


def test_nothing_is_lost_under_faults(tmp_path, request):
    """Two workers count every event once while they, Kafka and PostgreSQL die and come back."""
    full = request.config.getoption("--full")
    folder = tmp_path / "soak"
    if full:  # judged again with `python -m tests.soak.report FOLDER`, should that be wanted
        folder = ROOT / ".cache" / "soak" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    run_soak(LONG if full else SHORT, folder)
    wrong, text = examined(folder)
    print(text)
    if full:
        REPORT.write_text(text)
    assert wrong == [], f"judged from {folder}"
