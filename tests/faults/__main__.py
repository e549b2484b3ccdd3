"""``python -m tests.faults SEED`` lives through one seed; ``--seeds N`` through many."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from tests.faults.campaign import campaign, hunt
from tests.faults.mutants import MUTANTS, mutated
from tests.faults.record import Record, code
from tests.faults.report import report
from tests.faults.scene import WINDOWS
from tests.faults.schedule import EPOCH_MS
from tests.faults.world import simulate
from tests.support.schema import remember_the_schema
from tests.support.tree import ROOT

_REPORT = ROOT / "benchmarks" / "reports" / "simulated-faults.md"
_RECORD = ROOT / ".cache" / "simulated-faults.jsonl"
_EVERY = 100
"""Seeds after which the report is written anew."""


@click.command()
@click.argument("seed", type=int, required=False)
@click.option("--mutant", type=click.Choice(list(MUTANTS)), help="Break the code like that.")
@click.option("--windows", default=WINDOWS, show_default=True, help="How long the world lasts.")
@click.option("--seeds", default=0, help="Live through so many seeds, from 0 on.")
@click.option("--hunt", "hunted", default=0, help="Give each mutant so many seeds.")
@click.option(
    "--record",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=_RECORD,
    help="Add what came of each there; what is there already is not lived through again.",
)
@click.option("--write", is_flag=True, help=f"Write {_REPORT.name}, again and again.")
def main(
    seed: int | None,
    *,
    mutant: str | None,
    windows: int,
    seeds: int,
    hunted: int,
    path: Path,
    write: bool,
) -> None:
    """Live through a SEED and say what happens, or through many and say what came of them."""
    if seed is not None:
        raise SystemExit(_replayed(seed, mutant, windows))
    raise SystemExit(_many(seeds, hunted, path, write=write))


def _replayed(seed: int, mutant: str | None, windows: int) -> int:
    remember_the_schema()

    def say(time_ms: int, who: str, what: str) -> None:
        click.echo(f"{(time_ms - EPOCH_MS) / 1000:9.3f}  {who:<16} {what}")

    with nullcontext() if mutant is None else mutated(mutant):
        outcome = simulate(seed, say, windows=windows)
    click.echo(f"happened: {dict(outcome.happened)}")
    click.echo(f"windows:  {dict(outcome.windows)}")
    click.echo("\n".join(outcome.violations) or "everything held")
    return int(bool(outcome.violations))


def _many(seeds: int, hunted: int, path: Path, *, write: bool) -> int:
    try:
        record = Record(path, of=code())
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    mutants = [one for one in MUTANTS if one not in record.found] if hunted else []
    for name, found in hunt(hunted, mutants):
        record.hunted(name, found)
        click.echo(f"{name}: {'not found' if found.seed is None else f'seed {found.seed}'}")
    for outcome in campaign(one for one in range(seeds) if one not in record.outcomes):
        record.lived(outcome)
        for violation in outcome.violations:
            click.echo(f"seed {outcome.seed}: {violation}")
        if len(record.outcomes) % _EVERY == 0:
            click.echo(f"{len(record.outcomes)} seeds")
            if write:
                _written(record)
    if write:
        _written(record)
    missed = any(one.seed is None for one in record.found.values())
    return int(missed or any(one.violations for one in record.outcomes.values()))


def _written(record: Record) -> None:
    _REPORT.write_text(report(record), encoding="utf-8")


if __name__ == "__main__":
    main()
