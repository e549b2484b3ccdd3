"""``tocsin check``: every error with its place."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import configuration, tocsin


def test_check_says_ok(tmp_path: Path) -> None:
    """A good configuration is ok, with exit code 0."""
    result = tocsin("check", configuration(tmp_path))
    assert (result.exit_code, result.stdout) == (0, "ok\n")


def test_check_prints_every_error_with_its_place(tmp_path: Path) -> None:
    """Every error is one ``file:line:column: message`` with a hint, and the exit code is 2."""
    path = Path(configuration(tmp_path))
    text = path.read_text(encoding="utf-8").replace("max_fnr: 0.05", "max_fnr: 5")
    path.write_text(text.replace("time: ts", "time: when"), encoding="utf-8")
    first = tocsin("check", str(path))
    path.write_text(text.replace("epsilon_max", "epsilon_maximum"), encoding="utf-8")
    second = tocsin("check", str(path))
    for result in (first, second):
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Traceback" not in result.stderr
    errors = [line for line in second.stderr.splitlines() if line.startswith(f"{path}:")]
    assert len(errors) >= 2
    assert all(line.split(":")[1].isdigit() and line.split(":")[2].isdigit() for line in errors)
    assert "hint: " in second.stderr


def test_missing_configuration_is_bad_input(tmp_path: Path) -> None:
    """A file that is not there is named, with exit code 2."""
    result = tocsin("check", str(tmp_path / "none.yaml"))
    assert result.exit_code == 2
    assert "none.yaml" in result.stderr
