"""The worked examples of the accounting page are what the code prints."""

from __future__ import annotations

import doctest

import pytest

from tests.support.tree import ROOT

PAGE = ROOT / "docs" / "custodian" / "accounting.md"
SECTIONS = PAGE.read_text(encoding="utf-8").split("\n### ")


def test_every_worked_example_prints_what_the_page_says() -> None:
    """All examples run in one session, as a reader would type them."""
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 30


@pytest.mark.parametrize("section", SECTIONS[1:], ids=lambda text: text.splitlines()[0])
def test_every_section_is_a_worked_example(section: str) -> None:
    """No section only talks."""
    assert ">>> " in section
