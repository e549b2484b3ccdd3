"""The page on tests of alarms: its example does what the page prints, and it has every key."""

from __future__ import annotations

import re

import pytest

from deploy.site.mappings import models_of
from stream.config.cases.keys import CasesModel
from stream.config.closed import told
from tests.support.commands import tocsin
from tests.support.tree import blocks, text_of

MODELS = models_of(CasesModel)
PAGE = text_of("docs/how-to/test-alarms.md")
(EXAMPLE,) = blocks(PAGE, "yaml")
PASSES, FAILS = blocks(PAGE, "text")
(ALARMS,) = blocks(text_of("README.md"), "yaml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write the README's alarm and the page's tests, and work beside them."""
    (tmp_path / "alarms.yaml").write_text(ALARMS)
    (tmp_path / "rooms.txt").write_text("2.14\n2.15\n")
    (tmp_path / "alarms_test.yaml").write_text(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_prints_what_the_page_says(folder):
    """All pass; with one room an hour, the one that the README's cap is for fails as shown."""
    assert tocsin("test", "alarms_test.yaml").stdout == PASSES
    narrow = ALARMS.replace("max_groups_per_window: 2", "max_groups_per_window: 1")
    assert narrow != ALARMS
    (folder / "alarms.yaml").write_text(narrow)
    result = tocsin("test", "alarms_test.yaml", code=1)
    assert FAILS in result.stdout


@pytest.mark.parametrize("place", MODELS, ids=".".join)
def test_the_page_has_every_key(place):
    """A key that is added to the models is described there, and on the page."""
    keys = MODELS[place].model_fields
    assert told(MODELS[place]).keys() == keys.keys()
    assert all(re.search(rf"[`\n {{-]{key}[`:]", PAGE) for key in keys)
