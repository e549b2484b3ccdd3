"""What a shell completes, asked as the scripts of `tocsin completion` ask."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from stream.cli.main import main
from tests.support.commands import configuration, tocsin
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def completed(*words: str) -> set[str]:
    """Return what the last of these words may become."""
    asked = {
        "COMP_WORDS": " ".join(("tocsin", *words)),
        "COMP_CWORD": str(len(words)),
        "_TOCSIN_COMPLETE": "bash_complete",
    }
    result = CliRunner().invoke(main, [], prog_name="tocsin", env=asked)
    return set(result.stdout.split())


def test_every_command_is_offered() -> None:
    """Without a list of its own: a command that is added is completed."""
    assert completed("") == {f"plain,{name}" for name in main.commands}
    assert completed("pl") == {"plain,plan"}


def test_options_of_a_command_are_offered() -> None:
    """Its file is imported to be asked."""
    assert "plain,--replay" in completed("run", "alarms.yaml", "--")
    assert "plain,--json" in completed("plan", "--")


def test_files_are_left_to_the_shell(tmp_path: Path) -> None:
    """The configuration, and what is replayed."""
    path = configuration(tmp_path)
    assert completed("check", "ala") == {"file,ala"}
    assert completed("run", path, "--replay", "ev") == {"file,ev"}
    assert completed("run", path, "--replay", "a.jsonl", "b") == {"file,b"}
    assert completed("load", path, "ev") == {"file,ev"}


def test_names_that_the_file_declares_are_offered(tmp_path: Path) -> None:
    """Feeds and alarms of the configuration that was typed before."""
    path = configuration(tmp_path)
    assert completed("dump", path, "b") == {"plain,badges"}
    assert completed("grow", path, "b") == {"plain,badges"}
    assert completed("ledger", path, "losses", "cr") == {"plain,crowd"}
    assert completed("simulate", path, "--alarm", "cr") == {"plain,crowd"}
    assert completed("dump", path, "z") == set()


@pytest.mark.parametrize("text", ["feeds: [", "feeds: 3\n", "- a\n"])
def test_a_file_that_is_none_completes_to_nothing(tmp_path: Path, text: str) -> None:
    """The command itself will say what is wrong."""
    path = tmp_path / "alarms.yaml"
    path.write_text(text, encoding="utf-8")
    assert completed("dump", str(path), "b") == set()
    assert completed("dump", str(tmp_path / "none.yaml"), "b") == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_ask_the_command(shell: str) -> None:
    """Each defines a function that runs `tocsin` with the shell's own instruction."""
    script = tocsin("completion", shell).stdout
    assert f"_TOCSIN_COMPLETE={shell}_complete" in script
    assert "tocsin" in script


def test_another_shell_is_refused() -> None:
    """With the ones that are known."""
    result = tocsin("completion", "tcsh")
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.stderr


@pytest.mark.long
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    """The printed script in a real shell: its function fills COMPREPLY."""
    command = tmp_path / "tocsin"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tocsin "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    program = f"""
        eval "$("{command}" completion bash)"
        COMP_WORDS=(tocsin dump {configuration(tmp_path)} ba) COMP_CWORD=3
        _tocsin_completion "{command}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", program],
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == "badges\n", done.stderr
