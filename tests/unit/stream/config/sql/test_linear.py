"""Sums of multiples of aggregates: what is read, and what one event can add, exactly.

The mark ``⟦`` (removed before reading) stands where the error must point to.
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from math import inf, nan, nextafter
from typing import TYPE_CHECKING

import pytest

from operators.conditions.comparison import Comparison
from operators.conditions.weights import Weight
from stream.config.sql.kinds import span_of_terms
from stream.config.sql.nodes import SqlProblem
from stream.counting.projection import project
from stream.model.alarm import AggregateSpec, Term
from stream.model.feeds import FieldType
from stream.model.filters import And, Compare, IsIn, IsNull, Not, Or
from tests.support import reference
from tests.support.reference import FEED, Event, random_terms
from tests.unit.stream.config.sql.test_having import (
    BEFORE,
    counted,
    counts_of,
    parse,
    read,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream.model.filters import Where

    Span = Callable[[Sequence[Term], Where | None], tuple[int, int] | None]

STAFF = "COUNT(*) FILTER(WHERE kind = 'x')"


@pytest.mark.parametrize(
    ("having", "text"),
    [
        (f"{STAFF} > 0.2 * COUNT(*)", f"{STAFF} - 0.2 * COUNT(*) > 0"),
        (f"0.2 * COUNT(*) < {STAFF}", f"-{STAFF} + 0.2 * COUNT(*) < 0"),
        (f"0.2 * COUNT(*) - {STAFF} <= 0", f"-{STAFF} + 0.2 * COUNT(*) <= 0"),
        (f"20 < {STAFF} - 0.2 * COUNT(*)", f"{STAFF} - 0.2 * COUNT(*) > 20"),
        ("SUM(age) - 0.5 * COUNT(*) >= 20.3", "-0.5 * COUNT(*) + SUM(age) >= 20.3"),
        (f"NOT {STAFF} <= COUNT(*) / 5", f"{STAFF} - 0.2 * COUNT(*) > 0"),
        (f"{STAFF} >= 1 / 3 * COUNT(*)", f"{STAFF} - 1/3 * COUNT(*) >= 0"),
        (f"3 * COUNT(age) - (2 * {STAFF} + 1) >= 9", f"-2 * {STAFF} + 3 * COUNT(age) >= 10"),
        ("COUNT(*) > SUM(paid)", "COUNT(*) - SUM(paid) > 0"),
        ("COUNT(*) - 5 > 0.0", "COUNT(*) > 5"),
        ("10 - COUNT(*) >= 0", "COUNT(*) <= 10"),
        ("2 * COUNT(*) > 9", "2 * COUNT(*) > 9"),
        ("-SUM(paid) + 2 * SUM(paid) < 3", "SUM(paid) < 3"),
        (f"seats[room] < COUNT(*) - 0.5 * {STAFF} OR COUNT(*) > 3", None),
        ("-COUNT(*) > seats[room] OR COUNT(*) > 2 * COUNT(age)", None),
        ("COUNT(*) - 2 * COUNT(age) BETWEEN 1 AND 5", None),
        (f"COUNT(*) = 2 * {STAFF}", None),
    ],
)
def test_arithmetic_is_brought_to_one_side(having, text):
    """Both sides become one sum, its sign as written, compared with a number or a table."""
    leaves = list(read(having).leaves())
    if text is not None:
        (asked,) = leaves
        assert asked.text == text
    for asked in leaves:
        assert parse(having).reader.read_key(asked.text) == (asked,)


@pytest.mark.parametrize(
    ("having", "factors", "step", "sensitivity"),
    [
        # An event with kind x adds 0.8, another takes 0.2.
        (f"{STAFF} > 0.2 * COUNT(*)", (5, -1), Fraction(1, 5), 4),
        (f"{STAFF} > 1/3 * COUNT(*)", (3, -1), Fraction(1, 3), 2),
        # No event is of both kinds.
        (f"{STAFF} > 2 * COUNT(*) FILTER (WHERE kind = 'y')", (1, -2), Fraction(1), 2),
        # Half units, from -2 to 3: the sum moves by 6 of them at most, less the event itself.
        ("SUM(paid) > COUNT(paid)", (-2, 1), Fraction(1, 2), 6),
        ("4 * COUNT(*) - 6 * COUNT(age) > 1", (2, -3), Fraction(2), 2),
    ],
)
def test_one_event_adds_what_its_terms_do_together(having, factors, step, sensitivity):
    """Sums are counted in the step that all terms are multiples of; users send several events."""
    made = counted(having)
    (spec,) = made.aggregates
    assert spec.kind is Weight.LINEAR
    assert (tuple(term.factor for term in spec.terms), spec.per_unit) == (factors, step)
    assert made.condition.sensitivities == (sensitivity,)
    assert counted(having, cap=5).condition.sensitivities == (5 * sensitivity,)


def test_where_says_which_events_there_are():
    """A row that WHERE leaves out adds nothing, however much it would weigh."""
    both = f"{STAFF} + COUNT(*) FILTER (WHERE age > 50) + COUNT(*) FILTER (WHERE age < 60) > 5"
    (free,) = counted(both).aggregates
    assert (free.lo, free.hi) == (1, 3)
    filtered = BEFORE.replace("GROUP", "WHERE kind = 'y' AND age < 40 GROUP")
    (asked,) = parse(both, filtered).having.leaves()
    assert (asked.measure.lo, asked.measure.hi) == (1, 1)


def test_the_sum_is_what_was_written_and_not_its_negative():
    """What is said of its usual value elsewhere is said of the left side less the right one."""
    for having, falls in (("SUM(paid) > 2 * COUNT(*)", False), ("2 * COUNT(*) < SUM(paid)", True)):
        (spec,) = counted(having).aggregates
        (statistic,) = set(counts_of(spec, [("x", 0, Fraction(3)), ("y", 0, Fraction(2))]).tolist())
        assert statistic * spec.per_unit == (-1 if falls else 1), having


def test_filters_that_make_too_many_kinds_of_events_are_refused():
    """Looking at all of them would take minutes; the sum is pointed at."""
    filters = product(("age", "size", '"order"', "paid"), ("1", "2", "3", "4", "5", "6"))
    counts = [f"{n} * COUNT(*) FILTER (WHERE {f} IN ({v}))" for n, (f, v) in enumerate(filters, 2)]
    more = ("raw IN (1, 2, 3) OR raw < 1 OR NOT raw > 2", "raw > 2.5", "kind < 'b'", "kind < 'c'")
    counts += [f"COUNT(*) FILTER (WHERE {each})" for each in (*more, "kind < 'd'")]
    with pytest.raises(SqlProblem) as caught:
        parse(f"COUNT(*) > {' + '.join(counts)}")
    assert "kinds of events" in caught.value.message
    assert "simpler filters" in caught.value.hint
    assert caught.value.offset == len(BEFORE)


def test_a_linear_statistic_is_shared_with_its_equal():
    """A negation is the same test; another unit is another one."""
    made = counted(
        f"({STAFF} > 0.2 * COUNT(*) AND COUNT(age) > 3) OR NOT {STAFF} <= 0.2 * COUNT(*)"
        f" OR 5 * {STAFF} - COUNT(*) > 7"
    )
    assert [spec.kind for spec in made.aggregates] == [Weight.LINEAR, Weight.COUNT, Weight.LINEAR]
    assert str(made.condition.formula) == "a1 AND a2 OR a1 OR a3"
    assert made.condition.atoms["a1"].thresholds.tolist() == [1] * 6


def test_thresholds_may_lie_between_steps_and_in_tables():
    """The least whole step that will do is found exactly, either side of zero."""
    made = counted(f"2 * {STAFF} - 4 * COUNT(age) > seats[room] OR 2 * COUNT(*) >= 7")
    assert made.condition.atoms["a1"].thresholds.tolist() == [26] * 3 + [5] * 3
    assert made.condition.atoms["a2"].thresholds.tolist() == [4] * 6
    assert counted(f"{STAFF} - 0.2 * COUNT(*) > -0.3").condition.atoms["a1"].thresholds[0] == -1


SIZES = (None, -(2**63), -8, -7, -6, 0, 1, 2, 3, 4, 2**63 - 1)
AMOUNTS = (
    *(None, nan, inf, -inf, -1e300, -2.0, -0.75, -0.25, 0.0, 0.2, 0.24, 0.25, 0.26, 0.5, 0.75),
    *(1.0, 1.25, nextafter(1.5, 0), 1.5, 2.0, 2.25, 3.0, 4.5, 6.0, 1e300),
)
LEAVES = (
    *(Compare("size", FieldType.INTEGER, comparison, 3) for comparison in Comparison),
    Compare("amount", FieldType.FLOAT, Comparison.GE, 0.25),
    Compare("amount", FieldType.FLOAT, Comparison.LT, 1.5),
    IsIn("size", FieldType.INTEGER, (-7, 1)),
    IsIn("amount", FieldType.FLOAT, (0.0, 1.25)),
    IsIn("room", FieldType.STRING, ("attic", "hall")),
    Compare("room", FieldType.STRING, Comparison.GT, "bar"),
    IsNull("size"),
    IsNull("amount"),
    reference.OPEN,
)


def random_where(source, depth):
    """Return a random filter."""
    if not depth or source.random() < 0.4:
        return source.choice(LEAVES)
    if source.random() < 0.3:
        return Not(random_where(source, depth - 1))
    kind = source.choice([And, Or])
    return kind(tuple(random_where(source, depth - 1) for _ in range(2)))


def every_event():
    """Return an event of every kind that the filters below can tell apart, and of more."""
    rooms = [room.encode() for room in reference.ROOMS]
    choices = product(rooms, AMOUNTS, (True, False), SIZES)
    return [
        Event(at, 3, 3, f"p{at}", "a", room, amount, open_, size)
        for at, (room, amount, open_, size) in enumerate(choices)
    ]


def enumerated(log, spec, where):
    """Return the least and the most that the real counting lets any of the events add."""
    scene = reference.scenes()[0]
    query = reference.replace(reference.make_query(scene, spec), where=where)
    rows, _ = project(query, reference.decoded(log))
    weights = rows.weight[:, 0]
    return (int(weights.min()), int(weights.max())) if len(weights) else None


def honest(terms, where):
    """Return what an event adds, as the configuration has it."""
    return span_of_terms(terms, where, FEED, ("room",))


def terms_apart(terms, where):
    """Not exact: filters are taken to be free of each other."""
    ends = [honest([term], where) or (0, 0) for term in terms]
    return sum(min(end[0], 0) for end in ends), sum(max(end[1], 0) for end in ends)


def open_ended(terms, where):
    """Broken: a field is never taken to be missing."""
    present = And((Not(IsNull("size")), Not(IsNull("amount"))))
    return honest(terms, present if where is None else And((where, present)))


def disagreement(span, tries):
    """Return how a rule differs from enumeration first: "above" or "below" it; "" where nowhere."""
    source, log = random.Random(5), every_event()
    for _ in range(tries):
        terms = tuple(
            reference.replace(term, where=random_where(source, 2) if term.where else None)
            for term in random_terms(source)
        )
        where = random_where(source, 1) if source.random() < 0.5 else None
        spec = AggregateSpec(Weight.LINEAR, lo=0, hi=0, terms=terms)
        wanted, found = enumerated(log, spec, where), span(terms, where)
        if wanted == found:
            continue
        if found is None or (wanted and (wanted[0] < found[0] or wanted[1] > found[1])):
            return "below"
        return "above"
    return ""


def test_what_an_event_can_add_is_exact():
    """Over random filters and terms, no event passes the ends, and some event reaches each."""
    assert disagreement(honest, 150) == ""


@pytest.mark.parametrize(("twin", "how"), [(open_ended, "below"), (terms_apart, "above")])
def test_other_rules_are_caught(twin, how):
    """Too small a sensitivity breaks the promise; too large a one is paid for in vain."""
    assert disagreement(twin, 150) == how


def test_floats_are_rounded_as_the_counting_does():
    """Just beside a filter's literal, the last resolution is that of the division of floats."""
    orders = [Comparison.LT, Comparison.LE, Comparison.GT, Comparison.GE]
    for literal, parts, order in product((0.15, 1.05, 2.675, 7.035), (3, 10, 100), orders):
        where = Compare("amount", FieldType.FLOAT, order, literal)
        terms = (Term(1, Weight.SUM, "amount", -(10**6), 10**6, Fraction(1, parts), where),)
        amounts = (literal, nextafter(literal, -inf), nextafter(literal, inf), -1e300, 1e300)
        log = [
            Event(at, 3, 3, "p", "a", b"bar", amount, open=True)
            for at, amount in enumerate(amounts)
        ]
        spec = AggregateSpec(Weight.LINEAR, lo=0, hi=0, terms=terms)
        assert honest(terms, None) == enumerated(log, spec, None)
