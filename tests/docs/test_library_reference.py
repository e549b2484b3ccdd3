"""The reference of the library says something of every name."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.docs.api import PACKAGES, page
from tests.support.tree import text_of


@pytest.mark.parametrize("name", PACKAGES)
def test_every_exported_name_is_explained(name):
    """A class or function without a docstring would be an empty section."""
    package = importlib.import_module(name)
    silent = [
        each
        for each in package.__all__
        if callable(getattr(package, each)) and not getattr(package, each).__doc__
    ]
    assert not silent


def test_the_names_of_the_guide_are_in_the_reference():
    """What the guide imports from a package is on the package's page, or its room is named."""
    guide = text_of("docs/how-to/use-as-a-library.md")
    imports = re.findall(r"^>>> from (\S+) import (.+)$", guide, flags=re.MULTILINE)
    ours = [(where, names) for where, names in imports if where in PACKAGES]
    assert len(ours) > 5
    for where, names in ours:
        shown = page(where)
        for name in names.split(", "):
            assert f"## `{name}`" in shown, (where, name)
