"""The Python that pages show prints what they say it prints."""

from __future__ import annotations

import doctest

import pytest

from tests.support.tree import ROOT

ACCOUNTING = ROOT / "docs" / "research" / "accounting-examples.md"
LIBRARY = ROOT / "docs" / "how-to" / "use-as-a-library.md"


@pytest.mark.parametrize("page", [ACCOUNTING, LIBRARY], ids=lambda page: page.stem)
def test_every_worked_example_prints_what_the_page_says(page):
    """All examples of a page run in one session, as a reader would type them."""
    # A checkout's modules have short names, and only tracebacks say them; the pages say those of a
    # wheel, which `tests/deploy/test_packaging.py` runs them with.
    text = page.read_text().replace("\ntocsin.accountant.", "\naccountant.")
    session = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    failed, tried = doctest.DocTestRunner().run(session)
    assert failed == 0
    assert tried > 30


def test_no_other_page_shows_python_that_is_not_run():
    """Snippets in the form of a session stand on these two pages only."""
    pages = {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if ">>> " in page.read_text()} == {ACCOUNTING, LIBRARY}
