"""The text of a filled template; how names and values are spelt in it: ``test_init_samples.py``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stream.planning.templates.answers import TEMPLATES

OFFICE = TEMPLATES["office"]


@pytest.mark.parametrize("per", ["../room", "/room", "a b", "", "r" * 300])
def test_no_name_of_a_field_leaves_the_folder(per):
    """The file of values is called after the field where that is a plain word."""
    assert replace(OFFICE, group_by=(per,)).values_file(per) == "values-1.txt"
    assert OFFICE.values_file("room") == "rooms.txt"
