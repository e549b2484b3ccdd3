"""``python -m tests.faults SEED`` lives through one seed; ``--seeds N`` through many."""

from __future__ import annotations

from contextlib import nullcontext

import click

from tests.faults.campaign import campaign, hunt
from tests.faults.mutants import MUTANTS, RARE, mutated
from tests.faults.report import report
from tests.faults.scene import WINDOWS
from tests.faults.schedule import EPOCH_MS
from tests.faults.world import simulate
from tests.support.schema import remember_the_schema
from tests.support.tree import ROOT

_REPORT = ROOT / "benchmarks" / "reports" / "simulated-faults.md"


@click.command()
@click.argument("seed", type=int, required=False)
@click.option("--mutant", type=click.Choice(list(MUTANTS)), help="Break the code like that.")
@click.option("--windows", default=WINDOWS, show_default=True, help="How long the world lasts.")
@click.option("--seeds", default=0, help="Live through so many seeds, from 0 on.")
@click.option("--hunt", "hunted", default=0, help="Give each mutant so many seeds.")
@click.option("--write", is_flag=True, help=f"Write {_REPORT.name}.")
def main(
    seed: int | None, *, mutant: str | None, windows: int, seeds: int, hunted: int, write: bool
) -> None:
    """Live through a SEED and say what happens, or through many and say what came of them."""
    if seed is not None:
        raise SystemExit(_replayed(seed, mutant, windows))
    raise SystemExit(_many(seeds, hunted, write=write))


def _replayed(seed, mutant, windows):
    remember_the_schema()

    def say(time_ms, who, what):
        click.echo(f"{(time_ms - EPOCH_MS) / 1000:9.3f}  {who:<16} {what}")

    with nullcontext() if mutant is None else mutated(mutant):
        outcome = simulate(seed, say, windows=windows)
    click.echo(f"happened: {dict(outcome.happened)}")
    click.echo(f"windows:  {dict(outcome.windows)}")
    click.echo("\n".join(outcome.violations) or "everything held")
    return int(bool(outcome.violations))


def _many(seeds, hunted, *, write):
    found = {}
    for name, outcome in hunt(hunted) if hunted else ():
        found[name] = outcome
        click.echo(f"{name}: {'not found' if outcome is None else f'seed {outcome.seed}'}")
    outcomes = []
    for outcome in campaign(range(seeds)):
        outcomes.append(outcome)
        for violation in outcome.violations:
            click.echo(f"seed {outcome.seed}: {violation}")
    if write:
        _REPORT.write_text(report(outcomes, found, hunted))
    missed = {name for name, outcome in found.items() if outcome is None} - RARE
    return int(bool(missed) or any(one.violations for one in outcomes))


if __name__ == "__main__":
    main()
