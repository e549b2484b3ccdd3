"""``python -m tests.at_least_once [--rounds N] [--write]``: the drill in full, and its report."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from datetime import UTC, datetime

from benchmarks.report import machine
from deploy.kafka.broker import Broker
from tests.at_least_once.drill import FULL, run_drill
from tests.at_least_once.report import page, servers
from tests.support.tree import ROOT

REPORT = ROOT / "benchmarks" / "reports" / "at-least-once.md"


def main() -> int:
    """Run the drill on a broker of its own; 1 if something was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.at_least_once")
    parser.add_argument(
        "--rounds", type=int, default=FULL.rounds, help="how often each fault comes"
    )
    parser.add_argument("--write", action="store_true", help="write the report")
    options = parser.parse_args()
    pace = replace(FULL, rounds=options.rounds)
    folder = ROOT / ".cache" / "at-least-once" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    folder.mkdir(parents=True)
    about = f"{machine()} {servers()}"
    # A killed node may register again only once its session is over.
    with Broker(settings={"broker.session.timeout.ms": "3000"}) as broker:
        outcome = run_drill(pace, broker, folder)
    text = page(pace, outcome, about)
    print(text)
    if options.write:
        REPORT.write_text(text, encoding="utf-8")
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
