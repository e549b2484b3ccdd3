"""What DP-PQD says of its figures, beside what was found: one paragraph a claim, with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.papers.pages import number
from benchmarks.papers.pqd.appendix.study import matched
from benchmarks.papers.pqd.appendix.words import (
    beyond_ends,
    by_support,
    duel,
    far_and_wrong,
    narrow_sums,
    one_effective,
    overflowing,
    risen,
    stuck,
)
from benchmarks.papers.pqd.study import DECIDERS, PRINTED
from benchmarks.papers.pqd.words import mean_wrong, points_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.papers.pqd.study import Point, Results

__all__ = ["counts", "distances", "medians", "sums"]

_CAPPED: Final = tuple(f"{name}{how}" for name in ("r2t", "svt") for how in ("", PRINTED))
_FEW_ROWS: Final = 10_000
_NARROW: Final = 0.25
_SCALES: Final = 3.0


def counts(found: Results) -> str:
    """Return the paragraphs on counts."""
    own = points_of(matched(found), "count")
    equal = duel(own, "em", "lm")
    tied = max((p.law["em"] for p in own if p.law["em"] >= p.law["lm"]), default=0.0)
    inside = [point for point in points_of(found, "count", inside=True) if point.distance]
    outside = points_of(found, "count", inside=False)
    within, beyond = duel(inside, "lm", "em"), duel(outside, "lm", "em")
    alone, both = one_effective(found, "count", "lm", "em")
    large = overflowing(found)
    most = max((point.law["em"] for point in large), default=0.0)
    ours = [duel(inside + outside, "tight", other) for other in ("lm", "em")]
    superior = within.won > within.lost and beyond.won > beyond.lost
    smaller = equal.won > 0 and not equal.lost
    return f"""*"Where q(D) = q(D_s), em's error is smaller."* {_verdict(smaller)}: with
every query's reference put at its own q(D), em is wrong less often than lm at {equal.won} of
{equal.points} points and more often at {equal.lost}; at the rest neither is, with probability
{number(tied)} at most.

*"Elsewhere, within the band or not, lm is superior."* {_verdict(superior)}: within it lm is wrong
less often at {within.won} of {within.points} points and more often at {within.lost}, beyond it at
{beyond.won} and {beyond.lost} of {beyond.points}. Of the paper's two, that is: tight is wrong less
often than lm at {ours[0].won} points and more often at {ours[0].lost}, than em at {ours[1].won} and
{ours[1].lost}.

*"The error is not monotone in epsilon."* Holds: it rises somewhere, by tau or by epsilon, in
{risen(found, "count", "lm")} curves of lm and {risen(found, "count", "em")} of em: where q(D) lies
just beyond an end of the band, or comes close to one.

*"Both are effective at the same settings."* {_verdict(alone == 0, alone <= both // 20)}: both are
at {both} points, one alone at {alone}.

*"em's error rises where tau epsilon is large"*, since e^(epsilon tau) overflows to a coin. Does not
hold: it would at {len(large)} of {len(points_of(found, "count"))} points, and em's largest error
there is {number(most)}, as no exponential is taken in floats."""


def sums(found: Results) -> str:
    """Return the paragraphs on sums."""
    inside, outside = (points_of(found, "sum", inside=each) for each in (True, False))
    within, beyond = _means(inside), _means(outside)
    narrow = narrow_sums(found, _NARROW)
    high = sum(point.law["r2t" + PRINTED] > 0.9 for point in inside)
    ordered = all(
        within["lm"] <= within[f"svt{each}"] <= within[f"r2t{each}"] for each in ("", PRINTED)
    )
    told = "; ".join(
        f"{name} {' and '.join(map(number, beyond_ends(found, name)))}" for name in ("lm", *_CAPPED)
    )
    better = [beyond[name] < beyond["lm"] for name in _CAPPED]
    return f"""*"Within the band lm is best, followed by svt."* {_verdict(ordered)}: the mean errors
over {len(inside)} points are lm {number(within["lm"])}, svt {number(within["svt"])}, r2t
{number(within["r2t"])}; printed svt {number(within["svt" + PRINTED])}, printed r2t
{number(within["r2t" + PRINTED])}; tight {number(within["tight"])}.

*"r2t's error is close to 1 within the band unless tau is large."* {_verdict(high > 0)}: the printed
one is wrong more than nine times in ten at {high} of these points.

*"Beyond the band r2t and svt are the better ones."* {_verdict(all(better), any(better))}: lm
{number(beyond["lm"])}, r2t {number(beyond["r2t"])}, svt {number(beyond["svt"])}, printed r2t
{number(beyond["r2t" + PRINTED])}, printed svt {number(beyond["svt" + PRINTED])}, tight
{number(beyond["tight"])} over {len(outside)} points. It depends on the side: where q(D) lies above
the band, what a cap takes off brings the sum back into it, as the paper finds for q50 at tau =
0.8%. Below and above the errors are {told}.

*"Where the largest row is far below the bound, take svt or r2t"* (Table 4). {_narrow(narrow)}

*"svt's and r2t's errors are not monotone in epsilon."* Holds: they rise somewhere in
{risen(found, "sum", "svt")} and {risen(found, "sum", "r2t")} curves; lm's in
{risen(found, "sum", "lm")}."""


def medians(found: Results) -> str:
    """Return the paragraphs on medians."""
    inside, outside = (points_of(found, "median", inside=each) for each in (True, False))
    within = duel(inside, "hist", "em" + PRINTED)
    beyond = duel(outside, "hist", "em" + PRINTED)
    means = {name: mean_wrong(inside + outside, name) for name in DECIDERS["median"]}
    fixed = duel(inside + outside, "hist", "em")
    ours = duel(inside + outside, "tight", "hist")
    always, every = stuck(found, "em" + PRINTED)
    few, many = by_support(found, "hist", _FEW_ROWS)
    better = within.won > within.lost, beyond.won > beyond.lost
    return f"""*"hist's error is generally smaller than em's, wherever q(D) lies."* {
        _verdict(all(better), any(better))
    }: within the band hist is wrong less often than the printed em at {within.won} of
{within.points} points and more often at {within.lost}; beyond it at {beyond.won} and {beyond.lost}
of {beyond.points}. On average hist errs {number(means["hist"])} and the printed em
{number(means["em" + PRINTED])} of the time. Against this library's em
({number(means["em"])}), whose score is greatest at the median itself, hist is better at {fixed.won}
and worse at {fixed.lost} points. tight errs {number(means["tight"])} of the time, less often than
hist at {ours.won} points and more often at {ours.lost}.

*"em's error does not decrease with epsilon where many rows count, as scores are large."*
{_verdict(always > 0)}, for another reason: the printed em is wrong more than nine times in ten at
every epsilon for {always} of {every} medians, because its score prefers the successor of a value
that many rows share (and likes all values above it as much where all rows share one), which lies
beyond a narrow band.

*"Errors are highest where few rows count."* {_verdict(few > many)}: hist errs {number(few)} of the
time over medians of fewer than {_FEW_ROWS:,} rows, and {number(many)} over the others."""


def distances(tables: Mapping[str, Results]) -> str:
    """Return the paragraph on errors by distance."""
    parts = []
    for kind, names in DECIDERS.items():
        tallies = {
            name: [far_and_wrong(found, kind, name, _SCALES) for found in tables.values()]
            for name in names
        }
        told = ", ".join(
            f"{name} {sum(near for _, near in each)} of {sum(wrong for wrong, _ in each)}"
            for name, each in tallies.items()
        )
        parts.append(f"for {kind}s {told}")
    return f"""*"There is no clear pattern for when the error is high, except close to an end of the
band, or where the largest row is near the bound."* Holds for the deciders that read one number. Of
the points at which a decider is wrong more than a quarter of the time, these many lie within
{_SCALES:g} scales of noise of an end: {"; ".join(parts)}. lm, hist and tight err nowhere else; em
of counts also errs far beyond a band that is narrow itself, where both of its answers score alike;
r2t and svt err far within it, by the rows that their caps leave out; and the printed em of medians
by its score. The scale of the noise is the sensitivity over epsilon, of medians in rows: a median
may be far from an end in value and one row from it in rank."""


def _narrow(points: Sequence[Point]) -> str:
    if not points:
        return "Cannot be seen here: within the band no query's largest row is so small."
    errors = _means(points)
    better = [errors[name] < errors["lm"] for name in _CAPPED]
    told = ", ".join(f"{name} {number(error)}" for name, error in errors.items())
    verdict = _verdict(all(better), any(better))
    return f"""{verdict}: over the {len(points)} points within the band whose largest row is at most
a quarter of the bound the mean errors are {told}."""


def _means(points: Sequence[Point]) -> dict[str, float]:
    return {name: mean_wrong(points, name) for name in DECIDERS["sum"]}


def _verdict(wholly: bool, partly: bool = False) -> str:
    return "Holds" if wholly else "Holds in part" if partly else "Does not hold"
