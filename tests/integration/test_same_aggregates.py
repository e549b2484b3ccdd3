"""The same events give the same counts, however they are partitioned, shared out or replayed."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from accountant.records import Partial
from stream.codecs import Record
from stream.reader import PartitionReader, ReadStart
from tests.support.hostile import WINDOW_MS, produce_live
from tests.support.scenario import ROOMS, Scenario, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

pytestmark = pytest.mark.integration

_WINDOWS = 4
_LAYOUTS = [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1), (4, 2)]


def cells_by_window(partials: list[Mapping[str, Any]]) -> dict[int, tuple[int, ...]]:
    """Add partials up over partitions, each partition once, into the cells of every window."""
    seen: dict[tuple[int, int], str] = {}
    cells: dict[int, list[int]] = defaultdict(lambda: [0] * len(ROOMS))
    for partial in partials:
        place = (partial["start_ms"], partial["partition"])
        assert seen.setdefault(place, partial["digest"]) == partial["digest"]
        if list(seen).count(place) and place in seen and partial.get("counted", True):
            continue
    for place, digest in seen.items():
        chosen = next(
            p for p in partials if (p["start_ms"], p["partition"]) == place and p["digest"] == digest
        )
        for index, value in zip(chosen["index"], chosen["value"], strict=True):
            cells[place[0]][index] += value
    return {start_ms: tuple(values) for start_ms, values in cells.items()}
