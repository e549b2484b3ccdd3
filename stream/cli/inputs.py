"""Files of events as they are given to a command, looked at before anything is opened or spent.

What a reader would drop line by line, and what it could never read, are the same to it: an archive
called ``.jsonl`` is a file of broken lines. The first bytes distinguish them.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError, DataError
from stream.config.scalars import closest
from stream.events.formats import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["refuse_strange", "refuse_twice", "unknown_feed"]

_FIRST_BYTES: Final = 4_096
_MAGIC: Final = (
    (b"\x1f\x8b", "compressed by gzip", "unpack it first: gunzip -k"),
    (b"PK\x03\x04", "a zip archive", "unpack it first: unzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it first: unzstd"),
    (b"BZh", "compressed by bzip2", "unpack it first: bunzip2"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8: iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8: iconv -f UTF-16 -t UTF-8"),
    (b"PAR1", "Parquet", "rename it to .parquet"),
    (b"ARROW1", "an Arrow file", "write it as Parquet: pyarrow.parquet.write_table"),
    (b"SQLite format 3", "a SQLite database", "export its rows as .csv"),
)
_LINES: Final = "write one JSON object a line: jq -c '.[]' FILE > FILE.jsonl"


def unknown_feed(text: str, feeds: Iterable[str]) -> ConfigError | None:
    """Return what is wrong with ``FEED=PATH`` where FEED is none and PATH is a file."""
    name, separator, path = text.partition("=")
    if not separator or not os.path.isfile(path):  # noqa: PTH113  # a Path raises on a long name
        return None
    return ConfigError(f"there is no feed {name!r}", hint=closest(name, feeds))


def refuse_twice(paths: Mapping[str, Iterable[Path]]) -> None:
    """Refuse a file that is given twice: each of its events would count twice.

    Raises:
        ConfigError: naming it.
    """
    for given in paths.values():
        seen: dict[tuple[int, int], Path] = {}
        for path in given:
            facts = path.stat()
            same = seen.get((facts.st_dev, facts.st_ino))
            if same is not None:
                raise ConfigError(
                    f"{path} is given twice" + ("" if same == path else f", first as {same}"),
                    hint="write it once, or every event counts twice",
                )
            seen[facts.st_dev, facts.st_ino] = path


def refuse_strange(path: Path) -> None:
    """Refuse what cannot be read as events at all.

    Raises:
        ConfigError: it is no file that can be opened.
        DataError: its name or its first bytes say that it is something else.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        missing = isinstance(error, FileNotFoundError)
        text = f"{path}: {'no such file' if missing else reason}"
        raise ConfigError(text, hint="check the path") from None
    if stat.S_ISDIR(mode):
        raise ConfigError(f"{path}: a folder, not a file", hint="write its files: DIR/*.jsonl")
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{path}: not a regular file", hint="write the events to a file first")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(
            f"{path}: unknown suffix",
            hint=f"use a file with one of {', '.join(SUFFIXES)}",
        )
    try:
        with path.open("rb") as file:
            first = file.read(_FIRST_BYTES)
    except OSError as error:
        hint = "check the path and its permissions"
        raise DataError(f"{path}: cannot be read ({error.strerror})", hint=hint) from None
    found = _content(first, suffix)
    if found:
        raise DataError(f"{path}: the file is {found[0]}", hint=found[1])


def _content(first: bytes, suffix: str) -> tuple[str, str] | None:
    """Return what the first bytes say that a file is, and what to do; ``None``: what it should."""
    for magic, what, hint in _MAGIC:
        if first.startswith(magic) and not (magic == b"PAR1" and suffix == ".parquet"):
            return what, hint
    if suffix == ".parquet":
        return None  # its reader says what is wrong with it
    if b"\0" in first:
        return "not text", "use a file with one of " + ", ".join(SUFFIXES)
    start = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    return _lines(start) if suffix == ".jsonl" else _table(start)


def _lines(start: bytes) -> tuple[str, str] | None:
    if start.startswith(b"["):
        return "one JSON array", _LINES
    if start.split(b"\n", 1)[0].rstrip() == b"{":
        return "JSON over several lines", _LINES
    return None


def _table(start: bytes) -> tuple[str, str] | None:
    line = start.split(b"\n", 1)[0]
    if start[:5].lower() in (b"<!doc", b"<html"):
        return "a web page", "download the file itself"
    if b"," not in line and (b";" in line or b"\t" in line):
        return "not separated by commas", "export it with commas between the columns"
    return None
