"""The page about the protocol's models names functions and variants that are there."""

from __future__ import annotations

import re

from tests.model.check import VARIANTS
from tests.support.names import functions
from tests.support.tree import ROOT, text_of

PAGE = text_of("docs/dev/protocol.md")
STEPS = re.findall(r"`((?:accountant|operators|stream)/[a-z_/]+\.py):([A-Za-z_.]+)`", PAGE)


def test_every_step_is_a_function():
    """What the page maps a step to is defined where it says."""
    assert len(STEPS) > 20
    assert [(at, name) for at, name in STEPS if name not in functions(ROOT / at)] == []


def test_every_row_of_steps_names_a_function():
    """No row of the table of steps goes without one."""
    table = PAGE.split("| Step | Code |\n|---|---|\n")[1].split("\n\n")[0]
    assert all(re.search(r"\.py:[A-Za-z_.]+`", row) for row in table.splitlines())


def test_every_broken_variant_is_explained_with_its_promise():
    """The page's tables of variants and the table that is searched say the same."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([a-z]+)` \|$", PAGE, flags=re.MULTILINE)
    broken = [(one.name, one.promise) for one in VARIANTS if not one.kept]
    assert sorted(rows) == sorted(broken)
