"""``tocsin init``: every template fires once, and what it is told or sees goes where it may."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from click.testing import CliRunner

from stream.cli.main import main
from stream.config.loading import examine
from stream.planning.templates.answers import TEMPLATES
from tests.support.commands import json_lines, tocsin
from tests.support.files import write_rows

HIDDEN = "the room nobody may know of"
OWN = ("--sample", "own.jsonl", "--time", "when", "--unit", "who", "--group-by", "place", "--yes")


def asked(*arguments, answers="", code=0):
    """Run ``init`` with somebody who answers."""
    words = ["init", *map(str, arguments)]
    result = CliRunner().invoke(main, words, input=answers, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def sample(folder):
    """Write events of another form: other names, times in milliseconds, whole numbers as ids."""
    rows = [
        {"who": number, "place": place, "when": 1_741_600_000_000 + number, "paid": 3.5}
        for number, place in enumerate(["hall", "lab", HIDDEN, "hall"])
    ]
    return write_rows(folder / "own.jsonl", rows)


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_fires_once(template, tmp_path):
    """Filled, checked, planned and replayed as printed, it fires where it says.

    The alarm is missed there with probability below one in a million: see ``test_events.py``.
    """
    made = asked(tmp_path, "--template", template, "--yes").stdout
    printed = [line.split()[1:] for line in made.splitlines() if line.startswith("  tocsin ")]
    check, plan, run, dry = printed
    tocsin(*dry, code=0)
    for command in (check, ["check", tmp_path / "dry-run.yaml"]):
        checked = tocsin(*command, code=0)
        assert (checked.stdout, "warning" in checked.stderr) == ("ok\n", False)
    cases = tmp_path / "alarms_test.yaml"
    assert cases.read_text().count(f"    alarm: {TEMPLATES[template].alarm}\n") == 3
    assert tocsin("test", cases, code=0).stdout.endswith("3 tests, 0 failed\n")
    planned = json_lines(tocsin(*plan, "--json"))
    assert [line["fits"] for line in planned if line["record"] == "budget"] == [True]
    records = json_lines(tocsin(*run, "--json"))
    assert {line.get("outcome", "decided") for line in records} == {"decided"}
    ((day, hour),) = re.findall(r"from (\S+) (\S+) UTC on", made)
    due = [f"{day}T{hour}:00.000Z", *TEMPLATES[template].groups[0]]
    alarms = [line for line in records if "alarm_id" in line]
    assert due in [[alarm["window_start"], *alarm["group"].values()] for alarm in alarms]
    assert f"{tmp_path}/alarms.yaml" in made


def test_a_tight_budget_fires_as_its_tests_expect(tmp_path):
    """Of an SVT run, whose other groups may take its one alarm."""
    words = "--window 15m --threshold 300 --baseline 75 --epsilon 0.1 --values a,b,c,d,e,f --yes"
    asked(tmp_path, *words.split())
    assert "max_alarms" in (tmp_path / "alarms.lock").read_text()
    tocsin("test", tmp_path / "alarms_test.yaml", code=0)


def test_options_go_into_the_file(tmp_path):
    """Each answers one question; the baseline follows the threshold."""
    words = (
        "--bootstrap kafka:9092 --unit badge --group-by floor --values north,south --threshold 90"
        " --active always --timezone Europe/Athens --max-groups 1 --epsilon 3 --yes"
    )
    made = asked(tmp_path, *words.split())
    alarms = examine(tmp_path / "alarms.yaml", environ={}).alarms
    (query,) = alarms.by_name.values()
    groups = [query.domain.group(at) for at in range(2)]
    assert alarms.kafka.bootstrap == "kafka:9092"
    assert (query.feed.unit, query.feed.topic) == ("badge", "building.badges")
    assert groups == [{"floor": "north"}, {"floor": "south"}]
    assert query.calendar.schedule is None
    assert (alarms.budget.epsilon_max, alarms.budget.contribution.predicates_per_window) == (3, 1)
    assert "at the baseline 45 it fires" in made.stdout


def test_nothing_is_written_before_it_is_agreed_to(tmp_path):
    """Without ``--yes`` the alarm is said first; whoever does not agree has no files."""
    folder = tmp_path / "new"
    made = asked(folder, "--template", "shop", answers="n\n", code=1)
    assert "Above 30,000 it is missed" in made.stdout
    assert not folder.exists()
    asked(folder, "--template", "shop", answers="\n")
    assert (folder / "alarms.yaml").is_file()


def test_values_of_a_sample_stay_with_the_custodian(tmp_path, monkeypatch):
    """Without leave they are in no file and in no line."""
    monkeypatch.chdir(tmp_path)
    sample(tmp_path)
    folder = tmp_path / "new"
    refused = asked(folder, *OWN, code=2)
    assert HIDDEN not in refused.output
    for said in ("--domain-from-sample", "as the custodian: reads up to 10,000 rows"):
        assert said in refused.stderr

    made = asked(folder, *OWN, "--values", "hall,lab")
    written = {path.name: path.read_text() for path in folder.iterdir()}
    assert not any(HIDDEN in text for text in (made.output, *written.values()))
    assert written["places.txt"] == "hall\nlab\n"
    for said in ("unit: who ", "who: integer"):
        assert said in written["alarms.yaml"]


def test_values_that_everybody_knows_may_come_from_a_sample(tmp_path, monkeypatch):
    """The option takes them all; the made-up events have the form of the sample's."""
    monkeypatch.chdir(tmp_path)
    sample(tmp_path)
    asked(tmp_path, *OWN, "--domain-from-sample", "--force")
    assert (tmp_path / "places.txt").read_text() == f"hall\nlab\n{HIDDEN}\n"
    made = tmp_path / "sample.jsonl"
    assert "1 " in tocsin("run", tmp_path / "alarms.yaml", "--replay", made).stdout
    assert set(json.loads(made.read_text().splitlines()[0])) == {"who", "place", "when"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--sample us.csv --time when", "'when' holds string, and its time is timestamp"),
        ("--sample own.jsonl", "the sample has no field 'ts'"),
        (f"{' '.join(OWN)} --values ,", "there are no values of 'place'"),
        ("--sample no.csv", "cannot be read"),
        ("--sample no.txt", "unknown suffix"),
        ("--group-by floor", "the public values of 'floor' are not listed"),
        ("--values floor=a,b", "'floor' is not grouped by"),
        ("--unit room", "field 'room' has two roles"),
        ("--baseline 120", "is not below the threshold"),
        ("--window '1 hour'", "is not the length of a window"),
        ("--since 3/3/2025", "is not a day"),
        ("--until 2025-03-03", "the history is empty"),
        ("--until 2025-03-04 --since 2025-03-01 --active 'Sat 00:00-01:00'", "no"),
        ("--active nix", "is not an interval of days and times"),
        ("--timezone Mars", "unknown time zone"),
        ("--epsilon many", "is not a number from 1e-12"),
        ("--max-fnr 2", "is not a probability"),
        ("--bootstrap kafka", "not a list of host:port"),
        ("--values a,a", "is listed twice"),
        ("--topic 'a b'", "not a valid name"),
        ("--time 't\n'", "cannot be printed"),
    ],
)
def test_what_cannot_be_right_is_said(arguments, says, tmp_path, monkeypatch):
    """Exit code 2, one sentence with its remedy, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    sample(tmp_path)
    (tmp_path / "us.csv").write_text("when,who,place\n03/04/2025 10:00,7,hall\n")
    refused = asked("new", "--yes", *shlex.split(arguments), code=2)
    assert refused.stdout == ""
    assert says in refused.stderr
    assert "hint: " in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "new").exists()


def test_what_the_budget_does_not_carry_ends_with_what_it_would(tmp_path):
    """Exit code 3; each change that is named does it."""
    arguments = (tmp_path, "--template", "office", "--threshold", "20", "--epsilon", "1")
    refused = asked(*arguments, "--yes", code=3)
    (said,) = re.findall(r"any of these would do: (.*)", refused.stderr)
    changes = [shlex.split(change) for change in said.split("; ") if change.startswith("--")]
    assert {option for option, *_ in changes} >= {"--epsilon", "--threshold"}
    for number, change in enumerate(changes):
        asked(tmp_path / str(number), *arguments[1:], "--yes", *change)


def test_files_are_replaced_only_by_force(tmp_path):
    """One that exists keeps all from being written; a list of values in place is left alone."""
    (tmp_path / "sample.jsonl").write_text("mine")
    refused = asked(tmp_path, "--yes", code=2)
    assert refused.stdout == ""
    assert f"{tmp_path}/sample.jsonl exists" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["sample.jsonl"]
    asked(tmp_path, "--yes", "--force")

    values = tmp_path / "new" / "rooms.txt"
    values.parent.mkdir()
    values.write_text("attic\n\n cellar \n")
    asked(values.parent, "--yes", "--values", values)
    assert values.read_text() == "attic\n\n cellar \n"
    assert '"attic"' in (values.parent / "sample.jsonl").read_text()


def test_dry_runs_of_two_folders_share_no_name_on_a_broker(tmp_path):
    """Topics, group and ledger are a folder's own, and the same when it is written again."""
    names = []
    for name in ("one", "two", "one"):
        folder = tmp_path / name
        asked(folder, "--yes", "--force")
        tocsin("init", "--from", folder / "alarms.yaml", "--force", code=0)
        text = (folder / "dry-run.yaml").read_text()
        names.append(set(re.findall(r"\S*dry-run-\S*", text)))
    assert len(names[0]) == 8
    assert names[0] == names[2]
    assert not names[0] & names[1]
