"""The recipes pass `check` without a warning, fit their budgets, and cost what the page says."""

from __future__ import annotations

import pytest

from stream.config.loading import examine, load
from stream.planning.budget import budget_plan
from tests.support.commands import json_lines, tocsin
from tests.support.tree import blocks, text_of

PAGE = text_of("docs/how-to/recipes.md")
RECIPES = blocks(PAGE, "yaml")
NAMES = ("counters", "early", "presence", "passages")


def written(folder, text):
    """Write a recipe."""
    path = folder / "alarms.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", RECIPES, ids=NAMES)
def test_every_recipe_checks_and_fits(text, tmp_path):
    """Neither command objects, and neither warns."""
    path = str(written(tmp_path, text))
    findings = json_lines(tocsin("check", path, "--json"))
    assert [line["level"] for line in findings] == ["note"]
    tocsin("plan", path, code=0)


def test_a_wider_clip_needs_what_the_page_says(tmp_path):
    """With ten times the clip the same budget takes a tolerance beyond the threshold."""
    wide = RECIPES[0].replace("clip: [0, 5]", "clip: [0, 50]")
    alarms = load(written(tmp_path, wide.replace("> 200", "> 2000")), environ={})
    assert not budget_plan(alarms).fits
    wide = wide.replace("tolerance: 40", "tolerance: 400")
    (error,) = examined_errors(tmp_path, wide)
    assert "the tolerance of SUM(n) > 200 exceeds its lowest threshold, 200" in str(error)
    roomy = examine(written(tmp_path, wide.replace("> 200", "> 2000")), environ={})
    assert budget_plan(roomy.alarms).fits


def examined_errors(folder, text):
    """Return why a text cannot be used."""
    return examine(written(folder, text), environ={}).errors
