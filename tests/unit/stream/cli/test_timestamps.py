"""Times that people type and read are local: by the clocks of the configuration's `timezone`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import click
import pytest

from stream.cli.main import Later, main
from stream.cli.options import TIME
from stream.windows.instants import from_iso_utc
from tests.support.commands import configuration, json_lines, tocsin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result

HOUR_MS = 3_600_000
FIVE_MS = from_iso_utc("2024-10-27T05:00:00.000Z")
ZONE = "Europe/Berlin"
RECORDED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
LATE = {"person": "late", "room": "hall", "n": 1, "ts": FIVE_MS + 30 * HOUR_MS}


def called(folder: Path, words: str, *more: str, code: int = 0) -> Result:
    """Run a command on the files of a folder."""
    places = {"FILE": "alarms.yaml", "EVENTS": "badges.jsonl", "OLD": "old"}
    given = [folder / places[word] if word in places else word for word in words.split()]
    return tocsin(*given, *more, code=code)


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the decided day on which Berlin's clocks go back, and one event too late."""
    folder = tmp_path_factory.mktemp("berlin")
    path = Path(configuration(folder, epsilon_max="40"))
    text = path.read_text().replace("1970-01-01", "2024-10-27")
    path.write_text(f"timezone: {ZONE}\n" + text.replace("1970-01-02", "2024-10-28"))
    people = [{**LATE, "person": f"p{i}", "ts": FIVE_MS + i} for i in range(200)]
    lines = "".join(f"{json.dumps(event)}\n" for event in [*people, LATE])
    (folder / "badges.jsonl").write_text(lines)
    called(folder, "run FILE --replay EVENTS")
    return folder


@pytest.fixture
def folder(decided: Path, tmp_path: Path) -> Path:
    """The test's own copy of it."""
    return Path(copytree(decided, tmp_path / "own"))


def _counted(folder: Path, option: str, text: str, *, at: int) -> str:
    lines = json_lines(called(folder, f"inspect FILE --replay EVENTS --json {option}", text))
    edge = "window_end" if at else "window_start"
    return _utc(from_iso_utc([line[edge] for line in lines if "complete" in line][at]))


def _utc(time_ms: int) -> str:
    hours, rest = divmod(time_ms - FIVE_MS, HOUR_MS)
    assert rest == 0
    return f"{5 + hours:02d}Z"


def _archived(folder: Path, text: str) -> str:
    told = called(folder, "ledger FILE archive OLD --before", text).stdout
    (hour,) = re.findall(r"before 2024-10-27 (\d\d):00 CET", told)
    return f"{int(hour) - 1:02d}Z"


def _lost(folder: Path, text: str) -> str:
    lines = json_lines(called(folder, "ledger FILE losses crowd --json --at", text))
    return _utc(from_iso_utc(lines[0]["at"]))


READ = {
    ("inspect", "--since"): lambda folder, text: _counted(folder, "--since", text, at=0),
    ("inspect", "--until"): lambda folder, text: _counted(folder, "--until", text, at=-1),
    ("ledger losses", "--at"): _lost,
    ("ledger archive", "--before"): _archived,
}
CALLS = {
    "inspect": "inspect FILE --replay EVENTS",
    "ledger losses": "ledger FILE losses crowd",
    "ledger archive": "ledger FILE archive OLD",
}


@pytest.mark.parametrize("option", READ, ids=" ".join)
def test_an_instant_is_local_unless_it_says_otherwise(
    folder: Path, option: tuple[str, str]
) -> None:
    """Without an offset it is by the clocks of `timezone`; an offset, or Z, wins."""
    read = READ[option]
    assert read(folder, "2024-10-27T08:00Z") == "08Z"
    assert read(folder, "2024-10-27T11:00+02:00") == "09Z"
    assert read(folder, "2024-10-27T11:00") == "10Z"


@pytest.mark.parametrize("option", READ, ids=" ".join)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2024-03-31T02:30", "does not exist in Europe/Berlin"),
        ("2024-10-27T02:30", "occurs twice in Europe/Berlin"),
        ("yesterday", "is not an ISO date or instant"),
    ],
)
def test_what_no_clock_or_two_clocks_show_is_refused(
    decided: Path, option: tuple[str, str], text: str, said: str
) -> None:
    """Exit code 2, the option's name, what is wrong and how an offset is written."""
    words, name = option
    result = called(decided, CALLS[words], name, text, code=2)
    told = " ".join(result.stderr.split())
    assert said in told
    assert f"Invalid value for {name}" in told
    assert "write 2025-03-03, 2025-03-03T08:00 or, with an offset, 2025-03-03T08:00+01:00" in told


def _options(command: click.Command, words: str) -> Iterator[tuple[str, click.Option]]:
    if isinstance(command, Later):
        command = command.command
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from _options(one, f"{words} {name}".strip())
        return
    yield from ((words, one) for one in command.params if isinstance(one, click.Option))


def test_every_option_that_takes_a_time_is_read_so() -> None:
    """None is left out of the table above, and none speaks of UTC."""
    options = list(_options(main, ""))
    assert {(words, one.opts[0]) for words, one in options if one.metavar == TIME} == set(READ)
    assert [one.opts for _, one in options if re.search(r"UTC|\binstant", one.help or "")] == [
        ["--at"]
    ]
    assert not [one.opts for _, one in options if one.metavar == "ISO"]


SHOWN = {
    "run FILE --replay EVENTS": "2024-10-27 06:00",
    "inspect FILE --replay EVENTS": "2024-10-27 06:00",
    "ledger FILE status": "2024-10-28 00:00",
    "ledger FILE losses crowd": "CET",
    "ledger FILE archive OLD --before 2024-10-27T11:00": "before 2024-10-27 11:00 CET",
    "ledger FILE apply": "in force from 2024-10-28 00:00 CET",
}
PASSED = "dated 2024-10-28 12:00 CET, `history` is 2024-10-27 00:00 CEST to 2024-10-28 00:00 CET"


@pytest.mark.parametrize(("words", "said"), SHOWN.items(), ids=SHOWN)
def test_what_a_person_reads_is_local(folder: Path, words: str, said: str) -> None:
    """The time on the spot, its zone, and nothing in the form that records have."""
    path = folder / "alarms.yaml"
    if "apply" in words:
        path.write_text(path.read_text().replace("> 30", "> 31"))
    told = " ".join(called(folder, words).output.split())
    assert said in told
    assert PASSED in told or "inspect" not in words
    assert any(zone in told for zone in (ZONE, "CET", "CEST"))
    assert not RECORDED.search(told)


def test_init_tells_local_times(tmp_path: Path) -> None:
    """When the alarm of the sample is due is told by the clocks of the zone that was asked for."""
    words = ("init", tmp_path / "office", "--template", "office", "--timezone", ZONE, "--yes")
    result = tocsin(*words, code=0)
    assert re.search(r"from 2025-03-\d\d \d\d:\d\d CET on", " ".join(result.stdout.split()))
