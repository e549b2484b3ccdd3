"""The YAML of a file of tests: every key and its type.

What groups, events and times mean is known with the alarm only: ``stream.config.cases.reading``
reads them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, PlainValidator, WithJsonSchema

from stream.config.closed import Closed
from stream.config.scalars import Name, Text, Whole, within, wrong
from stream.config.schema import shapes
from stream.config.yamlfile import Scalar

__all__ = ["CASE_EXAMPLES", "MOST_DRAWS", "CaseModel", "CasesModel", "WindowModel"]

_FEWEST_DRAWS: Final = 100
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
_Fires = Annotated[Any, PlainValidator(_tree), WithJsonSchema(shapes.one_or_by_name(_CHANCE))]
_Events = Annotated[Any, PlainValidator(_tree), WithJsonSchema(shapes.one_or_by_name(_GIVEN))]
_Files = Annotated[
    list[Text],
    BeforeValidator(_several),
    WithJsonSchema({"anyOf": [shapes.TEXT, {"type": "array", "items": shapes.TEXT}]}),
]


class WindowModel(Closed):
    """What is expected of one window."""

    start: Text
    """the instant that the window starts at; in timezone, unless it has an offset"""
    counts: _Counts = None
    """its exact aggregates by group, within contribution bounds; other groups are not checked"""
    dropped_by_bounds: dict[str, Whole] | None = None
    """number of events that contribution bounds drop: repeats, beyond_groups, ..."""
    fires: _Fires = None
    """how likely groups fire"""


class CaseModel(Closed):
    """One test."""

    name: Text
    """name of the test, printed with its verdict"""
    alarm: Name | None = None
    """name of the alarm; needed if there are several"""
    counts: _Counts = None
    """exact aggregates of one window, by group; 0 for other groups"""
    references: _Numbers = None
    """references of a band, by group, if a feed has them"""
    events: _Events = None
    """made-up events: a list, a file, or either by feed; counted as a replay counts"""
    fires: _Fires = None
    """how likely groups fire: >= 0.99, or 0.2 to 0.4"""
    windows: list[WindowModel] | None = None
    """what is expected of windows of the events"""
    dropped: dict[str, Whole] | None = None
    """number of dropped events, by reason; of a list, none by default"""
    sampled: (
        Annotated[
            Whole,
            within(
                _FEWEST_DRAWS,
                f"sampled is not from {_FEWEST_DRAWS} to {MOST_DRAWS:,}",
                "write sampled: 10000",
                MOST_DRAWS,
            ),
        ]
        | None
    ) = None
    """estimate by this many draws of the mechanism, if no exact law is known"""


class CasesModel(Closed):
    """One whole file of tests."""

    alarms: _Files
    """the configuration that is tested, or a list of them, beside this file"""
    tests: list[CaseModel]
    """inputs and expected results"""


CASE_EXAMPLES: Final = {
    "alarms": "alarms: alarms.yaml",
    "tests": "tests: [{name: a full hall fires, counts: {hall: 200}, fires: {hall: '>= 0.99'}}]",
    "name": "name: a full hall fires",
    "start": "start: 2025-03-03T09:00",
}
"""How a missing key is written."""
