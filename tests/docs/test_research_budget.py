"""How long the pages for researchers and developers may be, and what proofs name."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.support.tree import ROOT

DOCS = ROOT / "docs"
PROOFS = sorted((DOCS / "research/proofs").glob("*.md"))
MOST_ADRS = 15


def words(*pages):
    """Return how many words pages have together."""
    return sum(len(page.read_text().split()) for page in pages)


@cache
def all_tests():
    """Return the name of every test of the repository."""
    found = (ROOT / "tests").rglob("test_*.py")
    return frozenset(
        name for at in found for name in re.findall(r"def (test_\w+)\(", at.read_text())
    )


@pytest.mark.parametrize(
    ("pages", "most"),
    [
        ("research/proofs/*.md", 28_000),
        ("research/attempts.md", 910),
        ("adr/*.md", 8_000),
        ("research/papers.md", 6_300),
        ("dev/architecture.md", 3_300),
        ("dev/dependencies.md", 1_250),
        ("dev/protocol.md", 1_100),
    ],
)
def test_pages_stay_within_their_words(pages, most):
    """What a fact needs more is taken from another."""
    assert 0 < words(*DOCS.glob(pages)) <= most


def test_no_proof_is_longer_than_the_filters():
    """One page a mechanism: none but the filter's passes what is read in a quarter of an hour."""
    assert [page.name for page in PROOFS if words(page) > 3_300] == ["filter.md"]


def test_there_are_few_decision_records():
    """What is superseded is merged into the one that holds, of at most 700 words."""
    records = sorted((DOCS / "adr").glob("*.md"))
    assert 0 < len(records) <= MOST_ADRS
    assert [page.name for page in records if words(page) > 700] == []


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_a_proof_names_its_tests(page):
    """Each page names tests, and files and functions that it names are there."""
    text = page.read_text()
    files = re.findall(r"`(tests/[\w/]+(?:\.py|/))`", text)
    linked = re.findall(r"\]\((\.\./\.\./\.\./tests/[\w/]+\.py)\)", text)
    assert files or linked
    assert [name for name in files if not (ROOT / name).exists()] == []
    assert [name for name in re.findall(r"`(test_\w+)`", text) if name not in all_tests()] == []
