"""A command imports what it needs, and help next to nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from stream.cli.main import Later, main
from tests.support.commands import configuration, events
from tests.support.examples import EXAMPLES
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
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return set(done.stderr.split())


def test_help_imports_neither_a_command_nor_what_it_stands_on() -> None:
    """The list of commands is shown by click and one small file."""
    found = imported("--help")
    assert {one for one in found if one.startswith("stream.cli.")} == {"stream.cli.main"}
    assert not found & {*CHECKING, "accountant", "operators", "numpy", "scipy", "rich"}


def test_check_imports_what_reads_a_configuration(tmp_path: Path) -> None:
    """No database, no client of Kafka, no columns of events, no solver of scipy."""
    found = imported("check", configuration(tmp_path))
    assert "stream.config.loading" in found
    assert not found & CHECKING


@pytest.mark.long
def test_a_replay_of_files_imports_no_kafka_client(tmp_path: Path) -> None:
    """Replaying files imports neither Faust nor a Kafka client."""
    found = imported("run", configuration(tmp_path), "--replay", events(tmp_path), "--json")
    assert not found & KAFKA


@pytest.mark.long
def test_tests_of_alarms_import_no_kafka_client() -> None:
    """Made-up events are counted without one, and nothing is drawn."""
    found = imported("test", str(EXAMPLES / "office" / "alarms_test.yaml"))
    assert not found & {*KAFKA, "matplotlib"}


def test_a_plan_needs_no_solver_of_scipy(tmp_path: Path) -> None:
    """Importing it would take longer than a plan takes; every worker plans when it starts."""
    assert not imported("plan", configuration(tmp_path)) & SOLVERS


@pytest.mark.parametrize("name", main.commands)
def test_the_list_of_commands_quotes_their_help(name: str) -> None:
    """What stands in the list is the first sentence of the command's own help."""
    listed = main.commands[name]
    assert isinstance(listed, Later)
    (help_, shown) = (str(listed.command.help), str(listed.help))
    assert " ".join(help_.split()).startswith(shown)
    assert listed.get_short_help_str() == listed.command.get_short_help_str()
