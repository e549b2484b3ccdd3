"""The page on the five papers: what it names is there, and nothing of a paper is left out."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.support.names import classes, functions
from tests.support.tree import ROOT, anchors, cells

FOLDER = ROOT / "docs" / "research"
PAGE = (FOLDER / "papers.md").read_text()
HEAD = "| What | Where | Test | Here | Why otherwise |"

HERE = ("kept", "corrected", "replaced", "stand-in", "in part")
MEASURED = ("holds", "holds in part", "does not hold")
MISSING = ("not built yet", "not measured yet", "cannot be had", "not used")
SELF_EVIDENT = ("kept", "holds", *MISSING)
"""Words that need no reason beside them."""

PRINTED = {
    "MIDE": """
        Algorithm 1 to 5
        Definition 1 to 7
        Theorem 1 to 6, 8 to 12
        Lemma 7
        Figure 1 to 8
        Example 1
    """,
    "ProBE": """
        Algorithm 1 to 5
        Definition 2.1, 2.3, 2.4, 3.1, 3.2, 4.1, 4.4, C.1, C.2
        Theorem 2.2, 2.5, 4.2, 4.3, 4.5, 5.1, E.1
        Example 4.1, 5.1, C.1
        Figure 1 to 10
        Table 1 to 3
    """,
    "Sparse vector with exponential noise (SVT-Exp)": """
        Algorithm 1 to 5
        Definition 1 to 3
        Proposition 1
        Theorem 1 to 9
        Figure 1 to 17
        Table 1 to 6
    """,
    "Deciders of a band (DP-PQD)": """
        Algorithm 1 to 4
        Definition 2.2, 2.3, 2.4, 2.7, 2.10, 3.1, 3.2, 3.4, 5.7
        Proposition 2.6, 4.2, 4.3, 4.4, 4.5, 4.7, 5.2, 5.5, 6.2, B.1, C.1
        Observation 4.1, 4.6, 5.1, 5.4, 6.1, B.2
        Theorem 2.8, 5.8
        Example 1.1, 2.1, 2.5, 2.9, 2.11, 3.3, 5.3, 5.6
        Figure 1 to 23
        Table 1 to 6
    """,
    "Parallel composition": """
        Algorithm 1, 2
        Definition 1 to 8
        Proposition 1 to 9
        Lemma 1
        Corollary 1 to 3
        Example 1 to 3
        Theorem 1 to 9
        Figure 1 to 10
        Table 1
    """,
}
"""What each paper prints under a number: sections by their headings on the page."""

NUMBER = r"(?:[A-E]\.)?\d+(?:\.\d+)?"
NUMBERED = re.compile(
    r"\b(Algorithm|Definition|Theorem|Lemma|Proposition|Observation|Corollar|Figure|Table|Example)"
    rf"(?:s|y|ies)? ({NUMBER}(?:(?:, | and | to ){NUMBER})*)"
)


class Row(NamedTuple):
    """One line of a paper's table."""

    what: str
    where: str
    test: str
    here: str
    why: str


def rows_of(page):
    """Return the rows of every paper's table, by its heading."""
    found = {}
    for section in page.split("\n## ")[1:]:
        heading = section.partition("\n")[0]
        table = section.partition(f"{HEAD}\n")[2]
        found[heading] = [Row(*row) for row in cells(table)[1:]]
    return found


def listed(numbers):
    """Return the numbers of a text such as ``1, 3 to 5 and B.1``."""
    found = set()
    for part in re.split(r", | and ", numbers):
        first, _, last = part.partition(" to ")
        found |= set(map(str, range(int(first), int(last) + 1))) if last else {first}
    return found


def numbered(text):
    """Return the numbers of each kind that a text names."""
    found = {}
    for kind, numbers in NUMBERED.findall(text):
        found.setdefault(kind.replace("Corollar", "Corollary"), set()).update(listed(numbers))
    return found


def named(rows):
    """Return the numbers of each kind that the rows are about."""
    return numbered("\n".join(row.what for row in rows))


def links(text):
    """Return the text and the target of every link within the repository."""
    return re.findall(r"\[([^]]+)\]\((?!https?:)([^)\s]+)\)", text)


def broken(text):
    """Return the links of the page that name a file, a heading or a name that is not there."""
    found = []
    for shown, target in links(text):
        path, _, anchor = target.partition("#")
        file = (FOLDER / path).resolve()
        name = shown.strip("`")
        there = (
            file.is_file()
            and (not anchor or anchor in anchors(file.read_text()))
            and (file.suffix != ".py" or name in functions(file) | classes(file))
        )
        if not there:
            found.append(f"{shown} in {target}")
    return found


FIGURE = r"\d+(?:,\d{3})*(?:\.\d+)?"
QUOTED = re.compile(r"\[([^]]+)\]\(((?:\.\./)+benchmarks/[^)#]+\.md)")


def invented(text):
    """Return figures in the words of links to reports that the report does not have."""
    found = []
    for words, target in QUOTED.findall(text):
        report = re.findall(FIGURE, (FOLDER / target).read_text())
        told = re.findall(FIGURE, re.sub(r"Figures? \d+", "", words))
        found += [f"{one} in {target}" for one in told if one not in report]
    return found


ROWS = rows_of(PAGE)
EVERY = [row for rows in ROWS.values() for row in rows]


def test_what_the_page_names_is_there():
    """Files exist, with the headings, functions and classes that links to them name."""
    assert len(links(PAGE)) > 200
    assert broken(PAGE) == []


@pytest.mark.parametrize(
    "text",
    [
        "[`Tslm`](../../operators/single/tslms.py)",
        "[`Tslms`](../../operators/single/tslm.py)",
        "[`test_promises`](../../tests/statistical/test_tslm_exact.py)",
        "[least](proofs/tslm.md#no-mechanism-pays-more)",
    ],
    ids=["file", "class", "test", "heading"],
)
def test_a_link_that_died_is_found(text):
    """A file, a name or a heading that is gone is told."""
    assert broken(text)


def test_figures_are_those_of_the_reports():
    """What the page quotes with a link to a report stands in it, digit by digit."""
    assert len(QUOTED.findall(PAGE)) > 50
    assert invented(PAGE) == []
    assert invented(PAGE.replace("[FPR 0.199 against", "[FPR 0.1991 against"))


@pytest.mark.parametrize("paper", PRINTED)
def test_nothing_of_a_paper_is_left_out(paper):
    """The rows of a paper are about everything that it numbers, and about nothing else."""
    assert named(ROWS[paper]) == numbered(PRINTED[paper])


def test_a_row_that_went_missing_is_found():
    """Without its row an algorithm is missed, as is one that the paper does not have."""
    printed = numbered(PRINTED["MIDE"])
    rest = [row for row in ROWS["MIDE"] if not row.what.startswith("Algorithm 2")]
    assert len(rest) == len(ROWS["MIDE"]) - 1
    assert named(rest) != printed
    assert named([*ROWS["MIDE"], ROWS["MIDE"][0]._replace(what="Algorithm 6")]) != printed


@pytest.mark.parametrize("row", EVERY, ids=lambda row: row.what[:40])
def test_a_row_says_what_became_of_it(row):
    """One known word; code and tests where it is here or was measured; a reason if it is not."""
    word = row.here.partition(":")[0]
    assert word in (*HERE, *MEASURED, *MISSING)
    assert row.why or word in SELF_EVIDENT
    if word in (*HERE, *MEASURED):
        assert links(row.where)
        assert all("/test_" in target for _, target in links(row.test))
        assert links(row.test)
    if word in MEASURED:
        assert any("benchmarks/" in target for _, target in links(row.here))
