"""Partials and marks: what partitions counted is kept until its window is decided."""

from __future__ import annotations

DATABASES = ["sqlite"]


def test_punctuation_marks(ledger):
    """The newest mark at or before an instant is found, per feed and partition."""
    for time_ms, offset in ((10, 100), (20, 200), (10, 999)):
        ledger.counts.put_mark("feed", 0, time_ms, offset)
    assert [ledger.counts.mark_before("feed", 0, at) for at in (9, 10, 19, 20, 99)] == [
        *(None, 100, 100, 200, 200)
    ]
    assert ledger.counts.mark_before("feed", 1, 99) is None
