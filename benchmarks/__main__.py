"""Measure everything in one run: ``python -m benchmarks [--write] [NAME...]``.

``--write`` puts the figures of a whole run, with date, machine and versions, into ``README.md``.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module

from benchmarks import report

# The shares of the machine count most for those on Kafka: they go first, in a fresh process.
NAMES = ("kafka_ingest", "end_to_end", "ledger", "noise", "alarms", "start")


def main() -> None:
    """Run the benchmarks and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; or all")
    parser.add_argument("--write", action="store_true", help="put the figures into README.md")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown or (options.write and options.names):
        parser.error(f"no benchmark {unknown[0]!r}" if unknown else "--write takes a whole run")
    note = report.machine()
    print(note)
    results: dict[str, float] = {}
    for name in options.names or NAMES:
        began_s = time.perf_counter()
        measured = import_module(f"benchmarks.{name}").run()
        results |= {f"{name}.{key}": value for key, value in measured.items()}
        print(f"{name}: {time.perf_counter() - began_s:.0f} s")
    if options.names:
        for key, value in results.items():
            print(f"{key:60} {value:18,.4g}")
        return
    section = report.markdown(results, note=note)
    print(section)
    if options.write:
        text = report.README.read_text(encoding="utf-8")
        report.README.write_text(report.replaced(text, section), encoding="utf-8")


if __name__ == "__main__":
    main()
