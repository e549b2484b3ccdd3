"""The page on tests of alarms: its example does what the page prints, and its schema knows it."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from jsonschema import Draft202012Validator

from deploy.site.mappings import models_of
from stream.config.cases.keys import CasesModel
from stream.config.closed import told
from stream.config.schema.document import cases_schema
from tests.support.badinputs.shapes import GOOD_CASES
from tests.support.commands import tocsin
from tests.support.examples import EXAMPLES
from tests.support.tree import blocks, text_of

MODELS = models_of(CasesModel)
PAGE = text_of("docs/how-to/test-alarms.md")
(EXAMPLE,) = blocks(PAGE, "yaml")
PASSES, FAILS = blocks(PAGE, "text")
(ALARMS,) = blocks(text_of("README.md"), "yaml")
SCHEMA = cases_schema()


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
def test_the_page_and_the_schema_have_every_key(place):
    """A key that is added to the models is described to editors, and on the page."""
    keys = MODELS[place].model_fields
    assert told(MODELS[place]).keys() == keys.keys()
    assert all(re.search(rf"[`\n {{-]{key}[`:]", PAGE) for key in keys)


@pytest.mark.parametrize("text", [EXAMPLE, GOOD_CASES], ids=["page", "good"])
def test_an_editor_underlines_what_is_wrong(text):
    """Good files pass the schema; a misspelt key or a value of another form does not."""
    check = Draft202012Validator(json.loads(tocsin("schema", "--tests").stdout))
    assert check.is_valid(yaml.safe_load(text.replace("T09:00", "x").replace("T10:00", "x")))
    Draft202012Validator.check_schema(SCHEMA)
    for old, new in (
        ("alarms: ", "alarm: "),
        ("name: ", "nam: "),
        ("windows:", "window:"),
        ("start: ", "starts: "),
        ("tests:", "tests: none\nothers:"),
    ):
        assert not check.is_valid(yaml.safe_load(text.replace(old, new))), new


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*/*_test.yaml")), ids=lambda path: path.parent.name
)
def test_the_examples_pass_the_schema(path):
    """What a newcomer copies is not underlined."""
    text = re.sub(r"start: \S+", "start: x", path.read_text())
    assert Draft202012Validator(SCHEMA).is_valid(yaml.safe_load(text))
