"""The page's new mechanism is one file and one line: applied to a copy, it works throughout."""

from __future__ import annotations

import json
import re
import shutil
import sys

import pytest

from tests.support.files import write_rows
from tests.support.procs import ran
from tests.support.tree import ROOT, blocks, text_of

PAGE = text_of("docs/dev/architecture.md")
SECTION = PAGE.partition("## How a mechanism is added\n")[2].partition("\n## ")[0]
ALARMS = """\
ledger: sqlite:///ledger.db
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields: {person: string, room: {domain: [lobby, lab]}, ts: timestamp}
    clock: watermarks
    watermarks: {interval: 1h, key: 0123456789abcdef}
    history: {from: 2011-01-01, until: 2011-01-02}
budget: {privacy_unit: user, epsilon_max: "99", period: lifetime}
alarms:
  crowd:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 120
    max_fnr: 0.05
    tolerance: 5
    mechanism: shift
"""


def applied(text, diff):
    """Return a text with every hunk of a diff in it; each one's old lines stand there once."""
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if not line.startswith("+"))
        assert text.count(old) == 1, old
        text = text.replace(old, "".join(line[1:] for line in lines if not line.startswith("-")))
    return text


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a folder with the packages after the page's change, and a configuration."""
    folder = tmp_path_factory.mktemp("added")
    for package in ("accountant", "operators", "stream"):
        shutil.copytree(ROOT / package, folder / package)
    (code,) = blocks(SECTION, "python")
    (diff,) = blocks(SECTION, "diff")
    new = code.partition("\n")[0].removeprefix("# ")
    (changed,) = re.findall(r"^`(operators/[\w/]+\.py)`:$", SECTION, flags=re.MULTILINE)
    assert not (folder / new).exists()
    (folder / new).write_text(code)
    registry = folder / changed
    registry.write_text(applied(registry.read_text(), diff))
    (folder / "alarms.yaml").write_text(ALARMS)
    people = [
        {"person": f"p{at}", "room": "lobby", "ts": "2011-01-01T09:30:00Z"} for at in range(240)
    ]
    write_rows(folder / "badges.jsonl", people)
    return folder


COMMANDS = """\
import json, sys
from stream.cli.main import main
for line in sys.stdin:
    code = main(json.loads(line), standalone_mode=False)
    if code:
        sys.exit(code)
    print(end="\\0", flush=True)
"""


def tocsin(folder, *commands):
    """Run commands of the copy, in one process, and return what each prints; all end well."""
    done = ran(
        sys.executable,
        "-c",
        COMMANDS,
        input="".join(json.dumps(command) + "\n" for command in commands),
        cwd=folder,
        env={"PYTHONPATH": str(folder)},
    )
    *printed, rest = done.stdout.split("\0")
    assert (len(printed), rest) == (len(commands), "")
    return printed


def test_the_change_is_one_file_and_one_line():
    """Beside the new file, the registry gains an import and a line, and loses nothing."""
    (diff,) = blocks(SECTION, "diff")
    assert len(re.findall(r"^\+ +\w+,$", diff, flags=re.MULTILINE)) == 1
    assert len(re.findall(r"^\+from ", diff, flags=re.MULTILINE)) == 1
    assert len(re.findall(r"^[+-]", diff, flags=re.MULTILINE)) == 2


def test_the_new_mechanism_is_read_priced_and_decides(copy):
    """Check, plan, run and simulate know it, and a full room rings."""
    events = ("--replay", "badges.jsonl")
    _, planned, run, simulated = tocsin(
        copy,
        ("check", "alarms.yaml"),
        ("plan", "alarms.yaml", "--json"),
        ("run", "alarms.yaml", *events, "--json"),
        ("simulate", "alarms.yaml", *events, "--runs", "5"),
    )
    (alarm,) = json.loads(planned)["alarms"]
    assert alarm["mechanism"] == "shift"
    assert alarm["loss"] > alarm["lower_bound"]
    records = map(json.loads, run.splitlines())
    alarms = [each for each in records if "group" in each]
    assert [(each["group"], each["mechanism"]) for each in alarms] == [({"room": "lobby"}, "shift")]
    assert "shift" in simulated


def test_keys_of_others_are_refused_beside_it(copy):
    """A key that its descriptor does not name is told where it belongs."""
    text = ALARMS.replace("mechanism: shift", "mechanism: {shift: {repeat: 2}}")
    (copy / "refined.yaml").write_text(text)
    told = r"mechanism shift has no key repeat\n +hint: remove repeat, or use mechanism: svt\n"
    with pytest.raises(AssertionError, match=told):
        tocsin(copy, ("check", "refined.yaml"))
