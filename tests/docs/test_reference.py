"""The reference of configurations: its snippets load; its tables are written from the keys."""

from __future__ import annotations

import re
from textwrap import indent

from stream.config.loading import examine
from tests.support.checking import check
from tests.support.configurations import write
from tests.support.tree import blocks, text_of

DOCS = text_of("docs/reference/configuration.md") + text_of("docs/reference/sql.md")


def test_the_reference_starts_with_a_file_that_loads(tmp_path):
    """The whole file of the reference is a good one, without warnings."""
    path = write(tmp_path, blocks(DOCS, "yaml")[0])
    report = examine(path, environ={})
    assert report.alarms is not None, report.errors
    query = report.alarms.by_name["fire-code"]
    assert query.condition.atoms["a1"].thresholds.tolist() == [121, 81, 31]
    assert report.warnings == ()


def test_the_reference_s_other_snippets_load_in_their_places(tmp_path):
    """Tables, fields, budgets, levels, severities and SQL of the reference work as shown."""
    whole, tables, fields, budget, alarm, levels, severities, tolerances = blocks(DOCS, "yaml")
    (tmp_path / "rooms.csv").write_text("seats,room\n120,lobby\n80,lab\n30,attic\n")
    fielded = whole.replace("    fields:\n", indent(fields, "    "))
    tabled = fielded.replace("tables:\n  capacity: capacity.csv\n", tables)
    walked = tabled.replace("    max_fnr", f"{indent(levels, '    ')}    max_fnr", 1)
    own = r"    sql: \|\n(      .*\n)+    (.*\n)*?    tolerance: .*\n"
    severe = re.sub(own, indent(severities, "    "), whole)
    gaussian = re.sub(r"budget:\n(  .*\n)+", budget, whole)
    other = whole[: whole.index("alarms:")] + alarm
    assert whole not in (fielded, severe, gaussian)
    for text in (tabled, walked, severe, other, gaussian):
        assert check(write(tmp_path, text), environ={}) == []
    before = fielded[: fielded.index("      SELECT")]
    after = fielded[fielded.index("    max_fnr") :]
    several = after.replace("    tolerance: 9\n", indent(tolerances, "    "))
    for sql in blocks(DOCS, "sql"):
        rest = several if "AVG" in sql else after
        report = examine(write(tmp_path, before + indent(sql, "      ") + rest), environ={})
        assert report.alarms is not None, report.errors
        assert report.warnings == ()
