"""How the golden records reach the product: its command line, in this process, with a frozen world.

What comes from the world is injected here, and nowhere else:

- randomness: every request for ``n`` bytes of the operating system gets the same bytes, so that
  every noise source, ledger id and hash key is a function of a label. Sources do not depend on the
  order in which they are made.
- the wall clock: ``time.time`` and ``time.time_ns`` stand still at :data:`NOW_MS`.
- environment and width of the terminal: a fixed, small set of variables.
- the folder: commands run in it, and its path reads ``<dir>`` in what they print.

One thing cannot be injected, as it follows a monotonic clock that threads need:

- where the pulse of a progress bar without a total stands: ``writing FEED`` is followed by
  ``<bar>``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from click.testing import CliRunner
from prometheus_client import CollectorRegistry, generate_latest

from stream.cli.main import main

NOW_MS = 1_767_225_600_000
"""Where the wall clock stands: 2026-01-01, midnight UTC."""

_ENVIRONMENT = {
    "COLUMNS": "110",
    "LINES": "50",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "HOME": "/nonexistent",
    "PATH": "/usr/bin:/bin",
}

_BAR = re.compile(r"^(writing \w+) .*$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """What a command printed, how it ended, and the two metrics pages it left behind."""

    command: str
    code: int
    out: str
    err: str
    public: str = ""
    custodian: str = ""

    def text(self, *, metrics=False):
        """Return all of it as one text."""
        parts = [f"$ tocsin {self.command}\nexit {self.code}\n"]
        shown = {"out": self.out, "err": self.err}
        if metrics:
            shown |= {"public metrics": self.public, "custodian metrics": self.custodian}
        parts += [f"--- {name}\n{text}" for name, text in shown.items() if text]
        return "".join(part if part.endswith("\n") else part + "\n" for part in parts)


def entropy(label, size):
    """Return the bytes that the operating system gives under a label, always the same."""
    blocks = range(-(-size // 32))
    made = b"".join(hashlib.sha256(f"{label}:{size}:{n}".encode()).digest() for n in blocks)
    return made[:size]


@contextlib.contextmanager
def frozen(label):
    """Let time stand still and randomness repeat itself."""
    with (
        mock.patch.object(os, "urandom", lambda size: entropy(label, size)),
        mock.patch.object(time, "time", return_value=NOW_MS / 1000),
        mock.patch.object(time, "time_ns", return_value=NOW_MS * 1_000_000),
    ):
        yield


@contextlib.contextmanager
def new_folder():
    """Lend a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="tocsin-golden-") as name:
        yield Path(name).resolve()


def tocsin(
    folder,
    *arguments,
    label="golden",
    environ=None,
    hidden=None,
):
    """Run the command in a folder of the frozen world.

    Args:
        folder: where the command runs.
        arguments: what stands behind ``tocsin``.
        label: what randomness is a function of.
        environ: further variables.
        hidden: further texts to write differently, as addresses of databases.
    """
    registries: list[CollectorRegistry] = []
    made = CollectorRegistry.__init__

    def noted(self, *args, **settings):
        made(self, *args, **settings)
        registries.append(self)

    variables: dict[str, str | None] = dict.fromkeys(os.environ)
    variables |= _ENVIRONMENT | dict(environ or {})
    with (
        contextlib.chdir(folder),
        frozen(label),
        mock.patch.object(CollectorRegistry, "__init__", noted),
    ):
        result = CliRunner().invoke(
            main, arguments, env=variables, prog_name="tocsin", catch_exceptions=False
        )
    pages = [generate_latest(one).decode() for one in registries]
    hide = {str(folder): "<dir>", **(hidden or {})}
    return Answer(
        command=_hidden(" ".join(arguments), hide),
        code=result.exit_code,
        out=_hidden(result.stdout, hide),
        err=_BAR.sub(r"\1 <bar>", _hidden(result.stderr, hide)),
        public="".join(page for page in pages if "tocsin_build_info" in page),
        custodian="".join(page for page in pages if "tocsin_build_info" not in page),
    )


def _hidden(text, hide):
    for old, new in hide.items():
        text = text.replace(old, new)
    return text
