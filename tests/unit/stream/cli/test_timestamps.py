"""Times that people type and read are local: by the clocks of the configuration's `timezone`."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree

import click
import pytest

from stream.cli.main import Later, main
from stream.cli.options import TIME
from stream.windows.instants import from_iso_utc
from tests.support.commands import configuration, json_lines, tocsin
from tests.support.files import edit, write_rows

HOUR_MS = 3_600_000
FIVE_MS = from_iso_utc("2024-10-27T05:00:00.000Z")
ZONE = "Europe/Berlin"
RECORDED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


def called(folder, words, *more, code=0):
    """Run a command on the files of a folder."""
    places = {"FILE": "alarms.yaml", "EVENTS": "badges.jsonl", "OLD": "old"}
    given = [folder / places[word] if word in places else word for word in words.split()]
    return tocsin(*given, *more, code=code)


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """A folder with the decided day on which Berlin's clocks go back, and one event too late."""
    folder = tmp_path_factory.mktemp("berlin")
    path = Path(configuration(folder, epsilon_max="40"))
    text = path.read_text().replace("1970-01-01", "2024-10-27")
    path.write_text(f"timezone: {ZONE}\n" + text.replace("1970-01-02", "2024-10-28"))
    people = {**{f"p{i}": FIVE_MS + i for i in range(200)}, "late": FIVE_MS + 30 * HOUR_MS}
    rows = ({"person": who, "room": "hall", "n": 1, "ts": ts} for who, ts in people.items())
    write_rows(folder / "badges.jsonl", rows)
    called(folder, "run FILE --replay EVENTS")
    return folder


@pytest.fixture
def folder(decided, tmp_path):
    """The test's own copy of it."""
    return copytree(decided, tmp_path / "own")


def _edge(folder, words, edge, at):
    """Return the hour, in UTC, of an edge of the first or the last window that is shown."""
    lines = [line for line in json_lines(called(folder, words)) if edge in line]
    return _utc(lines[at][edge])


def _utc(instant):
    hours, rest = divmod(from_iso_utc(instant) - FIVE_MS, HOUR_MS)
    assert rest == 0
    return 5 + hours


def _archived(folder, words):
    (hour,) = re.findall(r"before 2024-10-27 (\d\d):00 CET", called(folder, words).stdout)
    return int(hour) - 1


INSPECT = "inspect FILE --replay EVENTS --json"
READ = {
    ("inspect", "--since"): (INSPECT, lambda *at: _edge(*at, "window_start", 0)),
    ("inspect", "--until"): (INSPECT, lambda *at: _edge(*at, "window_end", -1)),
    ("ledger losses", "--at"): (
        "ledger FILE losses crowd --json",
        lambda *at: _edge(*at, "at", 0),
    ),
    ("ledger archive", "--before"): ("ledger FILE archive OLD", _archived),
}
"""Every option that takes a time: a command that has it, and what hour it is read as."""


@pytest.mark.parametrize("option", READ, ids=" ".join)
def test_an_instant_is_local_unless_it_says_otherwise(folder, option):
    """Without an offset it is by the clocks of `timezone`; an offset, or Z, wins."""
    command, read = READ[option]
    typed = {"2024-10-27T08:00Z": 8, "2024-10-27T11:00+02:00": 9, "2024-10-27T11:00": 10}
    assert {text: read(folder, f"{command} {option[1]} {text}") for text in typed} == typed


@pytest.mark.parametrize("option", READ, ids=" ".join)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2024-03-31T02:30", "does not exist in Europe/Berlin"),
        ("2024-10-27T02:30", "occurs twice in Europe/Berlin"),
        ("yesterday", "is not an ISO date or instant"),
    ],
)
def test_what_no_clock_or_two_clocks_show_is_refused(decided, option, text, said):
    """Exit code 2, the option's name, what is wrong and how an offset is written."""
    result = called(decided, f"{READ[option][0]} {option[1]} {text}", code=2)
    told = " ".join(result.stderr.split())
    assert said in told
    assert f"Invalid value for {option[1]}" in told
    assert "write 2025-03-03, 2025-03-03T08:00 or, with an offset, 2025-03-03T08:00+01:00" in told


def _options(command, words=""):
    """Yield every option of a command and those below it, with the command's words."""
    command = command.command if isinstance(command, Later) else command
    for name, one in getattr(command, "commands", {}).items():
        yield from _options(one, f"{words} {name}".strip())
    yield from ((words, one) for one in command.params if isinstance(one, click.Option))


def test_every_option_that_takes_a_time_is_read_so():
    """None is left out of the table above, and none speaks of UTC."""
    options = list(_options(main))
    assert {(words, one.opts[0]) for words, one in options if one.metavar == TIME} == set(READ)
    spoken = [one.opts for _, one in options if re.search(r"UTC|\binstant", one.help or "")]
    assert spoken == [["--at"]]
    assert not [one.opts for _, one in options if one.metavar == "ISO"]


PASSED = "dated 2024-10-28 12:00 CET, `history` is 2024-10-27 00:00 CEST to 2024-10-28 00:00 CET"
SHOWN = {
    "run FILE --replay EVENTS": "2024-10-27 06:00",
    "inspect FILE --replay EVENTS": PASSED,
    "ledger FILE status": "2024-10-28 00:00",
    "ledger FILE losses crowd": "CET",
    "ledger FILE archive OLD --before 2024-10-27T11:00": "before 2024-10-27 11:00 CET",
    "ledger FILE apply": "in force from 2024-10-28 00:00 CET",
}


@pytest.mark.parametrize(("words", "said"), SHOWN.items(), ids=SHOWN)
def test_what_a_person_reads_is_local(folder, words, said):
    """The time on the spot, its zone, and nothing in the form that records have."""
    path = folder / "alarms.yaml"
    if "apply" in words:
        edit(path, "> 30", "> 31")
    told = " ".join(called(folder, words).output.split())
    assert said in told
    assert re.search(f"{ZONE}|CES?T", told)
    assert not RECORDED.search(told)


def test_init_tells_local_times(tmp_path):
    """When the alarm of the sample is due is told by the clocks of the zone that was asked for."""
    words = ("init", tmp_path / "office", "--template", "office", "--timezone", ZONE, "--yes")
    told = " ".join(tocsin(*words, code=0).stdout.split())
    assert re.search(r"from 2025-03-\d\d \d\d:\d\d CET on", told)
