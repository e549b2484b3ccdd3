"""DP-PQD's Tables 5 and 6, query by query, in the columns of the tables here.

Names of attributes are those that stand for the paper's (:mod:`.tables`). Where the paper's value
exists, or one of nearly its meaning, it was taken; where there is none, that whose rows, copies
included, come nearest to the paper's q(D) (of a median: whose median is the paper's, if any is).
All were chosen before any copy was made and any decider ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.papers.pqd.data import Query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.papers.pqd.data import Kind

__all__ = ["OWN_ANSWERS", "QUERIES"]

_WOMAN: Final = {"sex": "Female"}
_MAN: Final = {"sex": "Male"}
_WHITE_COUPLES: Final = {"race": "White", "marital": "Married-civ-spouse", "born": "US"}
_ASIAN_SEPARATED: Final = {"race": "Asian-Pac-Islander", "marital": "Separated", "born": "US"}
_MINUTE_TRIPS: Final = {"distance": "=12", "core": "no"}
_TO_AIRPORTS: Final = {"half": "first", "airport": "yes"}
_QUEENS: Final = {"origin": "Queens", "destination": "Queens"}


def _query(number: int, kind: Kind, conditions: Mapping[str, str]) -> Query:
    """Return the query that stands for one of the paper's."""
    columns: dict[Kind, tuple[str, str]] = {
        "count": ("", ""),
        "sum": ("persons", "minutes"),
        "median": ("age", "distance"),
    }
    trip = number > _LAST_OF_PEOPLE
    return Query(f"q{number}", f"q{number}", kind, conditions, columns[kind][trip])


_LAST_OF_PEOPLE: Final = 30

_PEOPLE: Final = (
    _query(1, "count", {**_WOMAN, "race": "Amer-Indian-Eskimo", "fulltime": "yes"}),
    _query(2, "count", {"race": "Other", "marital": "Never-married", "born": "Elsewhere"}),
    _query(3, "count", {**_MAN, "education": "Doctorate", "marital": "Separated"}),
    _query(4, "count", {"race": "Amer-Indian-Eskimo", "marital": "Widowed", "born": "US"}),
    _query(5, "count", {**_WOMAN, "education": "5th-6th", "marital": "Never-married"}),
    _query(6, "count", {**_WOMAN, "race": "Other", "fulltime": "yes"}),
    _query(7, "count", {**_WOMAN, "race": "Asian-Pac-Islander", "fulltime": "no"}),
    _query(8, "count", {**_WOMAN, "education": "Masters", "marital": "Married-civ-spouse"}),
    _query(9, "count", {"race": "Black", "marital": "Married-civ-spouse", "born": "US"}),
    _query(10, "count", {**_WOMAN, "education": "Bachelors", "marital": "Married-civ-spouse"}),
    _query(11, "count", {**_WOMAN, "race": "White", "fulltime": "yes"}),
    _query(12, "count", _WHITE_COUPLES),
    _query(13, "sum", {**_WOMAN, "race": "Other", "fulltime": "no"}),
    _query(14, "sum", _ASIAN_SEPARATED),
    _query(15, "sum", {**_MAN, "education": "Prof-school", "marital": "Married-spouse-absent"}),
    _query(16, "sum", {"race": "White", "marital": "Divorced", "born": "Mexico"}),
    _query(17, "sum", {**_WOMAN, "education": "Masters", "marital": "Widowed"}),
    _query(18, "sum", {**_MAN, "race": "Asian-Pac-Islander", "fulltime": "no"}),
    _query(19, "sum", {**_MAN, "race": "Black", "fulltime": "no"}),
    _query(20, "sum", {**_WOMAN, "education": "HS-grad", "marital": "Never-married"}),
    _query(21, "sum", _WHITE_COUPLES),
    _query(22, "median", {"fulltime": "yes", "workclass": "Private", "education": "Bachelors"}),
    _query(23, "median", {**_MAN, "race": "Other", "relationship": "Husband"}),
    _query(24, "median", {**_MAN, "race": "Black", "workclass": "Private"}),
    _query(25, "median", {**_WOMAN, "race": "Black", "fulltime": "yes"}),
    _query(
        26, "median", {**_WOMAN, "education": "Some-college", "marital": "Married-spouse-absent"}
    ),
    _query(27, "median", {**_MAN, "born": "US", "fulltime": "yes"}),
    _query(28, "median", _ASIAN_SEPARATED),
    _query(29, "median", {**_MAN, "race": "White", "workclass": "Private"}),
    _query(30, "median", {"fulltime": "yes", "workclass": "Federal-gov", "education": "Doctorate"}),
)

_TRIPS: Final = (
    _query(31, "count", {"weekday": "=5", "destination": "EWR", "origin": "Brooklyn"}),
    _query(32, "count", {"weekday": "=1", "distance": "=1", "hour": "=5"}),
    _query(33, "count", {**_MINUTE_TRIPS, "minutes": "=41"}),
    _query(34, "count", {"distance": "=2", "minutes": "=23", "core": "yes"}),
    _query(35, "count", {"weekday": "=2", "distance": "=7", "hour": "=9"}),
    _query(36, "count", {"distance": "=17", "destination": "Queens", "origin": "Manhattan"}),
    _query(37, "count", {"distance": "=5", "origin": "Queens", "minutes": ">=22"}),
    _query(38, "count", {**_TO_AIRPORTS, "origin": "Queens"}),
    _query(39, "count", {"distance": ">=4", "minutes": ">=32", "core": "no"}),
    _query(40, "count", {"distance": "<=4", **_QUEENS}),
    _query(41, "sum", {"weekday": "=1", "distance": "=1", "hour": "=3"}),
    _query(42, "sum", {**_MINUTE_TRIPS, "minutes": "=62"}),
    _query(43, "sum", {"weekday": "=3", "destination": "EWR", "origin": "Manhattan"}),
    _query(44, "sum", {**_TO_AIRPORTS, "origin": "Manhattan"}),
    _query(45, "sum", {"weekday": "<2", "distance": "=8", "hour": "<=22"}),
    _query(46, "sum", {"distance": "<=2", "minutes": "<=4", "core": "no"}),
    _query(47, "sum", {"distance": ">=8", "origin": "Manhattan", "minutes": ">=30"}),
    _query(48, "sum", {"distance": "<=1", **_QUEENS}),
    _query(49, "sum", {"distance": ">=8", **_QUEENS}),
    _query(50, "sum", {"distance": "<=1", "minutes": "<=24", "core": "yes"}),
    _query(51, "median", {"distance": "<=2", "minutes": "<=15", "core": "no"}),
    _query(52, "median", {"distance": "<=1", **_QUEENS}),
    _query(53, "median", {"distance": "<=2", **_QUEENS}),
    _query(54, "median", {"weekday": "<=3", **_QUEENS}),
    _query(55, "median", {"half": "second", "airport": "no", "origin": "Queens"}),
    _query(56, "median", {"distance": "<=8", "minutes": "<=25", "core": "yes"}),
    _query(57, "median", {"distance": "<=12", "minutes": "<=34", "core": "no"}),
    _query(58, "median", {"weekday": "<2", "distance": "=8", "hour": "<=2"}),
    _query(59, "median", {"weekday": ">=2", "distance": ">=8", "hour": "=5"}),
    _query(60, "median", {"distance": ">=2", "origin": "Manhattan", "minutes": ">=50"}),
)

QUERIES: Final[Mapping[str, tuple[Query, ...]]] = {"people": _PEOPLE, "trips": _TRIPS}
"""All sixty, by table."""

OWN_ANSWERS: Final = (
    *(34, 54, 87, 624, 1_560, 1_893, 18_693, 36_756, 41_691, 79_723, 320_934, 471_994),
    *(6_915_340, 7_653_748, 9_891_949, 123_543_040, 138_131_505, 143_179_279, 327_036_909),
    *(685_635_093, 23_542_765_109),
    *(41, 40, 40, 41, 40, 41, 39, 40, 40),
    *(11, 56, 92, 751, 1_064, 1_926, 13_549, 35_190, 77_872, 346_109),
    *(1_357, 4_876, 8_239, 161_408, 218_047, 324_730, 1_133_124, 1_651_975, 3_628_304, 5_680_776),
    *(1, 1, 1, 2, 2, 2, 3, 8, 12, 18),
)
"""The paper's own q(D), in the order of its queries."""

OWN_REFERENCES: Final = (
    *(34, 54, 91, 624, 1_606, 1_884, 18_777, 36_404, 42_455, 79_283, 320_001, 470_483),
    *(6_942_866, 7_818_555, 10_129_562, 128_497_757, 139_557_517, 149_069_654, 336_130_017),
    *(690_711_885, 23_434_676_868),
    *(41, 40, 40, 41, 40, 41, 39, 40, 40),
    *(11, 56, 91, 748, 1_026, 1_909, 13_207, 35_280, 78_774, 346_045),
    *(1_357, 4_823, 8_133, 161_706, 213_685, 480_688, 1_120_773, 1_685_971, 3_633_347, 5_624_898),
    *(1, 1, 1, 2, 2, 2, 2, 8, 12, 18),
)
"""And its own q(D_s)."""
