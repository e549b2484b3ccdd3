"""Who keeps what a user installs, when they last did, and what would replace it: ``make audit``.

Use: ``python -m deploy.audit.dependencies --write``, which asks the package index that pip is set
to about every package of ``requirements/image.lock`` and writes ``docs/dev/audit.md``. What an
index does not say stands in the table as not said; where none is reached, nothing is written.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from deploy.audit.advisories import LOCK

__all__ = ["REPLACED_BY", "Package", "locked", "main", "page", "told_of"]

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "dev" / "audit.md"
_PATIENCE_S: Final = 60
_AT_ONCE: Final = 4
_NOT_REACHED: Final = 3
_OLD_DAYS: Final = 365
_PEOPLE: Final = 4

REPLACED_BY: Final = {
    "faust-streaming": "an asyncio host of our own over aiokafka: about 150 lines (ADR 4)",
    "aiokafka": "nothing today: librdkafka has two faults that nothing mends (ADR 4)",
    "kafka-python": "the administration client of aiokafka, or of librdkafka: no record passes it",
    "cramjam": "nothing that aiokafka finds; without it, feeds that are plain or gzip",
    "aiohttp": "httpx to post, and any ASGI server for the board",
    "aiomqtt": "paho-mqtt, which it wraps, in a thread",
    "numpy": "nothing: counts, caps and mechanisms are its vectors",
    "scipy": "mpmath, slower: special functions only, and none is drawn from",
    "prometheus-client": "the text format, by hand: about 150 lines",
    "pydantic": "msgspec, with the places of errors by hand",
    "pyyaml": "ruamel.yaml, which has lines and columns too",
    "sqlglot": "a parser of our own for one SELECT",
    "sqlalchemy": "the statements of eight tables, twice: sqlite3 and psycopg",
    "psycopg": "pg8000, in plain Python",
    "pyarrow": "nothing for the Arrow codec; polars for files",
    "msgspec": "orjson, and checks of types after it",
    "rich": "plain text: a terminal's tables and bars alone use it",
    "cryptography": "AES of the system's OpenSSL: one class of 30 lines uses it",
    "click": "argparse, with help and completion written anew",
    "tzdata": "the system's zones, which may differ between two workers",
    "setuptools": "hatchling, and the renaming of imports written for it; builds only",
    "stamina": "tenacity, which it wraps",
    "jinja2": "string templates, with every value escaped by hand",
}
"""What would take the place of each requirement, should it be given up."""

_HEAD: Final = """\
# Audit of dependencies

Written by `make audit` on {today}, from what the package index says of each package of
`requirements/image.lock`. [Dependencies](dependencies.md) says what each is for. *Keepers* are the
accounts that may publish it, or else its authors. Advisories are what the index lists for the
newest version: where the lock has another, the table says so. `make deploy-check RELEASE=1` asks
for the versions in the lock, and ends with an error where it gets no answer.

{summary}

## Required by Tocsin

| package | locked | newest | of | keepers | advisories | what would replace it |
|---|---|---|---|---|---|---|
{required}

## Brought by these

| package | locked | newest | of | keepers | advisories | brought by |
|---|---|---|---|---|---|---|
{brought}
"""


@dataclass(frozen=True)
class Package:
    """One package of the lock, and what the index says of it.

    Args:
        name: as in the lock.
        locked: its version there.
        via: the packages that need it; empty for one that Tocsin requires.
        newest: the last version; "" where nothing was said.
        released: its day.
        keepers: who may publish it.
        advisories: ids of those known of the locked version; ``None`` where nobody was asked.
    """

    name: str
    locked: str
    via: tuple[str, ...]
    newest: str = ""
    released: str = ""
    keepers: tuple[str, ...] = ()
    advisories: tuple[str, ...] | None = None

    def row(self) -> str:
        """Return its row of the table."""
        known = "listed for the newest only" if self.advisories is None else "none"
        keepers = ", ".join(self.keepers[:_PEOPLE]) or "not said"
        if len(self.keepers) > _PEOPLE:
            keepers += f" and {len(self.keepers) - _PEOPLE} more"
        last = ", ".join(self.via) or REPLACED_BY[self.name]
        cells = (
            *(
                f"`{self.name}`",
                self.locked,
                self.newest or "not said",
                self.released or "not said",
            ),
            *(keepers, ", ".join(self.advisories or ()) or known, last),
        )
        return f"| {' | '.join(cells)} |"


def locked(lock: str, required: frozenset[str]) -> list[Package]:
    """Return the packages of a lock file, those that Tocsin requires first.

    Args:
        lock: its text.
        required: names of what Tocsin itself requires.
    """
    found = []
    for entry in re.split(r"\n(?=[a-z0-9])", lock):
        pin = re.match(r"([a-z0-9._-]+)==([^ ;\\]+)", entry)
        if pin is None:
            continue
        _, _, after = entry.partition("# via")
        words = re.findall(r"^ *(?:# +)?([a-z0-9._-]+)(?: \(.*\))?$", after, flags=re.MULTILINE)
        via = () if pin[1] in required else tuple(word for word in words if word != "tocsin")
        found.append(Package(pin[1], pin[2], via))
    return sorted(found, key=lambda each: (bool(each.via), each.name))


def told_of(package: Package, answer: dict[str, Any]) -> Package:
    """Return a package with what an index's JSON says of its project."""
    about = answer["info"]
    files = answer["urls"]
    roles = (answer.get("ownership") or {}).get("roles") or ()
    names = [
        about.get(key) or "" for key in ("maintainer", "maintainer_email", "author", "author_email")
    ]
    people = tuple(dict.fromkeys(role["user"] for role in roles))
    newest = about["version"]
    known = [one["id"] for one in answer.get("vulnerabilities") or () if not one.get("withdrawn")]
    return Package(
        package.name,
        package.locked,
        package.via,
        newest=newest,
        released=min(each["upload_time"] for each in files)[:10] if files else "",
        keepers=people or tuple(_plain(name) for name in names if name)[:1],
        advisories=tuple(known) if newest == package.locked else None,
    )


def page(packages: list[Package], today: str) -> str:
    """Return the page of these packages, as of a day."""
    required = [one for one in packages if not one.via]
    behind = [one.name for one in required if one.newest not in {"", one.locked}]
    day = datetime.fromisoformat(today)
    old = [
        one.name
        for one in packages
        if one.released and (day - datetime.fromisoformat(one.released)).days > _OLD_DAYS
    ]
    alone = [one.name for one in required if len(one.keepers) == 1]
    known = [one.name for one in packages if one.advisories]
    summary = "\n".join(
        f"- {text}: {', '.join(f'`{name}`' for name in names) or 'none'}."
        for text, names in (
            ("With a known advisory", known),
            ("Required, and newer than in the lock", behind),
            ("Without a release for a year", old),
            ("Required, and kept by one account", alone),
        )
    )
    return _HEAD.format(
        today=today,
        summary=summary,
        required="\n".join(one.row() for one in required),
        brought="\n".join(one.row() for one in packages if one.via),
    )


def main() -> int:
    """Ask, and print or write the page; 3 where the index says nothing of a package."""
    asked = argparse.ArgumentParser(description="The audit of dependencies.")
    asked.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    write = asked.parse_args().write
    index = _index()
    packages = locked(LOCK.read_text("utf-8"), _required())
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answers = list(pool.map(lambda one: _asked(index, one.name), packages))
    except (OSError, ValueError) as error:
        print(f"the index says nothing: {type(error).__name__}", file=sys.stderr)  # noqa: T201
        return _NOT_REACHED
    told = [told_of(one, answer) for one, answer in zip(packages, answers, strict=True)]
    text = page(told, datetime.now(UTC).date().isoformat())
    if write:
        PAGE.write_text(text, "utf-8")
    else:
        print(text, end="")  # noqa: T201
    return 0


def _required() -> frozenset[str]:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project, build = told["project"], told["build-system"]["requires"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["mqtt"], *build]
    return frozenset(re.split(r"[^A-Za-z0-9._-]", line)[0].lower() for line in lines)


def _index() -> str:
    """Return where the index that pip is set to answers in JSON."""
    from pip._internal.models.index import PyPI  # noqa: PLC0415  # pip's own default

    words = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    return said.rstrip("/").removesuffix("/simple") + "/pypi" if said else str(PyPI.pypi_url)


def _asked(index: str, name: str) -> dict[str, Any]:
    with urlopen(f"{index}/{name}/json", timeout=_PATIENCE_S) as answer:  # noqa: S310  # pip's index
        told: dict[str, Any] = json.load(answer)
    return told


def _plain(people: str) -> str:
    """Return names without their addresses."""
    names = [re.sub(r"<[^>]*>|\S+@\S+", "", one).strip(' "') for one in people.split(",")]
    return ", ".join(name for name in names if name)


if __name__ == "__main__":
    sys.exit(main())
