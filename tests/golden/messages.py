"""Every bad input, what Tocsin answers, and nothing else: a table that people read.

Inputs are those of ``tests/support/badinputs`` and ``tests/golden/cases.py``; a record's name is
the input in one line, its text the message with its hint, and its exit code where that is not 2.
Read it as somebody who has never seen the code.
"""

from __future__ import annotations

import re
import shlex
import sqlite3
from contextlib import closing
from unittest import mock

from accountant.ledger.ledger import Ledger
from tests.golden.cases import BAD, ENVIRON, FOREIGN_KEYS
from tests.golden.surface import new_folder, tocsin
from tests.support.badinputs.databases import DATABASES
from tests.support.badinputs.files import FILES
from tests.support.badinputs.shapes import EDITS, GOOD, GOOD_CASES, good_folder, holding
from tests.support.badinputs.words import WORDS

_LONGEST_NAME = 150
_USAGE = re.compile(r"^(Usage: .*|Try '.*|)\n", re.MULTILINE)
_BAR = re.compile(r"^.*━.*\n", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ufffe]")
_RUN = "run alarms.yaml --replay badges.jsonl"
_WARNED = "shown by: tocsin check"
_HELP = ("Commands:", "Start:")
_WINDOWS = "SELECT count(*) FROM tocsin_entries WHERE kind IN ('admitted', 'answered', 'ended')"


def messages():
    """Return what every bad input is answered, by the input; numbered where names are alike."""
    made: dict[str, str] = {}
    defaults = Ledger.open.__func__.__kwdefaults__  # type: ignore[attr-defined]  # of the function
    with mock.patch.dict(defaults, connect_timeout_s=0.0):
        for full, words, prepare in _inputs():
            name = full if len(full) <= _LONGEST_NAME else f"{full[:_LONGEST_NAME]}..."
            number = sum(one == name or one.startswith(f"{name} #") for one in made)
            said = _answered(words, prepare)
            made[f"{name} #{number + 1}" if number else name] = said
    return made


def _inputs():
    """Yield the name of each input, the command line, and what is done to the good folder."""
    for kind, edits in EDITS.items():
        words, good = _RUN, GOOD
        if kind == "cases":
            words, good = "test cases.yaml", GOOD_CASES
        for old, news in edits.items():
            for new in news:
                prepare = holding(words.split()[1], good.replace(old, new))
                yield f"{kind}: {old!r} -> {new!r}", words, prepare
    typed = [(words, None) for words in WORDS.split("\n")[:-1]]
    for kind, calls in (("words", typed), ("files", FILES), ("databases", DATABASES)):
        for words, prepare in calls:
            yield f"{kind}: {words}", words, prepare
    for case in (*BAD, *FOREIGN_KEYS):
        yield f"check: {case.name}", "check alarms.yaml", case.write


def _answered(words, prepare):
    """Return the answer, which tells no secret and leaves nothing of a window in the ledger."""
    with new_folder() as folder:
        good_folder(folder)
        if prepare is not None:
            prepare(folder)
        ledger = folder / "ledger.db"
        before = ledger.read_bytes() if ledger.is_file() else None
        answer = tocsin(folder, *shlex.split(words), environ=ENVIRON)
        if before is not None:
            assert ledger.read_bytes() == before, words
        elif ledger.is_file():
            with closing(sqlite3.connect(ledger)) as connection:
                assert connection.execute(_WINDOWS).fetchone() == (0,), words
        said = answer.err
        if words == _RUN and _WARNED in said:
            said += tocsin(folder, "check", "alarms.yaml", environ=ENVIRON).err
    assert "hunter2" not in answer.out + said, words
    said = _BAR.sub("", _USAGE.sub("", said)).replace("\r", "\\r")
    said = _CONTROL.sub(lambda one: repr(one[0])[1:-1], said)
    if any(head in said for head in _HELP):
        said = "(help)\n"
    return said if answer.code == 2 and said else f"{said}(exit code {answer.code})"
