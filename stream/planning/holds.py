"""What a hold makes of a period's alarms and of false ones, from public numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stream.model.holds import held_windows, in_runs, shown_falsely
from stream.windows.calendars import duration_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.model.alarms import Alarms
    from stream.model.queries import Query

__all__ = ["Held", "hold_texts", "holds_of"]


class Held(NamedTuple):
    """The hold of one alarm.

    Args:
        alarm: its name.
        hold_ms: as written.
        windows: how many are held after one that fired.
        episodes: alarms of one run: so many episodes of up to ``windows + 1`` windows does it
            carry, or as many windows of longer ones; ``None`` where windows are charged one by one,
            and an episode costs its predicate the first window alone.
        false: false alarms of a quiet window that is asked, at most.
        shown: part of the quiet windows that is shown as firing in the long run, at most.
        shown_most: the most that any one of them is.
    """

    alarm: str
    hold_ms: int
    windows: int
    episodes: int | None
    false: float
    shown: float
    shown_most: float


def holds_of(alarms: Alarms) -> list[Held]:
    """Return the holds of all alarms that have one."""
    return [_of(query) for query in alarms.queries.values() if query.hold_ms]


def hold_texts(found: list[Held]) -> Iterator[str]:
    """Yield one sentence for each hold."""
    for one in found:
        takes = "costs its predicate the first window alone"
        if one.episodes is not None:
            takes = f"takes one of the {one.episodes} alarms of a run"
        yield (
            f"{one.alarm}: hold {duration_words(one.hold_ms)}: an episode of up to"
            f" {one.windows + 1} windows {takes}; of quiet windows, {one.false:.2g} fire by mistake"
            f" where they are asked, and {one.shown:.2g} are shown as firing"
            f" ({one.shown_most:.2g} in the worst of them)"
        )


def _of(query: Query) -> Held:
    return Held(
        query.id,
        query.hold_ms,
        held_windows(query),
        query.aim.alarms if in_runs(query) else None,
        float(query.aim.max_fpr or query.aim.max_fnr),
        *shown_falsely(query),
    )
