"""A command imports what it needs, and help next to nothing."""

from __future__ import annotations

import sys

import pytest

from tests.support.commands import configuration, events
from tests.support.examples import EXAMPLES
from tests.support.procs import ran
from tests.support.tree import ROOT

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


def imported(*arguments):
    """Return the names of the modules that a command leaves behind in a fresh process."""
    return set(ran(sys.executable, "-c", PROGRAM, *arguments, cwd=ROOT).stderr.split())


def test_help_imports_neither_a_command_nor_what_it_stands_on():
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
def test_a_command_imports_no_more_than_it_needs(tmp_path, words, left_out):
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
