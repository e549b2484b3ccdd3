"""The advice on every alarm that says what is wanted: what is best, or what would have to change.

Wanted alarms are looked at in the order of the file. Each is first given the cheapest way there is;
then each in turn may take what the budget has left beside all others, so that runs get as many
alarms as fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from stream.config.alarms.panes import shared_anew
from stream.model.fingerprints import fingerprint
from stream.planning.advice.case import case_of
from stream.planning.advice.needs import needs, options
from stream.planning.advice.search import as_written, candidates, cheapest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from operators.conditions.condition import Aim
    from stream.model.alarms import Alarms
    from stream.model.queries import Query
    from stream.planning.advice.candidates import Candidate
    from stream.planning.advice.case import Case
    from stream.planning.advice.needs import Need

__all__ = ["Advice", "advise", "as_advised", "best_instead"]

_SEARCHED: Final = ("mechanism", "tolerance", "max_fpr", "alarms_per_period")


@dataclass(frozen=True, eq=False)
class Advice:
    """What is said of one alarm.

    Args:
        query: the alarm.
        case: what is asked of it; why nothing can be said where that is so.
        written: what it does as it is written; ``None`` of one that is only wanted.
        best: what is best; ``None`` where nothing useful keeps all that is wanted, or where what is
            written keeps it.
        alternatives: ways that were compared, the best among them.
        needs: what would have to change, where there is no best.
        options: what else keeps all with one thing changed, where there is.
    """

    query: Query
    case: Case | str
    written: Candidate | None = None
    best: Candidate | None = None
    alternatives: tuple[Candidate, ...] = ()
    needs: tuple[Need, ...] = ()
    options: tuple[Need, ...] = ()

    @property
    def lacking(self) -> bool:
        """Whether a wanted alarm cannot be had."""
        return bool(self.query.open) and self.best is None

    @property
    def poor(self) -> Candidate | None:
        """The best of what keeps all but is of little use, where nothing else does."""
        return None if self.best else _best([one for one in self.alternatives if one.keeps])


def advise(alarms: Alarms) -> tuple[Advice, ...]:
    """Return the advice on every alarm that says how many false rings are borne, in order.

    Args:
        alarms: the configuration, alarms that are only wanted included.
    """
    standing = _with_cheapest(alarms)
    found: list[Advice] = []
    for query in (*alarms.queries.values(), *alarms.wanted.values()):
        if query.false_rings is None:
            continue
        one = _advice(query, standing)
        found.append(one)
        if query.open:
            standing = _with(standing, one.best)
    return tuple(found)


def as_advised(alarms: Alarms, advice: Sequence[Advice]) -> Alarms:
    """Return the configuration with what is best in place of what is wanted, ready to be planned.

    Alarms for which nothing is best are left out.
    """
    for one in advice:
        if one.query.open:
            alarms = _with(alarms, one.best)
    return replace(alarms, wanted={})


def best_instead(query: Query, alarms: Alarms) -> Candidate | None:
    """Return the best way to have a written alarm another way; ``None`` where nothing useful is.

    Args:
        query: with the false rings that are borne.
        alarms: that it is one of; what the others cost is taken from the budget.
    """
    case = case_of(_wanted_instead(query), alarms)
    return None if isinstance(case, str) else _useful(candidates(case))


def _with_cheapest(alarms: Alarms) -> Alarms:
    """Return the configuration with the cheapest way of every wanted alarm beside the others."""
    for query in alarms.wanted.values():
        case = case_of(query, alarms)
        found = None if isinstance(case, str) else cheapest(case)
        alarms = _with(alarms, found if found is not None and found.fits else None)
    return alarms


def _with(alarms: Alarms, found: Candidate | None) -> Alarms:
    if found is None:
        return alarms
    budget = found.case.budget
    query = replace(found.query, fingerprint=fingerprint(found.query, budget))
    queries = {**alarms.queries, query.id: query}
    return shared_anew(replace(alarms, queries=queries, budget=budget))


def _advice(query: Query, standing: Alarms) -> Advice:
    case = case_of(query, standing)
    if isinstance(case, str):
        return Advice(query, case)
    written = None
    if not query.open:
        written = as_written(case)
        if written is not None and written.keeps and not written.poor:
            return Advice(query, case, written, alternatives=(written,))
        # Looked for is another way altogether, for as few misses as are written.
        case = replace(case, query=_wanted_instead(query))
    tried = candidates(case)
    best = _useful(tried)
    if best is None:
        tried += [one for one in candidates(case, useful=False) if one.poor]
    return Advice(
        query=query,
        case=case,
        written=written,
        best=best,
        alternatives=tuple(tried),
        needs=() if best is not None else tuple(needs(case)),
        options=() if best is None else tuple(options(case, best)),
    )


def _wanted_instead(query: Query) -> Query:
    """Return a written alarm as one of which all is open that can be searched."""
    return replace(query, open=_SEARCHED, aim=_freed(query))


def _freed(query: Query) -> Aim:
    """Return the aim of a written alarm without what may change of it."""
    return replace(query.aim, max_fpr=None, questions=1, put_back=False, panes=1, pane_units=0)


def _useful(found: Sequence[Candidate]) -> Candidate | None:
    """Return the best of several, no poor one; ``None`` where none keeps all that is wanted."""
    return _best([one for one in found if one.keeps and not one.poor])


def _best(found: Sequence[Candidate]) -> Candidate | None:
    """Return the best of several that keep all that is wanted.

    A mechanism that decides every window by itself is best where the budget carries one, the
    cheapest of them: its windows know nothing of each other. Else runs are, with as many alarms as
    fit: one that is spent is silent until its period ends. Else a cap over the period is, if it
    leaves a person at least half of its windows: nothing here tells how long people stay.
    """
    whole = [one for one in found if one.cap is None]
    alone = [one for one in whole if not one.runs]
    if alone:
        return min(alone, key=lambda one: one.worst_units or 0)
    wide = [one for one in found if one.cap and 2 * one.cap >= (one.case.period_windows or 0)]
    return max(whole or wide, key=lambda one: one.query.aim.alarms, default=None)
