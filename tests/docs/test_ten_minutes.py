"""The README's first ten minutes: the commands of tutorials, which are run there as printed."""

from __future__ import annotations

import pytest

from tests.docs.test_tutorials import script
from tests.support.tree import blocks, text_of

README = text_of("README.md")
SECTION = README.split("\n## Ten minutes\n")[1].split("\n## ")[0]
BLOCKS = blocks(SECTION, "sh")


def test_nothing_but_the_command_is_typed():
    """Two blocks of commands: on files, and on the broker that `make kafka` runs."""
    files, kafka = BLOCKS
    typed = [line.split()[0] for line in (files + kafka).splitlines()]
    assert typed == ["tocsin"] * 9 + ["kill"]
    assert "`make kafka`" in SECTION


@pytest.mark.parametrize(("block", "page"), [(0, "first-alarm"), (1, "on-kafka")])
def test_a_tutorial_runs_it(block, page):
    """Each command stands in a tutorial, in this order, after the same beginning."""
    files, kafka = (text.splitlines() for text in BLOCKS)
    tutorial = iter(script(page).splitlines())
    assert all(line in tutorial for line in [files[0], *((files[1:], kafka)[block])])
