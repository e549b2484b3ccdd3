"""The reference of the library has what the guide imports; ruff asks for its docstrings."""

from __future__ import annotations

import re

from deploy.site.api import PACKAGES, page
from tests.support.tree import text_of


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
