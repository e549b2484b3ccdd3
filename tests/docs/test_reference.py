"""The reference of configurations: its snippets load; its tables are written from the keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stream.config.loading import check, examine
from tests.support.configurations import write
from tests.support.tree import blocks, text_of

if TYPE_CHECKING:
    from pathlib import Path


DOCS = text_of("docs/reference/configuration.md") + text_of("docs/reference/sql.md")


def test_the_reference_starts_with_a_file_that_loads(tmp_path: Path) -> None:
    """The whole file of the reference is a good one, without warnings."""
    path = write(tmp_path, blocks(DOCS, "yaml")[0])
    report = examine(path, environ={})
    assert report.alarms is not None, report.errors
    query = report.alarms.by_name["fire-code"]
    assert query.condition.atoms["a1"].thresholds.tolist() == [121, 81, 31]
    assert report.warnings == ()


def test_the_reference_s_other_snippets_load_in_their_places(tmp_path: Path) -> None:
    """Tables, fields, budgets, levels, severities and SQL of the reference work as shown."""
    whole, tables, fields, budget, alarm, levels, severities, tolerances = blocks(DOCS, "yaml")
    (tmp_path / "rooms.csv").write_text("seats,room\n120,lobby\n80,lab\n30,attic\n")
    text = whole.replace("tables:\n  capacity: capacity.csv\n", tables)
    more = "".join(f"    {line}\n" for line in fields.splitlines())
    text = text.replace("    fields:\n", more)
    assert check(write(tmp_path, text), environ={}) == []
    walked = "".join(f"    {line}\n" for line in levels.splitlines())
    text = text.replace("    max_fnr", f"{walked}    max_fnr", 1)
    assert check(write(tmp_path, text), environ={}) == []
    own = "".join(f"    {line}\n" for line in severities.splitlines())
    severe = re.sub(r"    sql: \|\n(      .*\n)+    (.*\n)*?    tolerance: .*\n", own, whole)
    assert severe != whole
    assert check(write(tmp_path, severe), environ={}) == []
    assert check(write(tmp_path, whole[: whole.index("alarms:")] + alarm), environ={}) == []
    gaussian = re.sub(r"budget:\n(  .*\n)+", budget, whole)
    assert gaussian != whole
    assert check(write(tmp_path, gaussian), environ={}) == []
    whole = whole.replace("    fields:\n", more)
    start = whole.index("      SELECT")
    several = "".join(f"    {line}\n" for line in tolerances.splitlines())
    for sql in blocks(DOCS, "sql"):
        body = "".join(f"      {line}\n" for line in sql.splitlines())
        text = whole[:start] + body + whole[whole.index("    max_fnr") :]
        if "AVG" in sql:
            text = text.replace("    tolerance: 9\n", several)
        report = examine(write(tmp_path, text), environ={})
        assert report.alarms is not None, report.errors
        assert report.warnings == ()
