"""Published counts are altered, removed and added: all of it is named, also of mere digests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from stream.custody.archive import archive
from stream.custody.published import Records
from stream.custody.restoring import published_in, records_in
from stream.decisions.records import AlarmRecord, CountRecord, DecisionRecord, encode
from stream.decisions.release import alarm_records, count_records, decision_record
from tests.support.paned import alarm, configured, opened, replayed, rows
from tests.support.published import compared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from stream.decisions.records import Record
    from stream.model.alarms import Alarms

    Decided = tuple[Alarms, Ledger, list[Record]]

LATE = 1 << 60
ROOMS = ("hall", "lab")
WINDOW = "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"


@pytest.fixture
def decided(tmp_path: Path) -> Iterator[Decided]:
    """A configuration, its ledger, and what left it: in the first two windows, nothing rings."""
    hall = alarm("hall", WINDOW, "COUNT(*) > 99", release="counts")
    alarms = configured(tmp_path, hall, rooms=ROOMS, until="00:06")
    records: list[Record] = []
    with opened(alarms) as ledger:
        for one in replayed(alarms, ledger, rows(tmp_path, (1, 1, 1, 400, 1, 1), ROOMS)):
            query = alarms.running[one.key.query]
            records.append(decision_record(query, alarms, one))
            records += [*alarm_records(query, one), *count_records(one)]
        yield alarms, ledger, records


def problems(decided: Decided, records: list[Record], folder: Path | None = None) -> list[str]:
    """Return what is wrong with records; decisions may lie in an archive."""
    alarms, ledger, _ = decided
    return compared(alarms, ledger, records, folder)[0]


def edits(records: list[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield what may be done to the counts of a window that is silent, and of one that rings.

    Not of the first one: what lies before the beginning of what is shown may be forgotten.
    """
    rings = {one.sequence for one in records if isinstance(one, AlarmRecord)}
    counts = [one for one in records if isinstance(one, CountRecord) and one.sequence > 1]
    for ringing in (False, True):
        one = next(each for each in counts if (each.sequence in rings) is ringing)
        yield f"removed {ringing}", [each for each in records if each is not one]
        for change in (
            {"count": one.count + 1},
            {"standard_deviation": one.standard_deviation / 2},
            {"panes": one.panes + 1},
            {"noisy_panes": "panes-00000000"},
            {"count_id": "0" * 32},
            {"window_end": "1970-01-01T00:00:00.000Z"},
            {"group": {"room": "attic"}},
        ):
            other = msgspec.structs.replace(one, **change)
            yield f"{change} {ringing}", [other if each is one else each for each in records]
            if "count_id" in change:
                yield f"added {ringing}", [*records, other]


def test_every_edit_of_a_count_is_named(decided: Decided, tmp_path: Path) -> None:
    """While the ledger has the counts, and once they lie in an archive."""
    _, ledger, records = decided
    kinds = {type(one) for one in records}
    assert kinds == {DecisionRecord, AlarmRecord, CountRecord}
    for folder in (None, tmp_path / "archive"):
        if folder is not None:
            assert archive(ledger, folder, LATE).entries > 0
        assert problems(decided, [*records, *records], folder) == []
        named = {how: problems(decided, shown, folder) for how, shown in edits(records)}
        assert len(named) == 18
        assert [how for how, found in named.items() if not found] == []
        bare = [one for one in records if not isinstance(one, CountRecord)]
        assert problems(decided, bare, folder) != []


def test_counts_that_their_topic_has_forgotten_are_not_missed(
    decided: Decided, tmp_path: Path
) -> None:
    """It holds the most, and forgets the soonest: also in the midst of a window's counts."""
    _, ledger, records = decided
    counts = [one for one in records if isinstance(one, CountRecord)]
    beside = [one for one in records if not isinstance(one, CountRecord)]
    for folder in (None, tmp_path / "archive"):
        if folder is not None:
            assert archive(ledger, folder, LATE).entries > 0
        for gone in (1, 2, 3):
            shown = [*beside, *counts[gone:]]
            assert problems(decided, shown, folder) == []
        without = [one for one in shown if not isinstance(one, AlarmRecord)]
        assert problems(decided, without, folder) != []


def test_what_is_wrong_is_said(decided: Decided) -> None:
    """Which count of which window, and what of it."""
    _, _, records = decided
    one = [each for each in records if isinstance(each, CountRecord)][-1]
    others = [each for each in records if each is not one]
    changed, stray = (
        msgspec.structs.replace(one, **change)
        for change in ({"count": one.count + 1}, {"sequence": 99})
    )
    window = f"window from {one.window_start} of 'hall' (number {one.sequence}): "
    for shown, begins, ends in (
        ([*others, changed], window, f"count {one.count_id} was altered: count"),
        (others, window, f"count {one.count_id} is missing"),
        ([*records, stray], "", "0 alarm(s) and 1 count(s) without a decision"),
    ):
        (said,) = problems(decided, shown)
        assert said.startswith(begins)
        assert said.endswith(ends)


def test_saved_output_with_counts_is_read_and_charges_none(
    decided: Decided, tmp_path: Path
) -> None:
    """As `run --json` prints it; what is no record at all is still refused."""
    _, _, records = decided
    path = tmp_path / "published.jsonl"
    path.write_bytes(b"".join(encode(one) + b"\n" for one in records))
    assert list(records_in(path)) == records
    decisions = [one for one in records if isinstance(one, DecisionRecord)]
    assert len(published_in([path])) == len(decisions)
    shown = Records()
    shown.read(CountRecord, b"{}")
    assert dict(shown.unreadable) == {"count": 1}
