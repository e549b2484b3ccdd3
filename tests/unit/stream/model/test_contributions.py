"""Words for what a unit counts for."""

from __future__ import annotations

from stream.model.contributions import plural


def test_plurals():
    """Names of fields have their regular plurals."""
    nouns = ("room", "country", "day", "branch", "bus")
    assert [plural(noun) for noun in nouns] == ["rooms", "countries", "days", "branches", "buses"]
