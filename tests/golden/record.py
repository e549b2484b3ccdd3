"""The golden records: what a user sees of this version, as text.

``python -m tests.golden.record --write`` writes them; without it they are compared. A *group* is a
function without arguments that returns texts by name; a group's records are one file. Everything
that comes from the world is injected or replaced in :mod:`tests.golden.surface`, which says what.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections import Counter
from dataclasses import replace
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from stream.cli.ledger import ledger
from stream.cli.main import main as top
from stream.cli.topics import topics
from tests.data.ledger import POSTGRESQL, SQLITE
from tests.golden.cases import GOOD, MISTAKES
from tests.golden.ledgers import (
    dumped,
    go_on,
    restore,
    schema,
    story,
)
from tests.golden.messages import messages
from tests.golden.replays import DRAWS, MANY, REPLAYS
from tests.golden.surface import ROOT, Postgres, new_folder, tocsin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.golden.cases import Case
    from tests.golden.replays import Replay

_PAGES = (
    *("research/prices.md", "reference/configuration.md"),
    *("how-to/deviation-alarms.md", "research/svt-runs.md"),
)
__all__ = ["GROUPS", "RECORDS", "difference", "parse", "render"]

RECORDS = Path(__file__).with_name("records")
_HEAD = "######## "
_LONGEST = 40_000
_APART = ("dec", "pan")  # replays of these beginnings have records of their own
_METRIC = re.compile(r"^(?:# (?:HELP|TYPE) |tocsin_).*\n", re.MULTILINE)
_DIGEST = re.compile(r"\b[0-9a-f]{32,}\b")


def render(texts: Mapping[str, str]) -> str:
    """Return a group's records as one text."""
    return "".join(f"{_HEAD}{name}\n{text.rstrip()}\n\n" for name, text in texts.items())


def parse(text: str) -> dict[str, str]:
    """Return a group's records by name, as :func:`render` wrote them."""
    found: dict[str, str] = {}
    for part in f"\n{text}".split(f"\n{_HEAD}")[1:]:
        name, _, body = part.partition("\n")
        found[name] = body.rstrip()
    return found


def difference(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return what changed, readable, or nothing."""
    lines: list[str] = []
    for name in [*old, *(name for name in new if name not in old)]:
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            lines.append(f"{_HEAD}{name}: {'only now' if before is None else 'gone'}")
        elif before.rstrip() != after.rstrip():
            lines.append(f"{_HEAD}{name}")
            both = (before.rstrip().splitlines(), after.rstrip().splitlines())
            lines += unified_diff(*both, "recorded", "now", n=2, lineterm="")
    return "\n".join(lines)


def _short(text: str) -> str:
    """Return a text, or of a long one its beginning and a digest of the whole."""
    if len(text) <= _LONGEST:
        return text
    cut = text.rindex("\n", 0, _LONGEST // 4)
    digest = sha256(text.encode()).hexdigest()
    return f"{text[:cut]}\n... {len(text.splitlines())} lines in all, SHA-256 {digest}\n"


# --- configurations


def _planned(case: Case) -> str:
    with new_folder() as folder:
        case.write(folder)
        asked = (["check"], ["plan"], ["plan", "--json"])
        return "".join(
            tocsin(folder, *one, "alarms.yaml", environ=case.environ).text() for one in asked
        )


def plans() -> dict[str, str]:
    """Return what check and plan say of good configurations."""
    return {case.name: _planned(case) for case in GOOD}


def examples() -> dict[str, str]:
    """Return what check, plan, run and simulate say of the examples."""
    made: dict[str, str] = {}
    for place in ("examples/office", "examples/retail", "deploy/tocsin"):
        with new_folder() as folder:
            for path in sorted((ROOT / place).iterdir()):
                if path.is_file():  # what the demo left there is a folder
                    (folder / path.name).write_bytes(
                        path.read_bytes().replace(b"/run/secrets/", b"secrets/")
                    )
            (folder / "secrets").mkdir()
            for name in ("db_password", "custodian_token", "kafka_password"):
                (folder / "secrets" / name).write_text("p\n", encoding="utf-8")
            for asked in (["check"], ["plan"], ["plan", "--json"]):
                answer = tocsin(folder, *asked, "alarms.yaml")
                made[f"{place}: {' '.join(asked)}"] = answer.text()
            data = {"office": "badges.jsonl", "retail": "online_retail.parquet"}
            if name := data.get(place.partition("/")[2]):
                made |= {f"{place}: {one}": text for one, text in _example(folder, name).items()}
    for path in (ROOT / "README.md", *(ROOT / "docs" / page for page in _PAGES)):
        for number, text in enumerate(_whole_files(path)):
            with new_folder() as folder:
                _write_beside(folder, text)
                environ = {"TOCSIN_WATERMARKS_KEY": "0123456789abcdef"}
                for asked in (["check"], ["plan"], ["plan", "--json"]):
                    answer = tocsin(folder, *asked, "alarms.yaml", environ=environ)
                    made[f"{path.name} {number}: {' '.join(asked)}"] = answer.text()
    return made


def _example(folder: Path, data: str) -> dict[str, str]:
    """Run an example; of the shop's year a few weeks will do."""
    path = folder / "alarms.yaml"
    text = path.read_text(encoding="utf-8").replace("until: 2011-12-10", "until: 2011-01-20")
    path.write_text(text, encoding="utf-8")
    run = ("run", "alarms.yaml", "--replay", data)
    first = tocsin(folder, *run)
    made = {"run": _short(first.text(metrics=True))}
    made["run again"] = _short(tocsin(folder, *run).text())
    made["run --json"] = _short(tocsin(folder, *run, "--json").text())
    made["status"] = tocsin(folder, "ledger", "alarms.yaml", "status").text()
    made["verify"] = tocsin(folder, "ledger", "alarms.yaml", "verify").text()
    made["export"] = _short(tocsin(folder, "ledger", "alarms.yaml", "export").text())
    return made


def _whole_files(path: Path) -> list[str]:
    """Return the YAML blocks of a page that are whole configurations."""
    blocks = re.findall(r"```yaml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    return [
        block
        for block in blocks
        if all(re.search(rf"^{key}:", block, re.MULTILINE) for key in ("feeds", "budget", "alarms"))
    ]


def _write_beside(folder: Path, text: str) -> None:
    (folder / "alarms.yaml").write_text(text, encoding="utf-8")
    (folder / "rooms.txt").write_text("lobby\nlab\nattic\n", encoding="utf-8")
    (folder / "capacity.csv").write_text("room,n\nlobby,120\nlab,80\nattic,60\n", encoding="utf-8")
    (folder / "usual.csv").write_text("shop,n\nnorth,200\nsouth,300\n", encoding="utf-8")


# --- the command line


_COMMANDS: tuple[tuple[str, ...], ...] = (
    (),
    *((name,) for name in top.commands),
    *(("topics", name) for name in topics.commands),
    *(("ledger", "x.yaml", name) for name in ledger.commands),
)


def helps() -> dict[str, str]:
    """Return every help text, the version and the published schemas."""
    with new_folder() as folder:
        made = {
            " ".join(("tocsin", *command)): tocsin(folder, *command, "--help").text()
            for command in _COMMANDS
        }
        made["version"] = tocsin(folder, "--version").text()
    return made


def schemas() -> dict[str, str]:
    """Return the published schemas."""
    found = sorted(ROOT.glob("*/**/schemas/*.json"))
    ours = [path for path in found if ".venv" not in path.parts and "build" not in path.parts]
    return {path.name: path.read_text(encoding="utf-8") for path in ours}


# --- replays


def _replayed(replay: Replay) -> str:
    with new_folder() as folder:
        replay.write(folder)
        run = ("run", "alarms.yaml", "--replay", *replay.given)
        ledger = ("ledger", "alarms.yaml")
        answers = [
            tocsin(folder, *run, "--json", label=replay.name).text(metrics=True),
            tocsin(folder, *ledger, "verify").text(),
            tocsin(folder, *ledger, "status", "--json").text(),
            _kept(tocsin(folder, *ledger, "export").text(), brief=replay.brief),
            *(tocsin(folder, *command).text() for command in replay.more),
        ]
    return "".join(answers)


def _replays(chosen: Callable[[str], bool]) -> dict[str, str]:
    """Return the replays' texts; what all metrics pages hold alike stands apart."""
    texts = {replay.name: _replayed(replay) for replay in REPLAYS if chosen(replay.name)}
    told = [dict.fromkeys(_METRIC.findall(text)) for text in texts.values()]
    alike = [line for line in told[0] if all(line in one for one in told)]
    shortened = {
        name: _named("".join(line for line in text.splitlines(keepends=True) if line not in alike))
        for name, text in texts.items()
    }
    return {"metrics that are alike in all that follow": "".join(alike)} | shortened


def _kept(export: str, *, brief: bool) -> str:
    """Leave out what entries of how windows ended hold as well, if a brief text will do."""
    left = ("admitted", "answered") if brief else ()
    starts = tuple(f'{{"record":"{kind}"' for kind in left)
    return "".join(o for o in export.splitlines(keepends=True) if not o.startswith(starts or "\0"))


def _named(text: str) -> str:
    """Give long digests that come again and again short names; what they stand for comes first."""
    counts = Counter(_DIGEST.findall(text))
    names = {digest: f"<{n}>" for n, digest in enumerate(d for d in counts if counts[d] > 2)}
    told = "".join(f"{name} = {digest}\n" for digest, name in names.items())
    return told + _DIGEST.sub(lambda found: names.get(found[0], found[0]), text)


def replays_user() -> dict[str, str]:
    """Return all that replays under unit user leave behind, a mechanism each."""
    return _replays(lambda name: name.endswith(" user") and not name.startswith("decider"))


def replays_event() -> dict[str, str]:
    """Return all that replays under unit event leave behind, a mechanism each."""
    return _replays(lambda name: name.endswith(" event") and not name.startswith("decider"))


def replays_others() -> dict[str, str]:
    """Return all that replays with something of their own leave behind."""
    return _replays(lambda name: not name.endswith((" user", " event")) and name[:3] not in _APART)


def replays_panes() -> dict[str, str]:
    """Return all that replays over noisy panes leave behind, released counts among it."""
    return _replays(lambda name: name.startswith("panes"))


def replays_deciders() -> dict[str, str]:
    """Return all that replays under every decider leave behind."""
    return _replays(lambda name: name.startswith("decider"))


def _drawn(replay: Replay) -> str:
    """Return a replay's decisions, and which cells rang as a number in hexadecimal."""
    with new_folder() as folder:
        replay.write(folder)
        run = ("run", "alarms.yaml", "--replay", *replay.given, "--json")
        answer = tocsin(folder, *run, label=replay.name)
        export = tocsin(folder, "ledger", "alarms.yaml", "export").out
    decided, rang = [], 0
    for line in answer.out.splitlines():
        record = json.loads(line)
        if "group" in record:
            rang |= 1 << int(record["group"]["cell"])
        else:
            decided.append(line)
    ended = [json.loads(line) for line in export.splitlines() if '"record":"ended"' in line]
    costs = [f"{one['loss_units']} {one.get('costs', '')}" for one in ended if "asked" in one]
    shown = [f"exit {answer.code}", answer.err, *decided, f"{rang:0{MANY // 4}x}", *costs]
    return "\n".join(shown)


def draws() -> dict[str, str]:
    """Return which of many cells near their thresholds rang, and what they cost."""
    return {replay.name: _drawn(replay) for replay in DRAWS}


def commands() -> dict[str, str]:
    """Return what the other ways to call the commands say, mistakes among them."""
    made: dict[str, str] = {}

    def ask(folder: Path, calls: Mapping[str, str]) -> None:
        for name, words in calls.items():
            made[name] = _short(tocsin(folder, *words.split()).text())

    replay = next(one for one in REPLAYS if one.name == "refunds let later windows in")
    with new_folder() as folder:
        replace(replay, until="1970-01-01T01:00:00").write(folder)
        for name, text in _BAD_DATA.items():
            shutil.rmtree(folder / ".tocsin", ignore_errors=True)
            (folder / name).write_text(text, encoding="utf-8")
            ask(folder, {f"run over {name}": f"run alarms.yaml --replay {name}"})
    with new_folder() as folder:
        replay.write(folder)
        ask(folder, {"status without a ledger": f"{_LEDGER} status"})
        ask(folder, {f"call {at:02}": words for at, words in enumerate(MISTAKES["calls"])})
        ask(
            folder,
            {
                "run": _RUN,
                "run again": _RUN,
                "run again --json": f"{_RUN} --json",
                "report": f"{_RUN} --custodian-report report.prom",
            },
        )
        asked = enumerate(MISTAKES["ledger"])
        ask(folder, {f"ledger {at:02}": f"{_LEDGER} {words}" for at, words in asked})
        path = folder / "alarms.yaml"
        text = path.read_text(encoding="utf-8")
        rare = text[text.index("  rare:") : text.index("  pair:")]
        for old, new, calls in (
            ('"12"', '"13"', _ANOTHER_BUDGET),
            ("> 45\n", "> 46\n", _ANOTHER_THRESHOLD),
            (rare, "", _WITHOUT_ONE),
        ):
            path.write_text(text.replace(old, new), encoding="utf-8")
            ask(folder, calls)
    with new_folder() as folder:
        replay.write(folder)
        ask(folder, {"simulate": f"{_SIMULATE} {_TO_FILE}"})
        made["simulate json"] = _short((folder / "out.json").read_text(encoding="utf-8"))
        ask(
            folder,
            {
                "simulate over a file": f"{_SIMULATE} {_TO_FILE}",
                "simulate an unknown alarm": f"{_SIMULATE} --alarm x",
            },
        )
    return made


_RUN = "run alarms.yaml --replay badges.jsonl"
_LEDGER = "ledger alarms.yaml"
_SIMULATE = "simulate alarms.yaml --replay badges.jsonl --runs 2 --limit 2"
_TO_FILE = "--alarm crowd --json out.json"
_ANOTHER_BUDGET = {
    "another budget: run": _RUN,
    "another budget: apply": f"{_LEDGER} apply",
    "another budget: archive": f"{_LEDGER} archive moved",
}
_ANOTHER_THRESHOLD = {
    "another threshold: run": _RUN,
    "another threshold: apply": f"{_LEDGER} apply",
    "another threshold: run again": _RUN,
}
_WITHOUT_ONE = {
    "without one: status": f"{_LEDGER} status",
    "without one: run": _RUN,
    "without one: remove-alarm": f"{_LEDGER} remove-alarm rare",
    "without one: remove-alarm --yes": f"{_LEDGER} remove-alarm rare --yes",
    "without one: remove-alarm again": f"{_LEDGER} remove-alarm rare --yes",
    "without one: archive": f"{_LEDGER} archive moved",
    "without one: status --json": f"{_LEDGER} status --json",
    "without one: verify": f"{_LEDGER} verify",
}
_BAD_DATA: Mapping[str, str] = {
    "empty.jsonl": "",
    "nonsense.jsonl": "{nonsense\n",
    "list.jsonl": "[1]\n",
    "no-time.jsonl": '{"person": "a", "room": "lab"}\n',
    "empty.csv": "",
    "columns.csv": "person,room\na,lab\n",
    "twice.csv": "person,person,room,ts\na,a,lab,5\n",
    "types.csv": "person,event,room,open,age,owed,paid,ts\na,e,lab,perhaps,x,y,z,never\n",
    "not.parquet": "PAR1nonsense",
    "strange.xyz": "a\n",
}
# --- ledgers


def _told(url: str, said: str) -> str:
    return _named(f"{said}--- rows\n{dumped(url)}")


def _both(folder: Path, new: str, old: str, script: str) -> dict[str, str]:
    """Fill a new ledger, and go on with the recorded one."""
    made = {"story": _told(new, story(folder, new)), "schema": schema(new)}
    restore(old, script)
    made["recorded, gone on with"] = _told(old, go_on(folder, old))
    return made


def ledger_sqlite() -> dict[str, str]:
    """Return what a ledger goes through in SQLite, and the recorded one from then on."""
    with new_folder() as folder:
        new, old = (f"sqlite:///{folder / name}.db" for name in ("new", "old"))
        return _both(folder, new, old, SQLITE.read_text(encoding="utf-8"))


def ledger_postgresql() -> dict[str, str]:
    """Return what a ledger goes through in PostgreSQL, and the recorded one from then on."""
    with new_folder() as folder, Postgres() as server:
        new, old = server.new_database(), server.new_database()
        return _both(folder, new, old, POSTGRESQL.read_text(encoding="utf-8"))


GROUPS: Mapping[str, Callable[[], dict[str, str]]] = {
    "plans": plans,
    "messages": messages,
    "examples": examples,
    "helps": helps,
    "schemas": schemas,
    "replays_user": replays_user,
    "replays_event": replays_event,
    "replays_others": replays_others,
    "replays_deciders": replays_deciders,
    "replays_panes": replays_panes,
    "draws": draws,
    "commands": commands,
    "ledger_sqlite": ledger_sqlite,
    "ledger_postgresql": ledger_postgresql,
}
"""What is recorded: a file for each."""


def main() -> int:
    """Write or check the records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write them, instead of comparing")
    parser.add_argument("--only", choices=GROUPS, action="append", help="only this group")
    chosen = parser.parse_args()
    changed = 0
    for name in chosen.only or GROUPS:
        path, now = RECORDS / f"{name}.txt", GROUPS[name]()
        if chosen.write:
            RECORDS.mkdir(exist_ok=True)
            path.write_text(render(now), encoding="utf-8")
            print(f"{name}: {len(now)} records, {path.stat().st_size} bytes")
            continue
        told = difference(parse(path.read_text(encoding="utf-8")), now)
        changed += bool(told)
        print(f"{name}: {'changed' if told else 'the same'}\n{told}".rstrip())
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
