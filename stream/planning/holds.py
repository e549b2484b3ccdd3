"""What a hold makes of a period's alarms and of false ones, from public numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.model.holds import held_windows, in_runs, shown_falsely
from stream.windows.calendars import duration_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.model.alarms import Alarms

__all__ = ["hold_texts"]


def hold_texts(alarms: Alarms) -> Iterator[str]:
    """Yield a sentence for every alarm with a hold.

    An alarm of an SVT run is an episode of so many windows, or as many windows of longer ones.
    """
    for query in alarms.queries.values():
        if not query.hold_ms:
            continue
        false = float(query.aim.max_fpr or query.aim.max_fnr)
        shown, shown_most = shown_falsely(query)
        takes = "costs its predicate the first window alone"
        if in_runs(query):
            takes = f"takes one of the {query.aim.alarms} alarms of a run"
        yield (
            f"{query.id}: hold {duration_words(query.hold_ms)}: an episode of up to"
            f" {held_windows(query) + 1} windows {takes}; of quiet windows, {false:.2g} fire by"
            f" mistake where they are asked, and {shown:.2g} are shown as firing"
            f" ({shown_most:.2g} in the worst of them)"
        )
