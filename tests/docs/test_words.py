"""How long pages may be: each has a budget of words, and so have all pages for users together."""

from __future__ import annotations

import re

import pytest

from tests.support.tree import ROOT

MOST = 36_000
"""Words that a user may have to read: all pages below, code and tables included."""

_TABLE = """\
tutorials/first-alarm.md                 600
tutorials/on-kafka.md                    500
tutorials/your-own-data.md               750
how-to/back-up-and-restore.md            700
how-to/board.md                          700
how-to/choose-an-alarm.md              1_000
how-to/deploy-compose.md               1_200
how-to/deploy-kubernetes.md              500
how-to/deviation-alarms.md             1_150
how-to/early-and-sliding.md              850
how-to/evaluate-on-history.md          1_050
how-to/lock.md                           600
how-to/maintain-the-ledger.md          1_200
how-to/mqtt-source.md                    800
how-to/notify.md                       1_200
how-to/read-the-plan.md                  800
how-to/recipes.md                        850
how-to/release.md                        300
how-to/secure.md                         700
how-to/size-the-budget.md              1_100
how-to/test-alarms.md                  1_100
how-to/troubleshoot.md                 1_100
how-to/upgrade-and-add-partitions.md     500
how-to/use-as-a-library.md             1_500
explanation/accounting.md                700
explanation/capacity.md                  800
explanation/checked-by-a-machine.md      200
explanation/guarantees-and-limits.md   1_300
explanation/mechanisms.md                750
explanation/windows-and-event-time.md    500
reference/cli.md                       2_600
reference/configuration.md             2_950
reference/glossary.md                    750
reference/metrics-and-alerts.md        1_850
reference/outcomes.md                  1_100
reference/records.md                     500
reference/stability.md                   550
reference/sql.md                       1_400
"""
BUDGETS = {page: int(most) for page, most in map(str.split, _TABLE.splitlines())}
"""Words of each page at most."""

SECTIONS = ("tutorials", "how-to", "reference", "explanation")
"""Folders of pages for users."""


def words(pages):
    """Return how many words pages have: what stands between blanks and has a letter or digit."""
    folder, _, name = f"docs/{pages}".rpartition("/")
    texts = (page.read_text() for page in (ROOT / folder).glob(name))
    return sum(len(re.findall(r"\S*\w\S*", text)) for text in texts)


BESIDE = {
    "../README.md": 1_300,
    "../CHANGELOG.md": 1_500,
    "index.md": 300,
    "research/proofs/*.md": 25_900,
    "research/attempts.md": 745,
    "research/papers.md": 5_200,
    "adr/*.md": 7_700,
    "dev/architecture.md": 2_900,
    "dev/dependencies.md": 1_050,
    "dev/protocol.md": 925,
}
"""The same of what a newcomer reads first, and of pages for researchers and developers."""


@pytest.mark.parametrize(("page", "most"), (BUDGETS | BESIDE).items())
def test_a_page_keeps_its_budget(page, most):
    """A page that grows is cut, or another home is found for what it says."""
    assert 0 < words(page) <= most


def test_no_proof_or_decision_is_long():
    """A quarter of an hour for a mechanism's page, but for the filter's; 15 decisions at most."""
    proofs, records = (
        (ROOT / "docs").glob(f"{place}/*.md") for place in ("research/proofs", "adr")
    )
    long = {page.name for page in proofs if words(f"research/proofs/{page.name}") > 3_300}
    assert long == {"filter.md"}
    assert 0 < len(found := [f"adr/{page.name}" for page in records]) <= 15
    assert max(map(words, found)) <= 700


def test_every_page_for_users_has_a_budget():
    """And all of them together stay within what can be read in an afternoon."""
    docs = ROOT / "docs"
    pages = {
        str(page.relative_to(docs)) for name in SECTIONS for page in (docs / name).rglob("*.md")
    }
    assert pages == set(BUDGETS)
    assert sum(words(page) for page in BUDGETS) <= MOST
