"""The golden records: what a user sees of this version, as text.

``python -m tests.golden.record --write`` writes them; without it they are compared. A *group* is a
function without arguments that returns texts by name; a group's records are one file. Everything
that comes from the world is injected or replaced in :mod:`tests.golden.surface`, which says what.
The helps are on ``docs/reference/cli.md``, which is made from them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from functools import partial
from hashlib import sha256
from pathlib import Path

from tests.data.ledger import POSTGRESQL, SQLITE
from tests.golden.cases import ENVIRON, GOOD, MISTAKES
from tests.golden.ledgers import dumped, go_on, restore, schema, story
from tests.golden.messages import messages
from tests.golden.replays import LIFE, MANY, REPLAYS
from tests.golden.surface import new_folder, tocsin
from tests.golden.texts import difference, parse, render
from tests.support.postgres import Postgres
from tests.support.tree import ROOT

RECORDS = Path(__file__).with_name("records")
_LONGEST = 40_000
_TWICE = re.compile(r'^\{"record":"(?:admitted|answered)".*\n', re.MULTILINE)
_METRIC_HELP = re.compile(r"^# (?:HELP|TYPE) .*\n", re.MULTILINE)
_DIGEST = re.compile(r"\b[0-9a-f]{32,}\b")
_CHECKED = ("check alarms.yaml", "plan alarms.yaml", "plan --json alarms.yaml")
_LEDGER = "ledger alarms.yaml"


def _short(text):
    """Return a text, or of a long one its beginning and a digest of the whole."""
    if len(text) <= _LONGEST:
        return text
    cut = text.rindex("\n", 0, _LONGEST // 4)
    digest = sha256(text.encode()).hexdigest()
    return f"{text[:cut]}\n... {len(text.splitlines())} lines in all, SHA-256 {digest}\n"


def _named(text):
    """Give long digests that come again and again short names; what they stand for comes first."""
    counts = Counter(_DIGEST.findall(text))
    names = {digest: f"<{n}>" for n, digest in enumerate(d for d in counts if counts[d] > 2)}
    told = "".join(f"{name} = {digest}\n" for digest, name in names.items())
    return told + _DIGEST.sub(lambda found: names.get(found[0], found[0]), text)


def _asked(folder, calls):
    """Return what calls in a folder print, one after the other."""
    return "".join(_short(tocsin(folder, *call.split(), environ=ENVIRON).text()) for call in calls)


# --- configurations


def plans():
    """Return what check and plan say of good configurations."""
    made: dict[str, str] = {}
    for case in GOOD:
        with new_folder() as folder:
            case.write(folder)
            made[case.name] = _asked(folder, _CHECKED)
    return made


def examples():
    """Return what check, plan, run and the ledger say of the examples."""
    made: dict[str, str] = {}
    for place, data in (
        ("examples/office", "badges.jsonl"),
        ("examples/retail", "online_retail.parquet"),
        ("deploy/tocsin", ""),
    ):
        with new_folder() as folder:
            for path in (ROOT / place).iterdir():
                if path.is_file():  # what the demo left there is a folder
                    held = path.read_bytes().replace(b"/run/secrets/", b"secrets/")
                    (folder / path.name).write_bytes(held)
            (folder / "secrets").mkdir()
            for name in ("db_password", "custodian_token", "kafka_password"):
                (folder / "secrets" / name).write_text("p\n")
            made[place] = _asked(folder, _CHECKED)
            if data:
                made[f"{place}, run"] = _run(folder, data)
    return made


def _run(folder, data):
    """Run an example; of the shop's year a few weeks will do."""
    path = folder / "alarms.yaml"
    text = path.read_text().replace("until: 2011-12-10", "until: 2011-01-20")
    path.write_text(text)
    run = f"run alarms.yaml --replay {data}"
    asked = (f"{_LEDGER} {word}" for word in ("status", "verify", "export"))
    first = _short(tocsin(folder, *run.split()).text(metrics=True))
    return first + _asked(folder, (run, f"{run} --json", *asked))


# --- replays


def _replayed(replay):
    """Return all that a replay leaves, but for what entries of how windows ended hold as well."""
    with new_folder() as folder:
        replay.write(folder)
        run = ("run", "alarms.yaml", "--replay", *replay.given, "--json")
        text = tocsin(folder, *run, label=replay.name).text(metrics=True)
        asked = ("verify", "status", "status --json", "export")
        losses = (f"losses {name} --json" for name in replay.alarms)
        text += _asked(folder, (f"{_LEDGER} {words}" for words in (*asked, *losses)))
    return _named(_METRIC_HELP.sub("", _TWICE.sub("", text)))


def _replays(replays):
    return {replay.name: _replayed(replay) for replay in replays}


def _drawn(replay):
    """Return a replay's decisions, and which cells fired as a number in hexadecimal."""
    with new_folder() as folder:
        replay.write(folder)
        run = ("run", "alarms.yaml", "--replay", *replay.given, "--json")
        answer = tocsin(folder, *run, label=replay.name)
        export = tocsin(folder, *_LEDGER.split(), "export").out
    decided, fired = [], 0
    for line in answer.out.splitlines():
        record = json.loads(line)
        if "group" in record:
            fired |= 1 << int(record["group"]["cell"])
        else:
            decided.append(line)
    ended = [json.loads(line) for line in export.splitlines() if '"record":"ended"' in line]
    costs = [f"{one['loss_units']} {one.get('costs', '')}" for one in ended if "asked" in one]
    shown = [f"exit {answer.code}", answer.err, *decided, f"{fired:0{MANY // 4}x}", *costs]
    return "\n".join(shown)


def draws():
    """Return which of many cells near their thresholds fired, and what they cost."""
    return {replay.name: _drawn(replay) for replay in REPLAYS["draws"]}


# --- the command line


def commands():
    """Return what the other ways to call the commands say, mistakes among them."""
    made: dict[str, str] = {}
    with new_folder() as folder:
        LIFE.write(folder)
        path = folder / "alarms.yaml"
        text = path.read_text()
        for old, new, calls in MISTAKES["life"]:
            path.write_text(text.replace(old, new))
            made[f"{old!r} -> {new!r}"] = _asked(folder, calls)
    with new_folder() as folder:
        LIFE.write(folder)
        made["simulate"] = _asked(folder, (f"{_SIMULATE} --alarm crowd --json out.json",))
        made["simulate json"] = _short((folder / "out.json").read_text())
    return made


_SIMULATE = "simulate alarms.yaml --replay badges.jsonl --runs 2 --limit 2"

# --- ledgers


def _both(folder, new, old, script):
    """Fill a new ledger, and go on with the recorded one."""
    made = {"story": _named(f"{story(folder, new)}--- rows\n{dumped(new)}"), "schema": schema(new)}
    restore(old, script.read_text())
    made["recorded, gone on with"] = _named(f"{go_on(folder, old)}--- rows\n{dumped(old)}")
    return made


def ledger_sqlite():
    """Return what a ledger goes through in SQLite, and the recorded one from then on."""
    with new_folder() as folder:
        new, old = (f"sqlite:///{folder / name}.db" for name in ("new", "old"))
        return _both(folder, new, old, SQLITE)


def ledger_postgresql():
    """Return what a ledger goes through in PostgreSQL, and the recorded one from then on."""
    with new_folder() as folder, Postgres() as server:
        return _both(folder, server.new_database(), server.new_database(), POSTGRESQL)


GROUPS = {
    "plans": plans,
    "messages": messages,
    "examples": examples,
    **{
        f"replays_{name}": partial(_replays, replays)
        for name, replays in REPLAYS.items()
        if name != "draws"
    },
    "draws": draws,
    "commands": commands,
    "ledger_sqlite": ledger_sqlite,
    "ledger_postgresql": ledger_postgresql,
}
"""What is recorded: a file for each."""


def main():
    """Write or check the records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write them, instead of comparing")
    parser.add_argument("--only", choices=GROUPS, action="append", help="only this group")
    chosen = parser.parse_args()
    changed = 0
    for name in chosen.only or GROUPS:
        path, now = RECORDS / f"{name}.txt", GROUPS[name]()
        if chosen.write:
            path.write_text(render(now))
            print(f"{name}: {len(now)} records, {path.stat().st_size} bytes")
            continue
        told = difference(parse(path.read_text()), now)
        changed += bool(told)
        print(f"{name}: {'changed' if told else 'the same'}\n{told}".rstrip())
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
