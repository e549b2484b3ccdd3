"""The tutorials' commands, as they are printed, each page in an empty folder and one shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from tests.docs.test_ten_minutes import ALARM, played
from tests.support.tree import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.kafka import Broker


def script(page: str) -> str:
    """Return the commands of a tutorial."""
    text = text_of(f"docs/tutorials/{page}.md")
    return "".join(re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL))


OFFICE: Final = (
    "for sure (0.999) at 154, almost never (0.001) at 49",
    "3.597 of epsilon_max 4",
    "3 tests, 0 failed",
    "15, 231",
    "tolerance",
)
CHAIN: Final = (
    "north, food │     118 │       4 │                      6, 286",
    "for sure (0.999) at 114, almost never (0.001) at 30",
    "a period carries 5; after 6 alarms",
    "3 tests, 0 failed",
)


def test_the_first_alarm(tmp_path: Path) -> None:
    """It is written, planned, run, changed and tried again, with the page's figures."""
    shown = played(tmp_path, script("first-alarm"))
    assert [said for said in OFFICE if said not in shown] == []
    assert re.search(r"crowd +│ +lobby +│ +[1-9] +│ .*2025-03-03 14:00", shown)


def test_own_data(tmp_path: Path) -> None:
    """The chain's alarm fits its budget and fires in the rush."""
    shown = played(tmp_path, script("your-own-data"))
    assert [said for said in CHAIN if said not in shown] == []
    assert re.search(r"rush +│ +north, food +│ +[1-9] ", shown)


@pytest.mark.integration
def test_on_kafka(own_broker: Broker, tmp_path: Path) -> None:
    """The dry run shows the alarm; the live worker is ready and ends; each has its ledger."""
    shown = played(tmp_path, script("on-kafka"), own_broker, watched=ALARM)
    assert shown.count(ALARM) == 1
    assert "live.db" in shown
