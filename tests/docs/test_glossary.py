"""The glossary is short, sorted, and linked where a page first uses one of its terms."""

from __future__ import annotations

import re

import pytest

from tests.support.tree import ROOT, cells

DOCS = ROOT / "docs"
GLOSSARY = DOCS / "reference" / "glossary.md"
PLAIN = frozenset(
    (
        *("alarm", "board", "budget", "charge", "decision", "denied", "domain", "feed", "fires"),
        *("group", "hold", "lock", "notice", "period", "replay", "score", "settle", "share"),
        "window",
    )
)
"""Terms that are also plain words: a reader takes them rightly where they come first."""

GENERATED = ("cli.md", "glossary.md")
PAGES = sorted(
    page
    for section in ("tutorials", "how-to", "explanation", "reference")
    for page in (DOCS / section).glob("*.md")
    if page.name not in GENERATED
)
LINKED = re.compile(r"\[[^\]]*\]\([^)]*\)")
UNREAD = re.compile(
    r"^---\n.*?^---$|```.*?```|<!-- (\w+) -->.*?<!-- /\1 -->|`[^`\n]*`|^#.*?$|^\|.*?$|^ {4}.*?$",
    flags=re.DOTALL | re.MULTILINE,
)
"""Code, what is made from code, headings and tables."""


def rows():
    """Return the terms of each of the glossary's rows, in their order."""
    return [row[0].replace("`", "") for row in cells(GLOSSARY.read_text())[2:]]


def terms():
    """Return the glossary's terms in their order."""
    return ", ".join(rows()).split(", ")


def first_unlinked(text):
    """Return where a page uses its first term, and which; None if that is a link, or none is."""
    named = sorted(set(terms()) - PLAIN, key=len, reverse=True)
    read = UNREAD.sub(lambda hidden: " " * len(hidden.group()), text)
    either = re.compile(rf"{LINKED.pattern}|\b(?P<term>{'|'.join(named)})s?\b", flags=re.IGNORECASE)
    for each in either.finditer(read):
        if each["term"]:
            return each.start(), each.group()
        if "glossary.md" in each.group():
            return None
    return None


def test_the_glossary_is_short():
    """At most 45 rows, in alphabetical order."""
    found = rows()
    assert 20 < len(found) <= 45
    assert found == sorted(found, key=str.lower)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_first_term_of_a_page_is_linked(page):
    """A reader who does not know it is one click away from what it means."""
    assert first_unlinked(page.read_text()) is None


def test_a_term_that_is_not_linked_is_caught():
    """The twin: also after another link; not in code, in a heading or behind the link."""
    assert first_unlinked("See [that](x.md): the ledger.\n") == (22, "ledger")
    linked = "# The ledger\n\n`epsilon` is the [ledger](glossary.md)'s; epsilon."
    assert first_unlinked(linked) is None
