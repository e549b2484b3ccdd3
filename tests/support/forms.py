"""Every form of a condition, and the keys that go with it: alarms, and where each has to fire.

What an alarm says and what it must do stand in one row, so that a form is proved by being run. All
of them are asked about the same people, who leave no doubt: thirty with n = 4 in the atrium, ten
with n = 9 in the library. Error rates and epsilons are such that none errs in a lifetime of runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.support.keys import nested

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE: Final = {"atrium": 30, "library": 10, "lab": 0, "roof": 0}
"""How many are in which room."""
USUAL: Final = {"atrium": 30, "library": 31, "lab": 0, "roof": 9}
"""How many a forecast expects."""
N: Final = {"atrium": 4, "library": 9, "lab": 4, "roof": 4}
"""The n of everybody in a room."""
EXPECTED_N: Final = 4
"""The n that it expects of everybody."""
SPENT: Final = {"atrium": 120, "library": 200, "lab": 0, "roof": 0}
"""What they are expected to spend."""
BADGES: Final = "      n: {type: integer, clip: [0, 9]}\n"
"""The line of the field, of both feeds."""

_SQL: Final = "SELECT room FROM badges GROUP BY room,"
_RARELY: Final = 'max_fnr: "0.000001"; max_fpr: "0.000001"'
_TIMING: Final = ("grace: 1s", "publish_delay: 250ms")
_BAND: Final = 'mechanism: decider; max_fnr: 0.05; epsilon: "50"'
_FEED: Final = f"{_BAND}; reference: {{feed: forecast}}; reference_timeout: 45s"
_LEVELS: Final = 'levels: {first: "0.02", rounds: 3, refinement: 2, finest_share: 0.75}'
_BOTH: Final = "COUNT(*) > 20 AND COUNT(*) FILTER (WHERE n < 8) > 20"


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


def _in(having: str, keys: str, *rooms: str, surely: bool = True) -> Form:
    return Form(having, keys, frozenset(rooms), frozenset(() if surely else ("lab", "roof")))


FORMS: Final = {
    "plain": _in("COUNT(DISTINCT person) > 20", f"{_RARELY}; tolerance: 4", "atrium"),
    "total": _in("SUM(n) > 110", f"{_RARELY}; tolerance: 4", "atrium"),
    "average": _in("AVG(n) > 6", f"{_RARELY}; tolerance: 6", "library", surely=False),
    "median": _in("MEDIAN(n) > 6", f"{_RARELY}; tolerance: 4", "library", surely=False),
    "quantile": _in("QUANTILE(n, 0.9) > 6", f"{_RARELY}; tolerance: 4", "library"),
    "largest": _in("MAX(n) > 6", _RARELY, "library"),
    "least": _in("MIN(n) < 6", _RARELY, "atrium"),
    "low-average": _in("AVG(n) <= 5", f"{_RARELY}; tolerance: {{AVG(n) <= 5: 6}}", "atrium"),
    "low-median": _in("NOT MEDIAN(n) > 6", f"{_RARELY}; tolerance: {{MEDIAN(n) > 6: 4}}", "atrium"),
    "rate": _in(
        "2.5 * COUNT(*) FILTER (WHERE n >= 8) - 0.5 * COUNT(*) > 5",
        f"{_RARELY}; tolerance: 5",
        "library",
        surely=False,
    ),
    "printed": _in(_BOTH, f"{_RARELY}; tolerance: 4; mechanism: tslm", "atrium"),
    "severities": _in(
        "COUNT(*) > SEVERITY",
        f"{_RARELY}; tolerance: 4; severity: {{warning: 20, critical: 60}}",
        "atrium",
    ),
    "steps": _in("COUNT(*) > 20", f"{_RARELY}; tolerance: 4; mechanism: ppwlm", "atrium"),
    "phases": _in(_BOTH, f"{_RARELY}; tolerance: 2; mechanism: probe", "atrium"),
    "promise": _in("COUNT(*) > 15", f"{_RARELY}; tolerance: 3; bounded_error: fpr", "atrium"),
    "promise-both": _in(
        _BOTH.replace("20", "10"),
        f"{_RARELY}; tolerance: 3; bounded_error: fpr; mechanism: probe-ent",
        "atrium",
    ),
    "steps-both": _in(_BOTH, f"{_RARELY}; tolerance: 4; mechanism: dppwlm", "atrium"),
    "levels": _in(
        "COUNT(*) > 20", f"{_RARELY}; tolerance: 4; mechanism: dppwlm; {_LEVELS}", "atrium"
    ),
    "levels-both": _in(
        _BOTH, f"{_RARELY}; tolerance: 4; mechanism: probe-ent; {_LEVELS}", "atrium"
    ),
    "band-of-count": _in(
        "ABS(COUNT(*) - REFERENCE) >= 5", f"{_BAND}; reference: usual[room]", "library", "roof"
    ),
    "band-share": _in(
        "ABS(COUNT(*) - REFERENCE) >= 0.05 * REFERENCE",
        f"{_BAND}; reference: usual[room]",
        "library",
        "roof",
    ),
    "band-of-sum": _in(
        "ABS(SUM(n) - REFERENCE) >= 60",
        f'{_BAND}; reference: spent[room]; decider: svt; bound: {{theta: 0.9, epsilon: "20"}}',
        "library",
    ),
    "band-of-average": _in(
        "ABS(AVG(n) - REFERENCE) >= 2.5", f"{_BAND}; reference: 4", "library", surely=False
    ),
    "band-of-median": _in(
        "ABS(MEDIAN(n) - REFERENCE) >= 3", f"{_BAND}; reference: 4", "library", surely=False
    ),
    "band-of-quantile": _in(
        "ABS(QUANTILE(n, 0.9) - REFERENCE) >= 3", f"{_BAND}; reference: 4", "library", surely=False
    ),
    "feed-of-count": _in("NOT (ABS(REFERENCE - COUNT(n)) < 5)", _FEED, "library", "roof"),
    "feed-of-sum": _in("ABS(SUM(n) - REFERENCE) >= 20", _FEED, "library", "roof"),
    "feed-of-average": _in("ABS(AVG(n) - REFERENCE) >= 2.5", _FEED, "library", surely=False),
    "feed-of-median": _in("ABS(MEDIAN(n) - REFERENCE) >= 3", _FEED, "library", surely=False),
    "feed-of-quantile": _in(
        "ABS(QUANTILE(n, 0.9) - REFERENCE) >= 0.7 * REFERENCE", _FEED, "library", surely=False
    ),
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
