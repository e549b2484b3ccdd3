"""Ledgers that the golden records are made of, old and new, on SQLite and PostgreSQL.

:func:`story` fills an empty ledger: by the command line with replays that charge windows and runs,
refund and are refused, with a changed alarm, a retired one and an archive; and directly with what
only Kafka's shell does (partials, marks, reservations that are open, decisions taken over).
:func:`restore` loads a ledger as the version of the records left it, and :func:`go_on` works on.
"""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing, contextmanager
from dataclasses import replace

import psycopg
import sqlalchemy as sa

from accountant.ledger.ledger import Ledger
from accountant.records import LogIdentity, Outcome, SeenDecision
from accountant.regions.shapes import Shape
from accountant.units import PrivacyUnit
from tests.golden.cases import alarm
from tests.golden.replays import Replay
from tests.golden.surface import NOW_MS, entropy, tocsin
from tests.support.ledgers import Series, deny, partial, registration, settle, terms

FILE = """\
ledger: "{url}"
TABLES
feeds:
FEED
    history: {{from: 1970-01-01, until: "{until}"}}
budget:
  {{privacy_unit: user, epsilon_max: "6.5", period: 2h, on_shortfall: deny,
    contribution: {{max_groups_per_window: 2, max_events_per_group: 2}}}}
alarms:
{alarms}"""
CROWD = alarm("crowd", "COUNT(*) > 45", "tolerance: 5")
CHANGED = alarm("crowd", "COUNT(*) > 46", "tolerance: 5")
LEVELS = alarm("levels", "COUNT(*) > 75", "tolerance: 6", "mechanism: ppwlm")
RUN = alarm("run", "COUNT(*) > 40", "tolerance: 9", "mechanism: {svt: {max_alarms: 2}}")
BAND = alarm(
    *("band", "ABS(COUNT(*) - REFERENCE) >= 20", 'mechanism: {decider: {epsilon: "0.25"}}'),
    "mechanism: {decider: {reference: 'usual[room]'}}",
)
FRESH = alarm("fresh", "SUM(paid) > 900", "tolerance: 200", "mechanism: probe")
FIRST, SECOND, THIRD = (
    f"1970-01-01T{hours}:00:00" for hours in ("04", "06", "07")
)  # the events end at six
SIZE_MS = 20


def story(folder, url):
    """Fill an empty ledger, and return what the commands said."""
    said = [
        _run(folder, url, CROWD + LEVELS + RUN + BAND, FIRST),
        _ask(folder, url, "verify"),
        _run(folder, url, CROWD + RUN + BAND, FIRST),
        _ask(folder, url, "remove-alarm", "levels", "--yes"),
        _run(folder, url, CHANGED + RUN + BAND, SECOND),
        _ask(folder, url, "apply"),
        _run(folder, url, CHANGED + RUN + BAND, SECOND),
        _ask(folder, url, "archive", "moved", "--before", "1970-01-01T02:00:00"),
        _ask(folder, url, "verify"),
        _ask(folder, url, "verify", "--archive", "moved"),
    ]
    with _opened(url) as ledger:
        said.append(_by_hand(ledger))
    said += [_ask(folder, url, "verify"), _ask(folder, url, "status", "--json")]
    return "".join(said)


def go_on(folder, url):
    """Verify a ledger, show it, and decide further windows of old alarms and of a new one."""
    _write(folder, url, CHANGED + RUN + BAND, SECOND)
    said = [
        _ask(folder, url, "verify"),
        _ask(folder, url, "status"),
        _ask(folder, url, "status", "--json"),
        _ask(folder, url, "losses", "crowd", "--json"),
        _ask(folder, url, "losses", "run", "--json"),
        _run(folder, url, CHANGED + RUN + BAND, SECOND),
        _run(folder, url, CHANGED + RUN + BAND + FRESH, THIRD),
    ]
    with _opened(url) as ledger:
        said.append(_further(ledger))
    said += [_ask(folder, url, "verify"), _ask(folder, url, "status", "--json")]
    return "".join(said)


# --- by the command line


def _write(folder, url, alarms, until):
    Replay("ledger", FILE.format(url=url, until=until, alarms=alarms)).write(folder)


def _run(folder, url, alarms, until):
    _write(folder, url, alarms, until)
    run = ("run", "alarms.yaml", "--replay", "badges.jsonl", "--json")
    return tocsin(folder, *run, hidden=_hidden(url)).text()


def _ask(folder, url, *command):
    return tocsin(folder, "ledger", "alarms.yaml", *command, hidden=_hidden(url)).text()


def _hidden(url):
    """Hide where a server listens, and what its database is called."""
    if url.startswith("sqlite"):
        return {}
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return {url: "<url>", str(parts["dbname"]): "<database>", str(parts["host"]): "<host>"}


# --- by hand


@contextmanager
def _opened(url):
    with closing(
        Ledger.open(url, clock_ms=lambda: NOW_MS, entropy=lambda size: entropy("hand", size))
    ) as ledger:
        yield ledger


def _series(query, units=1):
    shape = Shape(region="{}", grouping=f"by {query}")
    return Series(query, SIZE_MS, SIZE_MS, units, shape=shape)


def _by_hand(ledger):
    """Do what Kafka's shell does, under unit event and in loss units of its own."""
    ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 10, "hand"))
    ledger.pins.register_log(LogIdentity("feed", "cluster", "topic-1", "topic", 2))
    a, b, c = map(_series, "abc")
    for one in (a, b, c):
        ledger.pins.register_query(replace(registration(one), scope="hand"))
    first = {"a": 3, "b": 4, "c": 9}
    ledger.admit("hand", [_series(*one).request(0) for one in first.items()])
    said = [_answers(ledger, a.key(0), b.key(0), c.key(0))]
    for partition, values in ((0, (3, 1)), (1, (2, 0)), (1, (2, 1))):
        said.append(str(ledger.counts.put_partial(partial(b, 1, partition, values))))
    ledger.counts.put_mark("feed", 0, 60_000, 17)
    ledger.counts.put_mark("feed", 1, 60_000, 21)
    said.append(_told(settle(ledger, a, 0, cells=(2, 0, 1, 2))))
    said.append(_told(deny(ledger, b, 0, "incomplete")))
    said.append(_answers(ledger, c.key(0)))
    later = [_series(query, 5).request(1, too_old=query == "b") for query in "abc"]
    ledger.admit("hand", [*later, _series("a", 5).request(2), _series("c", 6).request(2)])
    said.append(_answers(ledger, *(one.key(1) for one in (a, b, c)), a.key(2), c.key(2)))
    ledger.mark_published(a.key(0))
    own = ledger.reports.status().ledger_id
    seen = [
        SeenDecision("0" * 32, "d", "hand", 0, SIZE_MS, 7, Outcome.DECIDED, 1, 2, SIZE_MS),
        SeenDecision(own, "a", "hand", 40, 60, 5, Outcome.DECIDED, 2, 1, 60),
        SeenDecision(own, "c", "hand", 0, SIZE_MS, 1, Outcome.DENIED, 0, 0, SIZE_MS),
    ]
    said.append(f"unknown {len(ledger.upkeep.unknown_decisions(seen))}")
    said.append(f"adopted {ledger.upkeep.reconcile(seen)}, again {ledger.upkeep.reconcile(seen)}")
    said.append(f"marks {[ledger.counts.mark_before('feed', n, 70_000) for n in (0, 1)]}")
    return "".join(f"{line}\n" for line in said)


def _further(ledger):
    """Go on with what was begun by hand."""
    a, b, c = map(_series, "abc")
    said = [_answers(ledger, *(one.key(1) for one in (a, b, c)), a.key(2), c.key(2))]
    said.append(_told(deny(ledger, b, 1, "too_old")))
    said.append(_answers(ledger, c.key(1), a.key(2), c.key(2)))
    said.append(_told(settle(ledger, c, 1, cells=(0, 0, 3, 1))))
    ledger.admit("hand", [_series("a", 2).request(3), _series("b", 2).request(3)])
    said.append(_answers(ledger, a.key(3), b.key(3)))
    said += [f"unpublished {_told(one)}" for one in ledger.unpublished("a", NOW_MS)]
    said.append(f"conflicted {ledger.counts.conflicted(b.key(1))}")
    return "".join(f"{line}\n" for line in said)


def _answers(ledger, *keys):
    return ", ".join(f"{key.query} {key.start_ms}: {ledger.answer(key)}" for key in keys)


def _told(stored):
    key = stored.key
    return (
        f"{key.query} {key.start_ms}-{key.end_ms}: {stored.outcome} {stored.reason},"
        f" {stored.epsilon_units} units, number {stored.sequence}, leaves {stored.release_ms},"
        f" decided {stored.decided_at_ms}, published {stored.published}"
    )


# --- dumps


def dumped(url):
    """Return every row of every table, sorted; bytes in hexadecimal."""
    lines: list[str] = []
    with _connected(url) as connection:
        inspected = sa.inspect(connection)
        for table in sorted(inspected.get_table_names()):
            names = sorted(column["name"] for column in inspected.get_columns(table))
            lines.append(f"{table}: {', '.join(names)}")
            columns = map(sa.literal_column, (f'"{name}"' for name in names))
            rows = connection.execute(sa.select(*columns).select_from(sa.table(table)))
            lines += sorted("  " + " | ".join(map(_shown, row)) for row in rows)
    return "\n".join(lines) + "\n"


def schema(url):
    """Return the schema, sorted."""
    with _connected(url) as connection:
        rows = connection.execute(sa.text(_SCHEMA[connection.dialect.name]))
        return "".join(sorted(f"{' | '.join(map(str, row))}\n" for row in rows))


@contextmanager
def _connected(url):
    place = sa.make_url(url)
    if place.get_backend_name() == "postgresql":
        place = place.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(place, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


def loadable(path):
    """Return a SQLite ledger as SQL that makes it."""
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump()) + "\n"


def loadable_postgres(url, pg_dump):
    """Return a PostgreSQL ledger as SQL that makes it."""
    command = [pg_dump, "--inserts", "--no-owner", "--no-privileges", url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    dropped = ("--", "\\", "SET ", "SELECT pg_catalog.set_config")
    return "".join(f"{o}\n" for o in text.splitlines() if o and not o.startswith(dropped))


def restore(url, script):
    """Make a ledger from SQL."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(script)
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(script.encode())


_SCHEMA = {
    "sqlite": "SELECT type, name, tbl_name, sql FROM sqlite_master",
    "postgresql": """
        SELECT 'column', table_name, column_name, data_type, is_nullable, column_default
        FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT 'index', tablename, indexname, indexdef, '', ''
        FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT 'constraint', conrelid::regclass::text, conname,
            pg_get_constraintdef(oid), '', ''
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    """,
}


def _shown(value):
    if isinstance(value, bytes | memoryview):
        return f"x{bytes(value).hex()}"
    if isinstance(value, bool):  # SQLite has whole numbers
        return str(int(value))
    return "NULL" if value is None else str(value).replace("\n", "\\n")
