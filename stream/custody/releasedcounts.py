"""Published noisy counts, compared with those that their decision was stored with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.custody.published import fields_altered
from stream.decisions.release import count_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accountant.records import StoredDecision
    from stream.decisions.records import CountRecord

__all__ = ["other_counts"]


def other_counts(
    found: Iterable[CountRecord], decision: StoredDecision, where: str, *, whole: bool
) -> Iterator[str]:
    """Name the counts that were altered, that nobody released, and those that are missing.

    Args:
        found: what was published.
        decision: as the ledger has it, with what left.
        where: which window that is, in words.
        whole: whether all of it had left before the records were read.
    """
    released = {one.count_id: one for one in count_records(decision)}
    there = set()
    for one in found:
        there.add(one.count_id)
        again = released.get(one.count_id)
        if again is None:
            yield f"{where}: count {one.count_id} was not released"
        else:
            yield from _altered(one, again, where)
    if whole:
        for identity in sorted(released.keys() - there):
            yield f"{where}: count {identity} is missing"


def _altered(one: CountRecord, again: CountRecord, where: str) -> Iterator[str]:
    wrong = fields_altered(one, again)
    if wrong:
        yield f"{where}: count {one.count_id} was altered: {', '.join(wrong)}"
