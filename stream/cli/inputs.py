"""Files of events as they are given to a command, looked at before anything is opened or spent.

What a reader would drop line by line, and what it could never read, are the same to it: an archive
called ``.jsonl`` is a file of broken lines. The first bytes distinguish them; a suffix that is not
known, or columns that are missing, are said by the readers.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from accountant.errors import ConfigError, DataError
from stream.config.scalars import closest
from stream.events.formats import SUFFIXES
from stream.model.references import feeds_in_use

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stream.model.alarms import Alarms

__all__ = ["paths_by_feed", "refuse_unreadable"]

_FIRST_BYTES: Final = 4_096
_TEXT: Final = "unpack it or save it as UTF-8, or use a file with one of " + ", ".join(SUFFIXES)
_LINES: Final = "write one JSON object a line: jq -c '.[]' FILE > FILE.jsonl"


def paths_by_feed(alarms: Alarms, given: Sequence[str]) -> dict[str, list[Path]]:
    """Return the files of each feed from ``PATH`` and ``FEED=PATH``.

    Raises:
        ConfigError: a path names no feed where there are several, or no file; or one twice.
        DataError: a file cannot hold events at all.
    """
    feeds = [feed.name for feed in feeds_in_use(alarms)] or list(alarms.feeds)
    found: dict[str, list[Path]] = {}
    for text in given:
        name, separator, path = text.partition("=")
        if not separator or name not in alarms.feeds:
            if separator and os.path.isfile(path):  # noqa: PTH113  # a Path raises on a long name
                raise ConfigError(f"there is no feed {name!r}", hint=closest(name, feeds))
            if len(feeds) > 1:
                raise ConfigError(
                    f"{text!r} does not name its feed",
                    hint=f"write FEED=PATH with one of: {', '.join(feeds)}",
                )
            name, path = feeds[0], text
        if not path:
            raise ConfigError(f"{text!r} has no file", hint=f"write {name}=PATH")
        found.setdefault(name, []).append(Path(path))
    refuse_unreadable(found)
    return found


def refuse_unreadable(paths: Mapping[str, Iterable[Path]]) -> None:
    """Refuse what cannot be read as events at all, and a file that a feed is given twice.

    Args:
        paths: by feed.

    Raises:
        ConfigError: it is no file that can be opened, or each of its events would count twice.
        DataError: its first bytes say that it is something else.
    """
    for given in paths.values():
        seen: dict[tuple[int, int], Path] = {}
        for path in given:
            facts = _facts(path)
            _refuse_strange(path)
            if same := seen.get((facts.st_dev, facts.st_ino)):
                raise ConfigError(
                    f"{path} is given twice" + ("" if same == path else f", first as {same}"),
                    hint="write it once, or every event counts twice",
                )
            seen[facts.st_dev, facts.st_ino] = path


def _facts(path: Path) -> os.stat_result:
    """Return what is known of a regular file."""
    try:
        facts = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        missing = isinstance(error, FileNotFoundError)
        text = f"{path}: {'no such file' if missing else reason}"
        raise ConfigError(text, hint="check the path") from None
    if stat.S_ISDIR(facts.st_mode):
        raise ConfigError(f"{path}: a folder, not a file", hint="write its files: DIR/*.jsonl")
    if not stat.S_ISREG(facts.st_mode):
        raise ConfigError(f"{path}: not a regular file", hint="write the events to a file first")
    return facts


def _refuse_strange(path: Path) -> None:
    """Refuse what is no file of lines by its first bytes; of Parquet, its reader says so."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return
    with suppress(OSError), path.open("rb") as file:  # else its reader says why
        first = file.read(_FIRST_BYTES)
        if b"\0" in first:
            raise DataError(f"{path}: the file is not text", hint=_TEXT)
        start = first.removeprefix(b"\xef\xbb\xbf").lstrip()
        opened = start.split(b"\n", 1)[0].rstrip()
        if suffix == ".jsonl" and (start.startswith(b"[") or opened == b"{"):
            raise DataError(f"{path}: the file is not one JSON object a line", hint=_LINES)
