"""The reference of commands, keys, metrics and alerts is what the code says, and complete."""

from __future__ import annotations

import pytest
from pydantic import Field

from deploy.site.reference import FOLDER, PAGES, UndescribedError, keys, written
from stream.config.closed import Closed


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name):
    """``python -m deploy.site.reference --write`` would change nothing."""
    assert (FOLDER / name).read_text() == written(name)


class Inner(Closed):
    """A mapping below another, with a key that nobody described."""

    forgotten: int = 1


class Outer(Closed):
    """A mapping whose own key is described."""

    inner: Inner = Field(default_factory=Inner)
    """said"""


def test_a_key_without_a_description_fails():
    """Also in a mapping below another; the error names its place."""
    with pytest.raises(UndescribedError, match=r"^inner\.forgotten$"):
        list(keys(Outer))
