"""A command imports what it needs, and help next to nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from stream.cli.main import Later, main
from tests.support.commands import configuration, events
from tests.support.examples import EXAMPLES
from tests.support.procs import ran
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
import sys
from stream.cli.main import main
main(sys.argv[1:], standalone_mode=False)
print(*sys.modules, sep="\\n", file=sys.stderr)
"""
KAFKA = {"faust", "aiokafka", "kafka"}
SOLVERS = {"scipy.optimize", "scipy.signal", "scipy.special"}
CHECKING = {
    *KAFKA,
    "matplotlib",
    "sqlalchemy",
    "pyarrow",
    *SOLVERS,
}


def imported(*arguments: str) -> set[str]:
    """Return the names of the modules that a command leaves behind in a fresh process."""
    return set(ran(sys.executable, "-c", PROGRAM, *arguments, cwd=ROOT).stderr.split())


def test_help_imports_neither_a_command_nor_what_it_stands_on() -> None:
    """The list of commands is shown by click and one small file."""
    found = imported("--help")
    assert {one for one in found if one.startswith("stream.cli.")} == {"stream.cli.main"}
    assert not found & {*CHECKING, "accountant", "operators", "numpy", "scipy", "rich"}


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        ("check ALARMS", CHECKING),
        ("plan ALARMS", SOLVERS),
        pytest.param("run ALARMS --replay EVENTS --json", KAFKA, marks=pytest.mark.long),
        pytest.param("test TESTS", {*KAFKA, "matplotlib"}, marks=pytest.mark.long),
    ],
)
def test_a_command_imports_no_more_than_it_needs(
    tmp_path: Path, words: str, left_out: set[str]
) -> None:
    """No client of Kafka on files, no database for a check, no solver: it takes longer than a plan.

    Every worker plans when it starts.
    """
    places = {
        "ALARMS": configuration(tmp_path),
        "EVENTS": events(tmp_path),
        "TESTS": str(EXAMPLES / "office" / "alarms_test.yaml"),
    }
    found = imported(*(places.get(word, word) for word in words.split()))
    assert "stream.config.loading" in found
    assert not found & left_out


@pytest.mark.parametrize("name", main.commands)
def test_the_list_of_commands_quotes_their_help(name: str) -> None:
    """What stands in the list is the first sentence of the command's own help."""
    listed = main.commands[name]
    assert isinstance(listed, Later)
    (help_, shown) = (str(listed.command.help), str(listed.help))
    assert " ".join(help_.split()).startswith(shown)
    assert listed.get_short_help_str() == listed.command.get_short_help_str()
