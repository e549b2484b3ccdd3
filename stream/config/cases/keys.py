"""The YAML of a file of tests: every key and its type.

What groups, events and times mean is known with the alarm only: ``stream.config.cases.reading``
reads them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    WrapValidator,
)

from stream.config.cases.ranges import WRITTEN, Range, range_of
from stream.config.closed import Closed
from stream.config.scalars import Exact, Name, Reads, Text, Whole, by_name, shown, within, wrong

__all__ = ["CASE_EXAMPLES", "MOST_DRAWS", "CasesModel", "CountsModel", "EventsModel"]

_FEWEST_DRAWS: Final = 100
MOST_DRAWS: Final = 100_000
"""Draws of one estimate, at most."""


def _several(value: Any) -> Any:
    """Return what is no list as a list of one."""
    return value if isinstance(value, list) else [value]


def _range(value: Any) -> Range:
    """Return the probabilities that a value means."""
    if not isinstance(value, str):
        raise wrong("this has to be one probability", WRITTEN)
    try:
        return range_of(value)
    except ValueError as error:
        raise wrong(f"{shown(value)}: {error}", WRITTEN) from None


_Draws = Annotated[
    Whole,
    within(
        _FEWEST_DRAWS,
        f"sampled is not from {_FEWEST_DRAWS} to {MOST_DRAWS:,}",
        "write sampled: 10000",
        MOST_DRAWS,
    ),
]
_BY_NAME: Final = BeforeValidator(by_name)
_SEVERAL: Final = BeforeValidator(_several)
_Figures = Annotated[dict[str, Annotated[list[Exact], _SEVERAL]], _BY_NAME]
_Fires = Annotated[
    dict[str, Annotated[dict[str, Annotated[Range, Reads(_range)]], _BY_NAME]], _BY_NAME
]
"""Of a group, by severity level; under "" of any."""
_Events = Annotated[dict[str, Annotated[list[Any], _SEVERAL]], _BY_NAME]


class WindowModel(Closed):
    """What is expected of one window."""

    start: Text
    """the instant that the window starts at; in timezone, unless it has an offset"""
    counts: _Figures = Field(default_factory=dict)
    """its exact aggregates by group, within contribution bounds; other groups are not checked"""
    dropped_by_bounds: dict[str, Whole] = Field(default_factory=dict)
    """number of events that contribution bounds drop: repeats, beyond_groups, ..."""
    fires: _Fires = Field(default_factory=dict)
    """how likely groups fire"""


class CountsModel(Closed):
    """One test of a window's aggregates."""

    name: Text
    """name of the test, printed with its verdict"""
    alarm: Name | None = None
    """name of the alarm; needed if there are several"""
    counts: _Figures
    """exact aggregates of one window, by group; 0 for other groups"""
    references: _Figures | None = None
    """references of a band, by group, if a feed has them"""
    fires: _Fires
    """how likely groups fire: >= 0.99, or 0.2 to 0.4"""
    sampled: _Draws | None = None
    """estimate by this many draws of the mechanism, if no exact law is known"""


class EventsModel(Closed):
    """One test of events."""

    name: Text
    """name of the test, printed with its verdict"""
    alarm: Name | None = None
    """name of the alarm; needed if there are several"""
    events: _Events
    """made-up events: a list, a file, or either by feed; counted as a replay counts"""
    windows: list[WindowModel] = Field(min_length=1)
    """what is expected of windows of the events"""
    dropped: dict[str, Whole] | None = None
    """number of dropped events, by reason; of a list, none by default"""
    sampled: _Draws | None = None
    """estimate by this many draws of the mechanism, if no exact law is known"""


def _by_kind(value: Any, _: object, info: ValidationInfo) -> CountsModel | EventsModel:
    """Return a test: of events where it has some, else of counts."""
    kind = EventsModel if isinstance(value, dict) and "events" in value else CountsModel
    return kind.model_validate(value, context=info.context)


class CasesModel(Closed):
    """One whole file of tests."""

    alarms: Text
    """the configuration that is tested, beside this file"""
    tests: list[Annotated[CountsModel | EventsModel, WrapValidator(_by_kind)]] = Field(min_length=1)
    """inputs and expected results"""


CASE_EXAMPLES: Final = {
    "alarms": "alarms: alarms.yaml",
    "tests": "tests: [{name: a full hall fires, counts: {hall: 200}, fires: {hall: '>= 0.99'}}]",
    "name": "name: a full hall fires",
    "counts": "counts: {hall: 200} for one window's aggregates, or events: [...]",
    "fires": "fires: {hall: '>= 0.99'}",
    "windows": "windows: [{start: 2025-03-03T09:00, fires: {hall: '>= 0.99'}}]",
    "start": "start: 2025-03-03T09:00",
}
"""How a missing key is written."""
