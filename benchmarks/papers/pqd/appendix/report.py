"""The report on DP-PQD's appendix: every query's errors beside what the paper says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.papers.pages import number, prose, table
from benchmarks.papers.pqd.appendix import claims
from benchmarks.papers.pqd.appendix.pictures import FIGURES, by_distance, figure_pair
from benchmarks.papers.pqd.appendix.privbayes import EPSILON as GENERATOR
from benchmarks.papers.pqd.appendix.privbayes import PARENTS, read
from benchmarks.papers.pqd.appendix.queries import OWN_ANSWERS, OWN_REFERENCES, QUERIES
from benchmarks.papers.pqd.appendix.study import measured
from benchmarks.papers.pqd.appendix.tables import COPIES, SOURCES
from benchmarks.papers.pqd.report import folded, means
from benchmarks.papers.pqd.study import EPSILON, SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from benchmarks.papers.pqd.appendix.privbayes import References
    from benchmarks.papers.pqd.data import Kind
    from benchmarks.papers.pqd.study import Results

__all__ = ["lines_of", "reproduced"]

_STAND_FOR: Final = {"people": "IPUMS-CPS", "trips": "NYC Yellow Taxi Trip"}

_RULES: Final = f"""All sixty queries of the paper's Tables 5 and 6, on tables as large as its own,
around copies by PrivBayes. *Error* is the **exact** probability of the wrong answer: nothing is
drawn. `hist` and `svt` have no law in the library; theirs are added up over the noise that their
questions share (`benchmarks/papers/pqd/laws.py`; tests compare them with draws). Parameters are
those of section 7: tau is 0.2% to 51.2% of q(D_s), epsilon 0.0625 to 1, with {float(SHARE):.1%}
and {float(EPSILON):g} where the other one varies. Deciders are those of
[Figures 5 to 10](../README.md), *printed* ones as the paper has them. The paper's figures are
pictures; what it says of them in words (section 7.2, appendices C.2 and D) stands below each
pair, in italics, with what was found.

- **Tables.** *people* is UCI Adult, itself drawn from the census survey that IPUMS-CPS are, every
  row {COPIES["people"]} times; *trips* are New York's green taxis of January 2022 for its yellow
  ones, every row {COPIES["trips"]} times. That gives 1,351,938 and 2,190,084 rows for 1,340,703 and
  2,177,719. Adult has no income: *persons*, those a row stands for, is summed (bound 500,000, and
  rows above it left out, as the paper does with incomes). The trips here have no fares: minutes are
  summed, with the paper's bound of 377; their rounded distances are the paper's own column.
- **Queries.** Each has the shape of the paper's query of that number. Values are the paper's where
  they exist, and otherwise those that come nearest to its q(D); they were chosen before any copy
  was made and any decider ran. As every row is there some forty times, no count is below that.
- **D_s** comes from the PrivBayes of DataSynthesizer 0.1.13 at epsilon = {GENERATOR:g}, with at
  most {PARENTS} parents to an attribute; the paper says neither. Three copies were made
  with seeds 1, 2 and 3 and kept; the pictures show the first, all other numbers are over the
  three. `make privbayes` makes them again, in some 35 s of processor time each; the report needs
  only their answers, `references.json`, which names all versions.
- **That library keeps no promise of privacy**: its noise is floating-point Laplace from a seeded
  generator, it reads the number of rows and which attributes have two values off the data (and
  domains too, unless it is given them, as here), its weights for a network overflow to a coin among
  all that do, and it spends epsilon on single attributes and again on the network. Its own choice
  of parents (3, whatever the domains) leaves the largest tables of counts more noise than rows.

In the pictures a dotted line shows from which tau on q(D) lies within the band, a dashed one (in
its decider's colour) from where on a decider is effective at delta = 0.05, where it is known."""


def reproduced(source: Path, runs: int, folder: Path) -> Iterator[str]:
    """Yield the report's lines, and write its pictures.

    Args:
        source: where the data are; a table whose files are absent is left out.
        runs: of what is drawn, which nothing is.
        folder: where the pictures go.
    """
    del runs
    references, tables = read(), {}
    for name, origin in SOURCES.items():
        if all((source / file).is_file() for file in origin.files):
            tables[name] = measured(name, origin.load(source), references[name])
    if not tables:
        yield "Both tables are absent: nothing was measured."
        return
    yield from lines_of(tables, references, folder)


def lines_of(
    tables: Mapping[str, Results], references: Mapping[str, References], folder: Path
) -> Iterator[str]:
    """Yield the report's lines, and write its pictures.

    Args:
        tables: errors by table.
        references: what the synthetic copies answer.
        folder: where the pictures go.
    """
    yield _RULES
    yield ""
    for name, found in tables.items():
        yield from _queries(name, found, references[name])
    written: dict[Kind, Callable[[Results], str]] = {
        "count": claims.counts,
        "sum": claims.sums,
        "median": claims.medians,
    }
    for (kind, name), first in FIGURES.items():
        if name not in tables:
            continue
        found = tables[name]
        yield f"## Figures {first} and {first + 1}: {kind.upper()}, {_STAND_FOR[name]}"
        yield ""
        pictures = figure_pair(found, kind, first, folder)
        for picture, axis in zip(pictures, ("tau", "epsilon"), strict=True):
            yield f"![error of {kind} queries on {name}, by {axis}]({picture})"
            yield ""
        yield from means(found, kind, "copy {}")
        yield prose(written[kind](found))
        yield ""
        yield from folded(found[1], kind, "first copy")
    yield "## By distance"
    yield ""
    by_distance(folder / "distance.png", tables)
    yield "![error by the distance to the nearer end of the band](distance.png)"
    yield ""
    yield prose(claims.distances(tables))


def _queries(name: str, found: Results, references: References) -> Iterator[str]:
    yield f"## Table {5 if name == 'people' else 6}: {name} for {_STAND_FOR[name]}"
    yield ""
    yield "*Apart* is the distance of q(D) from q(D_s) in parts of the latter, for the paper's copy"
    yield "and the three here; *DS* is the largest row that is summed."
    yield ""
    rows = []
    for query in QUERIES[name]:
        at = int(query.name.removeprefix("q")) - 1
        cases = [
            curves[query.name].case if query.name in curves else None for curves in found.values()
        ]
        case = next((each for each in cases if each is not None), None)
        if case is None:
            continue
        rows.append(
            (
                query.name,
                query.what,
                f"{OWN_ANSWERS[at]:,}",
                f"{case.answer:,}",
                _apart(OWN_ANSWERS[at], OWN_REFERENCES[at]),
                *("-" if each is None else _apart(each.answer, each.reference) for each in cases),
                f"{case.largest:,}" if query.kind == "sum" else "",
            )
        )
    copies = (f"apart, copy {each}" for each in found)
    yield from table(
        ("query", "what", "paper's q(D)", "q(D)", "paper's apart", *copies, "DS"), rows
    )
    yield ""
    parents = "; ".join(f"{child} by {', '.join(each)}" for child, each in references.network)
    yield prose(f"Network of the first copy: {parents}.")
    yield ""


def _apart(answer: int, reference: int) -> str:
    return f"{number(100 * abs(answer - reference) / max(1, reference))}%"
