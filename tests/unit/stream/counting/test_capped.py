"""What caps and duplicates leave of a window, event by event; and what may be dropped before."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given, settings

from stream.counting.bounding import Capped, Contributions
from tests.support.contributions import RNG, RULES, random_rows


def fates(bounds, rows):
    """Meet rows one by one, and return why each counts in no statistic; nothing if it does."""
    used = set()
    number = Counter()
    reached = defaultdict(list)
    met = set()
    found = []
    for at in range(len(rows)):
        unit, period, cell = (int(of[at]) for of in (rows.unit.number, rows.period, rows.cell))
        event = () if rows.event_id is None else tuple(rows.event_id[at].tolist())
        new, few = [], []
        for statistic, distinct in enumerate(bounds.distinct):
            place = statistic, unit, period, cell
            copy = place if distinct else (*place, int(rows.weight[statistic, at]), *event)
            if rows.counts[statistic, at] and not ((distinct or event) and copy in used):
                used.add(copy)
                new.append(statistic)
                number[place] += 1
                if distinct or number[place] <= bounds.events_per_cell:
                    few.append(statistic)
        cells = reached[unit, period]
        if new and cell not in cells:
            cells.append(cell)
        again = [each for each in few if bounds.distinct[each] and (each, unit, cell) in met]
        if not new:
            found.append("repeat")
        elif not bounds.per_user:
            found.append("")
        elif cells.index(cell) >= bounds.predicates_per_window:
            found.append("groups")
        elif not few:
            found.append("events")
        else:
            met |= {(each, unit, cell) for each in few}
            found.append("repeat" if again == few else "")
    return found


@settings(max_examples=300)
@given(RULES, RNG)
def test_every_event_left_out_is_told_once(bounds, rng):
    """What counts, and what does not for which reason, is what a walk through the rows finds."""
    rows = random_rows(rng, int(rng.integers(0, 200)), bounds)
    walked = fates(bounds, rows)

    def beyond(cap):
        people = [unit for unit, fate in zip(rows.unit.number, walked, strict=True) if fate == cap]
        return len(people), len(set(people))

    told = Capped(walked.count("repeat"), *beyond("groups"), *beyond("events"))
    assert bounds.capped(rows, rows) == told
    counted = [at for at, fate in enumerate(walked) if not fate]
    assert bounds.apply(rows).sequence.tolist() == counted


@given(RULES, RNG)
def test_compacting_first_changes_nothing(rules, rng):
    """Bounding the union of compacted groups equals bounding the union of all their rows."""
    rows = random_rows(rng, int(rng.integers(1, 80)), rules)
    group = rng.integers(0, 3, len(rows))
    parts = [rules.compact(rows.take(group == at)) for at in range(3)]
    whole, joined = rules.apply(rows), rules.apply(Contributions.join(parts))
    assert joined.sequence.tolist() == whole.sequence.tolist()
    assert joined.counts.tolist() == whole.counts.tolist()
