"""What the documents name exists, and what they show works."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from accountant.budget import filter as budget_filter
from accountant.costs import minentropy
from operators.conditions import formula, score
from operators.deciders import quantiles, single, sums, tight
from operators.formulas import probe, probe_ent, treewalk
from operators.noise import gradual
from operators.noise import source as noise
from operators.single import nlm, progressive, tslm
from operators.svt import difference, mechanism, run
from stream.cli.main import main
from tests.support.names import functions
from tests.support.tree import ROOT, text_of

README = text_of("README.md")
PAGES = sorted(
    {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")}
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Every relative link of a page names a file of the repository."""
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_readme_commands_exist():
    """The README has every `tocsin` command and no other."""
    commands = set(re.findall(r"`?tocsin ([a-z]+)\b", README)) & set(
        re.findall(r"^\s*\|? ?`?tocsin ([a-z]+)", README, flags=re.MULTILINE)
    )
    assert commands == set(main.commands)


def test_make_targets_exist():
    """Every `make` target that a page names is in the Makefile."""
    pages = "\n".join(page.read_text() for page in PAGES)
    found = set(re.findall(r"(?:^|`)make ([a-z-]+)", pages, flags=re.MULTILINE))
    targets = re.findall(r"^([a-z-]+):", text_of("Makefile"), flags=re.MULTILINE)
    assert len(found) > 5
    assert sorted(found.difference(targets)) == []


@pytest.mark.parametrize(
    "module",
    [
        *(noise, tslm, nlm, gradual, progressive, formula, score, treewalk, probe, probe_ent),
        *(difference, mechanism, run, quantiles, single, sums, tight, budget_filter, minentropy),
    ],
    ids=lambda module: module.__name__,
)
def test_mechanisms_link_their_proofs(module):
    """A mechanism's module names the page that proves it, and the page exists."""
    text = Path(str(module.__file__)).read_text()
    pages = re.findall(r"docs/research/proofs/[a-z-]+\.md", text)
    assert pages
    assert all((ROOT / page).exists() for page in pages)


def test_every_attempt_is_enumerated():
    """Each row of the page of attempts names tests, and they are where it says."""
    page = ROOT / "docs" / "research" / "attempts.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"\[`(test_\w+)`\]\(([^)]+)\)", row)
        assert named or "of these tests" in row, row
        for test, file in named:
            assert test in functions(page.parent / file), (test, file)


@cache
def all_tests():
    """Return the name of every test of the repository."""
    return {name for at in (ROOT / "tests").rglob("test_*.py") for name in functions(at)}


PROOFS = sorted((ROOT / "docs/research/proofs").glob("*.md"))


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_a_proof_names_its_tests(page):
    """Each page names tests, and files and functions that it names are there."""
    text = page.read_text()
    files = re.findall(r"`(tests/[\w/]+(?:\.py|/))`", text)
    assert files or "](../../../tests/" in text
    assert [name for name in files if not (ROOT / name).exists()] == []
    assert set(re.findall(r"`(test_\w+)`", text)) <= all_tests()
