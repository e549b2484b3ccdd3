"""Every form of a condition, and the keys that go with it: alarms, and where each has to fire.

What an alarm says and what it must do stand in one row, so that a form is proved by being run. All
of them are asked about the same people, who leave no doubt: thirty with n = 4 in the atrium, ten
with n = 9 in the library. Error rates and epsilons are such that none errs in a lifetime of runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.keys import nested
from tests.support.tree import yaml_of

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = {"atrium": 30, "library": 10, "lab": 0, "roof": 0}
"""How many are in which room."""
USUAL = {"atrium": 30, "library": 31, "lab": 0, "roof": 9}
"""How many a forecast expects."""
N = {"atrium": 4, "library": 9, "lab": 4, "roof": 4}
"""The n of everybody in a room."""
EXPECTED_N = 4
"""The n that it expects of everybody."""
SPENT = {"atrium": 120, "library": 200, "lab": 0, "roof": 0}
"""What they are expected to spend."""
BADGES = "      n: {type: integer, clip: [0, 9]}\n"
"""The line of the field, of both feeds."""

_SQL = "SELECT room FROM badges GROUP BY room,"
_TIMING = ("grace: 1s", "publish_delay: 250ms")


@dataclass(frozen=True, slots=True)
class Form:
    """One alarm.

    Args:
        having: its condition.
        keys: further keys, with semicolons between them.
        fires: where.
        open: rooms without anybody of which nothing is promised: at a threshold, or averages of
            nobody.
    """

    having: str
    keys: str
    fires: frozenset[str]
    open: frozenset[str]


FORMS = {
    name: Form(one["having"], one["keys"], frozenset(one["fires"]), frozenset(one.get("open", ())))
    for name, one in yaml_of("tests/support/forms.yaml").items()
}


def alarms_text(window: str) -> str:
    """Return the alarms of a configuration, over a feed ``badges``.

    They need the fields of ``BADGES``, tables ``usual`` and ``spent``, and a feed ``forecast``.

    Args:
        window: of all of them, in SQL.
    """
    return "".join(
        f"  {name}:\n    sql: {_SQL} {window} HAVING {form.having}\n"
        + "".join(f"    {key}\n" for key in nested([*form.keys.split("; "), *_TIMING]))
        for name, form in FORMS.items()
    )


def tables(folder: Path) -> str:
    """Write the tables of the references; return the configuration's line."""
    for name, numbers in {"usual": USUAL, "spent": SPENT}.items():
        rows = "".join(f"{room},{number}\n" for room, number in numbers.items())
        (folder / f"{name}.csv").write_text(f"room,{name}\n{rows}")
    return "tables: {usual: usual.csv, spent: spent.csv}\n"
