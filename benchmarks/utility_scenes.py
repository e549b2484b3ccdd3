"""The scenes of ``benchmarks.utility``: what is asked of which data, and the ways to have it.

Thresholds, what is usual and caps are chosen as somebody would who knows the place: round numbers,
and for caps the mean and the 95th percentile of the windows that a person is in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["SCENES", "STEPS", "Scene", "Way"]

ROOT: Final = Path(__file__).resolve().parents[1]
_OFFICE: Final = ROOT / "examples" / "office" / "badges.jsonl"
_RETAIL: Final = ROOT / "examples" / "retail" / "online_retail.parquet"
_BADGES: Final = "vast2016_prox.csv.zst"
_TAXI: Final = "green_tripdata_2022-01.parquet"


@dataclass(frozen=True, slots=True)
class Way:
    """One way to have an alarm.

    Args:
        name: in the report.
        mechanism: as configurations have it.
        windows: in SQL; the scene's where empty.
        cap: ``windows_per_period``.
        keys: keys of the mechanism.
        new: whether it is one of those that are measured beside the others.
    """

    name: str
    mechanism: str
    windows: str = ""
    cap: int | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    new: bool = False

    @property
    def early(self) -> bool:
        """Whether windows are looked at while they fill."""
        return self.windows.startswith("CUMULATE")


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """An alarm on some data, and the ways to have it.

    Args:
        name: short.
        title: of its part of the report.
        about: what it is, in sentences.
        read: reads times (ms), cells and people, of the data in a folder; ``None`` where there are
            none.
        cells: its predicates.
        aggregate: in SQL.
        threshold: the aggregate is to be above it.
        windows: in SQL, as asked for.
        budget: in YAML, caps aside.
        contribution: caps of a window.
        wants: keys of the wish, ``max_fnr`` aside.
        history: first day, and the day after the last one.
        ways: to be compared.
        active: the schedule; always where empty.
        soon: whether what is sought is less delay, and not less tolerance.
    """

    name: str
    title: str
    about: str
    read: Callable[[Path | None], tuple[NDArray[np.int64], Sequence[str], Sequence[str]] | None]
    cells: Sequence[str]
    aggregate: str
    threshold: int
    windows: str
    budget: str
    contribution: str
    wants: Mapping[str, str]
    history: tuple[date, date]
    ways: Sequence[Way]
    active: str = ""
    soon: bool = False

    feed: ClassVar[str] = "events"
    max_fnr: ClassVar[str] = "0.05"

    @property
    def distinct(self) -> bool:
        """Whether people are counted, and not events."""
        return "DISTINCT" in self.aggregate

    @property
    def wished(self) -> str:
        """The wish, in words."""
        wants = {**self.wants, "max_fnr": self.max_fnr}
        return ", ".join(f"`{key}: {value}`" for key, value in wants.items())

    def prepare(self, source: Path | None, folder: Path) -> bool:
        """Write the events of the history that lie in the scene's cells; tell if data are there.

        Args:
            source: where the real data are.
            folder: where to.
        """
        read = self.read(source)
        if read is None:
            return False
        times, cells, people = read
        first, last = (_midnight_ms(day) for day in self.history)
        known = np.isin(np.array(cells), np.array(self.cells))
        kept = np.flatnonzero(known & (times >= first) & (times < last))
        kept = kept[np.argsort(times[kept], kind="stable")]
        columns = {
            "ts": pa.array(times[kept], pa.timestamp("ms", "UTC")),
            "cell": pa.array(np.array(cells)[kept]),
            "person": pa.array(np.array(people)[kept]),
        }
        parquet.write_table(pa.table(columns), self.events(folder))
        return True

    def events(self, folder: Path) -> Path:
        """Return the file of the events."""
        return folder / "events.parquet"

    def rows(self, folder: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return times (ms), numbers of cells and numbers of people of the events."""
        found = parquet.read_table(self.events(folder))
        times = found["ts"].to_numpy().astype("datetime64[ms]").astype(np.int64)
        at = {cell: number for number, cell in enumerate(self.cells)}
        cells = np.array([at[each] for each in found["cell"].to_pylist()], np.int64)
        _, people = np.unique(found["person"].to_pylist(), return_inverse=True)
        return times, cells, people.astype(np.int64)

    def wish(self) -> str:
        """Return the configuration that says what is wanted."""
        return self._file(self.windows, None, self.wants)

    def text(self, way: Way, tolerance: int) -> str:
        """Return the configuration of one way.

        Args:
            way: which one.
            tolerance: in units of the aggregate.
        """
        own = ", ".join(f"{key}: {value}" for key, value in way.keys.items())
        mechanism = f"{{{way.mechanism}: {{{own}}}}}" if own else way.mechanism
        keys = {"mechanism": mechanism, "tolerance": str(tolerance)}
        return self._file(way.windows or self.windows, way.cap, keys)

    def _file(self, windows: str, cap: int | None, keys: Mapping[str, str]) -> str:
        caps = [self.contribution] if self.contribution else []
        caps += [f"max_windows_per_period: {cap}"] if cap else []
        contribution = f", contribution: {{{', '.join(caps)}}}" if caps else ""
        active = f'    active: "{self.active}"\n' if self.active else ""
        lines = "".join(f"    {key}: {value}\n" for key, value in keys.items())
        domain = ", ".join(f'"{cell}"' for cell in self.cells)
        first, last = self.history
        select = f"SELECT cell FROM {self.feed}"  # noqa: S608 -- the language under test
        return (
            "feeds:\n"
            f"  {self.feed}:\n"
            "    topic: events\n"
            "    time: ts\n"
            "    unit: person\n"
            f"    fields: {{person: string, cell: {{domain: [{domain}]}}, ts: timestamp}}\n"
            f"    history: {{from: {first}, until: {last}}}\n"
            f"budget: {{{self.budget}{contribution}}}\n"
            "alarms:\n"
            "  alarm:\n"
            "    sql: |\n"
            f"      {select} GROUP BY cell, {windows}\n"
            f"      HAVING {self.aggregate} > {self.threshold}\n"
            f"{active}    max_fnr: {self.max_fnr}\n{lines}"
        )


def _midnight_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def _office(_: Path | None) -> tuple[NDArray[np.int64], Sequence[str], Sequence[str]] | None:
    """Read the example's readings, local times as if they were UTC."""
    from json import loads  # noqa: PLC0415  # one scene reads lines

    rows = [loads(line) for line in _OFFICE.read_text(encoding="utf-8").splitlines()]
    times = np.array([row["ts"][:19] for row in rows], "datetime64[ms]").astype(np.int64)
    return times, [row["room"] for row in rows], [row["person"] for row in rows]


def _badges(source: Path | None) -> tuple[NDArray[np.int64], Sequence[str], Sequence[str]] | None:
    if source is None or not (source / _BADGES).is_file():
        return None
    with pa.input_stream(str(source / _BADGES), compression="zstd") as stream:
        text = stream.read().decode("utf-8").splitlines()[1:]
    rows = [[part.strip() for part in line.split(",")] for line in text]
    times = np.array([row[0] for row in rows], "datetime64[ms]").astype(np.int64)
    return times, [f"{row[3]}/{row[4]}" for row in rows], [row[2] for row in rows]


def _taxi(source: Path | None) -> tuple[NDArray[np.int64], Sequence[str], Sequence[str]] | None:
    if source is None or not (source / _TAXI).is_file():
        return None
    found = parquet.read_table(source / _TAXI)
    times = found["lpep_pickup_datetime"].to_numpy().astype("datetime64[ms]").astype(np.int64)
    zones = [str(zone) for zone in found["PULocationID"].to_pylist()]
    return times, zones, [str(number) for number in range(len(zones))]


def _shop(_: Path | None) -> tuple[NDArray[np.int64], Sequence[str], Sequence[str]] | None:
    found = parquet.read_table(_RETAIL)
    known = found.filter(compute.is_valid(found["customer"]))
    times = known["at"].to_numpy().astype("datetime64[ms]").astype(np.int64)
    people = [str(each) for each in known["customer"].to_pylist()]
    return times, [str(each) for each in known["country"].to_pylist()], people


_SINGLE: Final = tuple(Way(name, name) for name in ("tslm", "ppwlm", "dppwlm"))
_RUNS: Final = tuple(
    Way(f"svt, {alarms} alarms", "svt", keys={"max_alarms": str(alarms)}) for alarms in (5, 10)
)
_HOUR: Final = "TUMBLE(ts, INTERVAL '1' HOUR)"
_SLIDING: Final = "HOP(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)"
STEPS: Final = "CUMULATE(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)"
_ZONES: Final = ("41", "42", "74", "75", "95", "97", "166", "7")
_RIDES: Final = (date(2022, 1, 15), date(2022, 1, 29))


def _capped(cap: int) -> Way:
    name = "tslm, one window a period" if cap == 1 else f"tslm, {cap} windows a period"
    return Way(name, "tslm", cap=cap, new=True)


SCENES: Final[Mapping[str, Scene]] = {
    scene.name: scene
    for scene in (
        Scene(
            name="office",
            title="The office example",
            about=(
                "Different people in a room and hour above 80, epsilon 4 a person and day of 15"
                " hours, two rooms an hour. People are in 4.4 of the 15 hours, 7 at the 95th"
                " percentile. The readings are simulated."
            ),
            read=_office,
            cells=(
                *("atrium", "auditorium", "canteen", "floor-1-east", "floor-1-west"),
                *("floor-2-east", "floor-2-west", "floor-3-east", "lab", "library"),
                *("meeting-blue", "meeting-green", "meeting-red"),
            ),
            aggregate="COUNT(DISTINCT person)",
            threshold=80,
            windows=_HOUR,
            budget='privacy_unit: user, epsilon_max: "4", period: 1d',
            contribution="max_groups_per_window: 2, max_events_per_group: 1",
            active="Mon-Fri 07:00-22:00",
            wants={"baseline": "40", "false_alarms": "1 per day"},
            history=(date(2025, 3, 3), date(2025, 3, 8)),
            ways=(*_SINGLE, *_RUNS, _capped(7), _capped(4)),
        ),
        Scene(
            name="badges",
            title="Badge readings of the VAST challenge",
            about=(
                "Different people in a zone and hour above 40, 20 zones, epsilon 4 a person and day"
                " of 15 hours, two zones an hour. People are in 6.6 of the 15 hours, 11 at the 95th"
                " percentile. The readings are simulated."
            ),
            read=_badges,
            cells=(
                *("1/1", "1/2", "1/3", "1/4", "1/5", "1/6", "1/7", "1/8"),
                *("2/1", "2/2", "2/3", "2/4", "2/5", "2/6", "2/7"),
                *("3/1", "3/2", "3/3", "3/4", "3/6"),
            ),
            aggregate="COUNT(DISTINCT person)",
            threshold=40,
            windows=_HOUR,
            budget='privacy_unit: user, epsilon_max: "4", period: 1d',
            contribution="max_groups_per_window: 2, max_events_per_group: 1",
            active="Mon-Fri 07:00-22:00",
            wants={"baseline": "15", "false_alarms": "1 per day"},
            history=(date(2016, 6, 1), date(2016, 6, 11)),
            ways=(*_SINGLE, *_RUNS, _capped(11), _capped(6)),
        ),
        Scene(
            name="taxi-sliding",
            title="New York's taxis, an hour that slides",
            about=(
                "Pickups of a zone above 30 within an hour, looked at every five minutes, in the"
                " eight busiest zones; epsilon 3 for a ride, whatever windows it lies in."
            ),
            read=_taxi,
            cells=_ZONES,
            aggregate="COUNT(*)",
            threshold=30,
            windows=_SLIDING,
            budget='privacy_unit: event, epsilon_max: "3"',
            contribution="",
            wants={"baseline": "8", "false_alarms": "1 per day"},
            history=_RIDES,
            ways=(*_SINGLE, Way("panes", "panes", new=True)),
        ),
        Scene(
            name="taxi-early",
            title="New York's taxis, an hour that is too long to wait",
            about=(
                "Pickups of a zone above 30 in an hour of the clock, to be told within ten minutes;"
                " epsilon 1 for a ride."
            ),
            read=_taxi,
            cells=_ZONES,
            aggregate="COUNT(*)",
            threshold=30,
            windows=_HOUR,
            budget='privacy_unit: event, epsilon_max: "1"',
            contribution="",
            wants={"baseline": "8", "false_alarms": "1 per day", "max_delay": "10m"},
            history=_RIDES,
            ways=(
                *_SINGLE,
                Way("tslm, every 5 minutes", "tslm", STEPS, new=True),
                Way("svt, every 5 minutes", "svt", STEPS, new=True),
                Way("panes, an hour that slides", "panes", _SLIDING, new=True),
            ),
            soon=True,
        ),
        Scene(
            name="shop",
            title="The shop",
            about=(
                "Different British customers of a working day above 60, epsilon 1 a customer and"
                " week. Customers come on 1.08 days of a week, 2 at the 95th percentile."
            ),
            read=_shop,
            cells=("United Kingdom",),
            aggregate="COUNT(DISTINCT person)",
            threshold=60,
            windows="TUMBLE(ts, INTERVAL '1' DAY)",
            budget='privacy_unit: user, epsilon_max: "1", period: 1w',
            contribution="max_groups_per_window: 1, max_events_per_group: 1",
            wants={"baseline": "40", "false_alarms": "1 per month"},
            active="Mon-Fri 00:00-24:00",
            history=(date(2011, 1, 3), date(2011, 12, 5)),
            ways=(*_SINGLE, *_RUNS, _capped(2), _capped(1)),
        ),
    )
}
"""By name."""
