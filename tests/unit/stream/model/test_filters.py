"""Filters as text, and the fields that they read."""

from __future__ import annotations

from operators.conditions.comparison import Comparison
from stream.model.feeds import FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or


def test_descriptions_are_canonical_and_tell_filters_apart():
    """Equal filters read alike; quotes inside names and literals cannot fake structure."""
    size = Compare("size", FieldType.INTEGER, Comparison.GE, 3)
    both = And((size, Not(IsIn("name", FieldType.STRING, ("b", "a", "b")))))
    assert both.describe() == """("size" >= 3) AND (NOT ("name" IN ('a', 'b')))"""
    assert both.fields == {"size", "name"}
    assert Or((both, IsNull("ts"))).fields == {"size", "name", "ts"}
    sly = Compare('a" = 1 OR "b', FieldType.STRING, Comparison.EQ, "it's")
    assert sly.describe() == '"a"" = 1 OR ""b" = \'it\'\'s\''
    truth = Compare("open", FieldType.BOOLEAN, Comparison.EQ, value=True)
    assert truth.describe() == '"open" = TRUE'
