"""The protocol's models in their smallest versions; ``make model`` searches all of them."""

from __future__ import annotations

import pytest

from tests.model.check import VARIANTS, search

SMALL = (
    *("one ledger", "replays"),
    *("published before it is stored", "V6: no heads", "a refused window is not ended"),
)


@pytest.mark.long
@pytest.mark.parametrize(
    "variant", [one for one in VARIANTS if one.name in SMALL], ids=lambda variant: variant.name
)
def test_a_promise_is_kept_by_the_model_and_broken_by_its_twins(variant):
    """Every state of a model keeps the promises; the step that is broken is found by its name."""
    found = search(variant)
    assert found.broken is not variant.kept, found.said
    assert found.states > 10


def test_a_missing_tool_is_named(monkeypatch):
    """Without spin nothing passes for checked."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="missing: spin"):
        search(VARIANTS[0])
