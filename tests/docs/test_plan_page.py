"""The pages on locks and plans show what is resolved and planned today."""

from __future__ import annotations

import re

import pytest

from tests.support.commands import tocsin
from tests.support.tree import blocks, text_of

LOCK = text_of("docs/how-to/lock.md")
(WANTED,) = blocks(LOCK, "yml")
(PLAN,) = re.findall(
    r"```text\n(budget .*?)```", text_of("docs/how-to/read-the-plan.md"), flags=re.DOTALL
)


@pytest.fixture
def rooms(tmp_path):
    """Write the page's configuration, and its fifty rooms."""
    (tmp_path / "rooms.txt").write_text("".join(f"r{room}\n" for room in range(50)))
    path = tmp_path / "rooms.yaml"
    path.write_text(WANTED)
    return path


def test_the_plan_is_the_one_that_is_explained(rooms):
    """Locked as the page says; the other page has the plan word by word."""
    tocsin("lock", rooms, code=0)
    assert tocsin("plan", rooms).stdout == PLAN


def test_what_would_have_to_change_is_what_the_page_says(rooms):
    """With an epsilon of 1: another epsilon, or another threshold."""
    rooms.write_text(WANTED.replace('epsilon_max: "4"', 'epsilon_max: "1"'))
    found = tocsin("lock", rooms, code=3)
    for change in ('epsilon_max: "1.7670"', "a threshold just below 32"):
        assert change in LOCK
        assert change in found.stdout + found.stderr
