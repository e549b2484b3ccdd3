"""What is wrong with a bad file, where, and what to write instead."""

from __future__ import annotations

import pytest

from stream.config.loading import examine
from tests.support.checking import check
from tests.support.configurations import (
    GOOD,
    place,
    write,
)
from tests.support.planned import Alarm, Config


@pytest.mark.parametrize("style", ["literal", "folded", "plain", "single", "double"])
def test_errors_inside_sql_are_found_in_every_yaml_style(tmp_path, style):
    """However the SQL is written in YAML, the wrong token is pointed at."""
    body = "SELECT room FROM badges\n{0}WHERE person <> 'a b'\n{0}GROUP BY ⟦raum, HOP(ts, a, b)"
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


@pytest.mark.parametrize(
    ("shares", "wrong"),
    [
        (("0.3", "0.7"), ""),
        (("1/3", "0.6666666667"), "add up to 30000000001/30000000000 of"),
        (("0.7", "0.300001"), "add up to 1.000001 of one budget"),
    ],
)
def test_shares_are_one_budget_at_most(tmp_path, shares, wrong):
    """They are added up exactly, and the one that is too much is named."""
    alarms = {name: Alarm(extra={"share": share}) for name, share in zip("ab", shares, strict=True)}
    report = examine(Config(alarms).write(tmp_path), environ={})
    assert [wrong in str(error) for error in report.errors] == [True] * bool(wrong)
    (event,) = examine(
        Config({"a": Alarm(extra={"share": "0.3"})}, unit="event").write(tmp_path), environ={}
    ).errors
    assert "remove share" in event.hint


def test_a_long_domain_has_a_file_of_its_own(tmp_path):
    """A file is 512 KiB at most, which are checked within seconds; a byte more is not read."""
    long = "\n".join(map(str, range(100_000)))
    path = write(tmp_path, GOOD, rooms=long)
    for size in (2**19, 2**19 + 1):
        path.write_bytes(GOOD.encode().ljust(size, b"#"))
        error = next(iter(check(path, environ={})), None)
        assert (error is None) is (size == 2**19)
    assert "512 KiB" in error.message
    assert "{domain: rooms.txt}" in error.hint
