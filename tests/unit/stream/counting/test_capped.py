"""What caps and duplicates leave of a window, event by event; and what may be dropped before."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby

from hypothesis import given, settings

from stream.counting.bounding import Capped, Contributions
from tests.support.contributions import RNG, RULES, random_rows


def fates(bounds, rows):
    """Meet rows one by one, and return whose each is and why it counts in no statistic, if so."""
    used = set()
    number = Counter()
    reached = defaultdict(list)
    met = set()
    found = {}
    for sequence, entries in groupby(range(len(rows)), key=rows.sequence.__getitem__):
        new, few = [], []
        for at in entries:
            unit, period = int(rows.unit.number[at]), int(rows.period[at])
            statistic, cell = divmod(int(rows.place[at]), bounds.cells)
            event = () if rows.event_id is None else tuple(rows.event_id[at].tolist())
            distinct = bounds.distinct[statistic]
            place = statistic, unit, period, cell
            copy = place if distinct else (*place, int(rows.weight[at]), *event)
            if not ((distinct or event) and copy in used):
                used.add(copy)
                new.append(statistic)
                number[place] += 1
                if distinct or number[place] <= bounds.events_per_cell:
                    few.append(statistic)
        cells = reached[unit, period]
        if new and cell not in cells:
            cells.append(cell)
        again = [each for each in few if bounds.distinct[each] and (each, unit, cell) in met]
        why = ""
        if not new:
            why = "repeat"
        elif bounds.per_user and cells.index(cell) >= bounds.predicates_per_window:
            why = "groups"
        elif bounds.per_user and not few:
            why = "events"
        elif bounds.per_user:
            met |= {(each, unit, cell) for each in few}
            why = "repeat" if again == few else ""
        found[int(sequence)] = unit, why
    return found


@settings(max_examples=300)
@given(RULES, RNG)
def test_every_event_left_out_is_told_once(bounds, rng):
    """What counts, and what does not for which reason, is what a walk through the rows finds."""
    rows = random_rows(rng, int(rng.integers(0, 200)), bounds)
    walked = fates(bounds, rows)

    def beyond(cap):
        people = [unit for unit, why in walked.values() if why == cap]
        return len(people), len(set(people))

    told = Capped(beyond("repeat")[0], *beyond("groups"), *beyond("events"))
    assert bounds.capped(rows, rows) == told
    counted = [at for at, (_, why) in walked.items() if not why]
    assert list(dict.fromkeys(bounds.apply(rows).sequence.tolist())) == counted


@given(RULES, RNG)
def test_compacting_first_changes_nothing(rules, rng):
    """Bounding the union of compacted groups equals bounding the union of all their rows."""
    rows = random_rows(rng, int(rng.integers(1, 80)), rules)
    group = rng.integers(0, 3, len(rows))[rows.sequence]
    parts = [rules.compact(rows.take(group == at)) for at in range(3)]
    whole, joined = rules.apply(rows), rules.apply(Contributions.join(parts))
    assert joined.sequence.tolist() == whole.sequence.tolist()
    assert joined.place.tolist() == whole.place.tolist()
