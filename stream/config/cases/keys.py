"""The YAML of a file of tests: every key and its type.

What predicates, events and times mean is known with the alarm only: ``stream.config.cases.reading``
reads them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, PlainValidator, WithJsonSchema

from stream.config.closed import Closed, models_of
from stream.config.scalars import Name, Text, Whole, wrong
from stream.config.schema import shapes
from stream.config.yamlfile import Scalar

__all__ = ["CASE_EXAMPLES", "CASE_MODELS", "MOST_DRAWS", "CaseModel", "CasesModel", "WindowModel"]

MOST_DRAWS: Final = 100_000
"""Draws of one estimate, at most."""


def _several(value: Any) -> Any:
    """Return a single value as a list of one."""
    return [value] if isinstance(value, Scalar) else value


def _tree(value: Any) -> Any:
    """Return a value as it is, unless there is none."""
    if isinstance(value, Scalar) and (value.kind == "null" or not value.text.strip()):
        raise wrong("the value is empty", "write a value, or remove the key")
    return value


_NUMBERS: Final = {"anyOf": [shapes.EXACT, {"type": "array", "items": shapes.EXACT}]}
_CHANCE: Final = {"type": ["string", "number"], "minLength": 1}
_EVENTS: Final = {"type": "array", "items": {"type": "object"}}
_GIVEN: Final = {"anyOf": [_EVENTS, shapes.TEXT]}

_Counts = Annotated[Any, PlainValidator(_tree), WithJsonSchema(shapes.one_or_by_name(_NUMBERS))]
_Numbers = Annotated[
    Any, PlainValidator(_tree), WithJsonSchema(shapes.one_or_by_name(shapes.EXACT))
]
_Ring = Annotated[Any, PlainValidator(_tree), WithJsonSchema(shapes.one_or_by_name(_CHANCE))]
_Events = Annotated[Any, PlainValidator(_tree), WithJsonSchema(shapes.one_or_by_name(_GIVEN))]
_Files = Annotated[
    list[Text],
    BeforeValidator(_several),
    WithJsonSchema({"anyOf": [shapes.TEXT, {"type": "array", "items": shapes.TEXT}]}),
]


class WindowModel(Closed):
    """What is expected of one window."""

    start: Text
    counts: _Counts = None
    left_out: dict[str, Whole] | None = None
    ring: _Ring = None


class CaseModel(Closed):
    """One test."""

    name: Text
    alarm: Name | None = None
    counts: _Counts = None
    references: _Numbers = None
    events: _Events = None
    ring: _Ring = None
    windows: list[WindowModel] | None = None
    dropped: dict[str, Whole] | None = None
    sampled: Whole | None = None


class CasesModel(Closed):
    """One whole file of tests."""

    alarms: _Files
    tests: list[CaseModel]


CASE_MODELS: Final = models_of(CasesModel)
"""Which model reads which mapping."""

CASE_EXAMPLES: Final = {
    "alarms": "alarms: alarms.yaml",
    "tests": "tests: [{name: a full hall rings, counts: {hall: 200}, ring: {hall: '>= 0.99'}}]",
    "name": "name: a full hall rings",
    "start": "start: 2025-03-03T09:00",
}
"""How a missing key is written."""
