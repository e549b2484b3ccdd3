"""What is wrong with a bad file, where, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accountant.errors import ConfigError
from stream.config.loading import check, examine, load
from tests.support.configurations import (
    GOOD,
    HAVING,
    SELECT,
    WHERE,
    WINDOW,
    edited,
    place,
    write,
)
from tests.support.planned import Alarm, Config

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("rooms", "message"),
    [
        ("lobby\n⟦b\ufffe\n", "controls a terminal"),
        (f"lobby\n⟦{'b' * 1025}\n", "1,024 bytes"),
    ],
)
def test_a_bad_domain_file_is_named_with_its_line(tmp_path: Path, rooms: str, message: str) -> None:
    """Errors in a domain's file point into that file."""
    (error,) = check(write(tmp_path, GOOD, rooms=rooms), environ={})
    assert error.file.endswith("rooms.txt")
    assert (error.line, error.column) == place(rooms)
    assert message in error.message


TABLE = edited(HAVING, "HAVING COUNT(DISTINCT person) > ⟦capacity[room]")


@pytest.mark.parametrize(
    ("capacity", "message"),
    [
        ("room,seats\nlobby,120\n⟦lab\nattic,3\n", "too short"),
        ('room,seats\n⟦"lobby,120\n', "not CSV"),
    ],
)
def test_a_bad_table_is_named_with_its_line(tmp_path: Path, capacity: str, message: str) -> None:
    """Errors in a table's file point into that file."""
    error = check(write(tmp_path, TABLE, capacity=capacity), environ={})[0]
    found = [
        error for error in check(tmp_path / "alarms.yaml", environ={}) if message in str(error)
    ]
    assert len(found) == 1, str(error)
    assert found[0].file.endswith("capacity.csv")
    assert (found[0].line, found[0].column) == place(capacity)


def test_several_errors_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    """A stage reports all it finds, and ``load`` raises the first."""
    text = GOOD.replace("max_fnr: 0.05", "max_fnr: 2").replace("codec: json", "codec: xml")
    errors = check(write(tmp_path, text), environ={})
    assert [error.line for error in errors] == [8, 32]
    with pytest.raises(ConfigError, match="not one of json"):
        load(tmp_path / "alarms.yaml", environ={})


@pytest.mark.parametrize("style", ["literal", "folded", "plain", "single", "double"])
def test_errors_inside_sql_are_found_in_every_yaml_style(tmp_path: Path, style: str) -> None:
    """However the SQL is written in YAML, the wrong token is pointed at."""
    body = "SELECT room FROM badges\n{0}WHERE person <> 'a b'\n{0}GROUP BY ⟦raum"
    indent = "        "
    text = {
        "literal": "|-  # the SQL\n" + indent + body.format(indent),
        "folded": ">\n" + indent + body.format(indent),
        "plain": body.format(indent),
        "single": "'" + body.format(indent).replace("'", "''") + "'",
        "double": '"' + body.format(indent).replace("\n", " \\\n") + '"',
    }[style]
    start = GOOD.index("|\n      SELECT")
    whole = GOOD[:start] + text + "\n" + GOOD[GOOD.index("    active:") :]
    (error,) = check(write(tmp_path, whole), environ={})
    assert "`raum` is not a field" in error.message
    assert (error.line, error.column) == place(whole)


def test_positions_survive_environment_variables(tmp_path: Path) -> None:
    """A variable in the SQL shifts no position, and its value is in no error."""
    text = edited(SELECT, "SELECT room FROM ${FEED} ⟦ORDER BY room").replace(
        "ORDER BY ⟦room", "ORDER BY room"
    )
    (error,) = check(write(tmp_path, text), environ={"FEED": "badges"})
    assert error.line == place(text)[0]
    secret = edited('"127.0.0.1:9465"', '"${ADDRESS}"')
    (error,) = check(write(tmp_path, secret), environ={"ADDRESS": "hunter2"})
    assert "hunter2" not in str(error)
    assert "${ADDRESS}" in str(error)


@pytest.mark.parametrize(
    ("shares", "wrong"),
    [
        (("0.3", "0.7"), ""),
        (("1/3", "0.6666666667"), "are 30000000001/30000000000 of"),
        (("0.7", "0.300001"), "are 1.000001 of one budget"),
    ],
)
def test_shares_are_one_budget_at_most(tmp_path: Path, shares: tuple[str, str], wrong: str) -> None:
    """They are added up exactly, and the one that is too much is named."""
    alarms = {name: Alarm(extra={"share": share}) for name, share in zip("ab", shares, strict=True)}
    report = examine(Config(alarms).write(tmp_path), environ={})
    assert [wrong in str(error) for error in report.errors] == [True] * bool(wrong)
    (event,) = examine(
        Config({"a": Alarm(extra={"share": "0.3"})}, unit="event").write(tmp_path), environ={}
    ).errors
    assert "leave share out" in event.hint


SLOW = """\
  slow:
    sql: SELECT 1 FROM badges GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 5
    max_fnr: 0.05
    tolerance: 2
    timing: {decide_timeout: 2h, grace: 1m}
"""


@pytest.mark.parametrize(("age_s", "warned"), [(601, True), (7230, True), (7231, False)])
def test_max_age_outlasts_what_a_window_may_wait_for(
    tmp_path: Path, age_s: int, *, warned: bool
) -> None:
    """One alarm's windows wait for another's on the same budget; too old they are denied."""
    text = edited("timing: {grace: 30s}", f"timing: {{grace: 30s, max_age: ⟦{age_s}s}}") + SLOW
    report = examine(write(tmp_path, text), environ={})
    assert report.alarms is not None
    assert len(report.warnings) == warned
    for warning in report.warnings:
        assert (warning.line, warning.column) == place(text)
        assert "`slow`" in warning.message
        assert "write max_age: 7231s" in warning.hint
    alone = text.replace("privacy_unit: user", "privacy_unit: event").replace(
        "FROM badges GROUP", "FROM doors GROUP"
    )
    alone = alone.replace("  period: 1d\n", "")
    alone = "\n".join(line for line in alone.splitlines() if "contribution" not in line)
    doors = GOOD[GOOD.index("  badges:") : GOOD.index("budget:")]
    doors = doors.replace("badges:", "doors:").replace("building.badges", "building.doors")
    other = examine(write(tmp_path, alone.replace("budget:", doors + "budget:", 1)), environ={})
    assert other.alarms is not None
    assert not other.warnings


def test_warnings_do_not_stop_a_file(tmp_path: Path) -> None:
    """Tolerance 0, gaps between windows and impossible literals are said, not refused."""
    text = edited("tolerance: 9", "tolerance: ⟦0").replace(
        WINDOW, "HOP(ts, INTERVAL '2' HOUR, INTERVAL '1' HOUR)"
    )
    text = text.replace(WHERE, "room <> 'loby'")
    report = examine(write(tmp_path, text), environ={})
    assert report.alarms is not None
    said = "\n".join(str(warning) for warning in report.warnings)
    assert "`loby` is not in the domain" in said
    assert "did you mean `lobby`" in said
    assert "leave gaps" in said
    assert place(text) == (report.warnings[-1].line, report.warnings[-1].column)
    assert not examine(write(tmp_path, GOOD), environ={}).warnings


@pytest.mark.parametrize(
    "content", [b"", b"- a\n", b"a: \xff\n", b"a: \x00\n", b"a: [", b"{" * 500]
)
def test_what_is_no_configuration_is_an_error_with_a_place(tmp_path: Path, content: bytes) -> None:
    """No bytes make the reader fail otherwise than with a ConfigError."""
    path = tmp_path / "alarms.yaml"
    path.write_bytes(content)
    errors = check(path, environ={})
    assert errors
    assert all(error.line >= 1 and error.column >= 1 for error in errors)
    assert check(tmp_path / "missing.yaml", environ={})[0].line == 1


def test_a_long_domain_has_a_file_of_its_own(tmp_path: Path) -> None:
    """A file is 512 KiB at most, which are checked within seconds; a byte more is not read."""
    path = write(tmp_path, GOOD)
    good = path.read_bytes()
    path.write_bytes(good + b"#" * (2**19 - len(good)))
    assert check(path, environ={}) == []
    path.write_bytes(good + b"#" * (2**19 + 1 - len(good)))
    (error,) = check(path, environ={})
    assert "512 KiB" in error.message
    assert "{domain: rooms.txt}" in error.hint
    write(tmp_path, GOOD, rooms="\n".join(map(str, range(100_000))))
    path.write_bytes(good)
    assert check(path, environ={}) == []
