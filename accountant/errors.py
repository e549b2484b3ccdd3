"""Every error Tocsin raises on purpose, in one tree.

::

    TocsinError                 message + hint; never a private value in either
    ├── ConfigError             exit 2   file:line:column, what is wrong, what to write
    ├── ArgumentError           exit 70  a call of the library with what it does not take
    ├── DataError               exit 2   a replay file that is not what its feed declares
    ├── BudgetError             exit 3   the budget cannot carry the plan
    ├── DependencyError         exit 4   Kafka or the database cannot be reached
    └── LedgerError             exit 2   the ledger refuses; nothing was drawn or released
        ├── ConfigChangedError      the configuration differs from the registered one
        ├── LogChangedError         the topic is not the one that was registered
        ├── FeedClaimedError        another ledger has claimed a feed
        ├── LedgerRolledBackError   more was released than the ledger knows of
        ├── LedgerCorruptError      ``verify`` found a row that does not add up
        └── ClockError              the clock went back further than the allowed skew

Errors that reach a user carry what failed, where, and what to do next (``hint``). Their text may
contain configuration and released decisions only: exact counts, event contents and units of privacy
never appear in it (promise 6).
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "ArgumentError",
    "BudgetError",
    "ClockError",
    "ConfigChangedError",
    "ConfigError",
    "DataError",
    "DependencyError",
    "FeedClaimedError",
    "LedgerCorruptError",
    "LedgerError",
    "LedgerRolledBackError",
    "LogChangedError",
    "TocsinError",
]


class TocsinError(Exception):
    """Base of every deliberate error.

    Args:
        message: what failed, in one sentence.
        hint: what the reader can do about it; may be empty.
    """

    exit_code = 1
    see: ClassVar[str] = ""
    """The section of the documentation about such errors; empty where the hint says it all."""
    REPORT: ClassVar[str] = (
        "report this with the output of `tocsin ledger FILE verify`; nothing was published"
    )
    """The hint where only a mistake in Tocsin leads."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def sentence(self) -> str:
        """The message, after its place where it has one, and without the hint."""
        return self.message

    def __str__(self) -> str:
        """Return the sentence with its hint on a line of its own."""
        return f"{self.sentence}\n  hint: {self.hint}" if self.hint else self.sentence


class ConfigError(TocsinError):
    """The configuration cannot be used.

    Args:
        message: what is wrong.
        file: the file it stands in, as the user named it.
        line: 1-based line, 0 where unknown.
        column: 1-based column, 0 where unknown.
        hint: what to write instead.
    """

    exit_code = 2
    see = "docs/reference/configuration.md"

    def __init__(
        self, message: str, *, file: str = "", line: int = 0, column: int = 0, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.file = file
        self.line = line
        self.column = column

    @property
    def sentence(self) -> str:
        """``file:line:column: message``, or ``file: message`` where the line is unknown."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.message}" if place else self.message


class ArgumentError(TocsinError, ValueError):
    """A call of the library with an argument that it does not take; nothing was drawn.

    Inside a command it is a mistake in Tocsin like any other ``ValueError``.
    """

    exit_code = 70


class DataError(TocsinError):
    """A file given for replay is not what its feed declares."""

    exit_code = 2
    see = "docs/how-to/troubleshoot.md#a-command-ends-with-an-error"


class BudgetError(TocsinError):
    """The budget does not cover what was asked for."""

    exit_code = 3
    see = "docs/how-to/size-the-budget.md"


class DependencyError(TocsinError):
    """A service Tocsin depends on cannot be reached.

    Args:
        message: what failed, in one sentence.
        hint: what the reader can do about it; may be empty.
        ledger: whether it is the ledger's database; Kafka otherwise.
    """

    exit_code = 4
    see = "docs/how-to/troubleshoot.md#a-command-ends-with-an-error"

    def __init__(self, message: str, *, hint: str = "", ledger: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.ledger = ledger


class LedgerError(TocsinError):
    """The ledger refuses to go on; nothing was drawn or released."""

    exit_code = 2
    see = "docs/how-to/troubleshoot.md#the-ledger-refuses"


class ConfigChangedError(LedgerError):
    """The configuration differs from the one registered in the ledger."""

    see = "docs/how-to/maintain-the-ledger.md#change-an-alarm"


class LogChangedError(LedgerError):
    """The log behind a feed is not the one registered in the ledger."""


class FeedClaimedError(LedgerError):
    """Another ledger owns a feed: what it spent on its people would be spent again."""

    see = "docs/how-to/maintain-the-ledger.md#one-ledger-a-feed"


class LedgerRolledBackError(LedgerError):
    """Released decisions exist that the ledger does not know: it is older than they are."""

    see = "docs/how-to/back-up-and-restore.md#put-it-back"


class LedgerCorruptError(LedgerError):
    """A stored row contradicts the charges; ``verify`` names it."""

    see = "docs/how-to/back-up-and-restore.md"


class ClockError(LedgerError):
    """The wall clock stands before the last time the ledger saw."""
