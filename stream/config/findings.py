"""What checking a configuration collects: errors, warnings and notes, each at its place."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from accountant.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from stream.config.reading import Place
    from stream.config.yamlfile import Document, Loc

    Problem = tuple[str | Loc, str, str] | tuple[str | Loc, str, str, int | None]

__all__ = ["Findings", "Refused"]

T = TypeVar("T")


class Refused(Exception):  # noqa: N818 -- the errors themselves are in the findings
    """What is looked at cannot be used: why has been noted."""


@dataclass(frozen=True, slots=True)
class Findings:
    """One configuration file under examination.

    Args:
        document: the file.
        errors: why it cannot be used.
        warnings: what its author may not have meant.
        notes: what was chosen in its author's place, and why.
        open: why it can be checked and planned, but not be run.
        at: where the part of the file is that is looked at; places are told from there.
        models: which model reads which mapping, by the mapping's identity.
    """

    document: Document
    errors: list[ConfigError] = field(default_factory=list)
    warnings: list[ConfigError] = field(default_factory=list)
    notes: list[ConfigError] = field(default_factory=list)
    open: list[ConfigError] = field(default_factory=list)
    at: Loc = ()
    models: dict[int, type[Any]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """What the file's relative paths start from."""
        return Path(self.document.file).parent

    @contextmanager
    def decided(self) -> Iterator[None]:
        """Raise the first error of what is noted meanwhile.

        Raises:
            ConfigError: something is wrong.
        """
        with suppress(Refused):
            yield
        if self.errors:
            raise self.errors[0]

    def in_order(self, found: Iterable[ConfigError]) -> tuple[ConfigError, ...]:
        """Return findings in the order of the file, those of other files last, each once."""
        own, once = self.document.file, {str(each): each for each in found}.values()
        return tuple(sorted(once, key=lambda each: (each.file != own, each.line, each.column)))

    def under(self, *steps: str | int) -> Findings:
        """Return the same findings, for a part of what is looked at."""
        return replace(self, at=(*self.at, *steps))

    def apart(self) -> Findings:
        """Return findings of the same part that nobody has heard of yet."""
        return Findings(self.document, at=self.at)

    def take(self, other: Findings) -> None:
        """Add what was found apart."""
        for kind in ("errors", "warnings", "notes", "open"):
            getattr(self, kind).extend(getattr(other, kind))

    def wrong(
        self,
        place: str | Loc,
        message: str,
        hint: str,
        offset: int | None = None,
        *,
        key: bool = False,
    ) -> Refused:
        """Note an error at a value: a key, or the steps to it (see ``Document.place``).

        Returns:
            What to raise where nothing more can be said.
        """
        self.errors.append(self._error(place, message, hint, key=key, offset=offset))
        return Refused()

    @contextmanager
    def placing(
        self, place: str | Loc, hint: str = "", offset: int | None = None
    ) -> Iterator[None]:
        """Note what is raised about a value; inside of SQL, at its character.

        Args:
            place: of the value.
            hint: where the error has none.
            offset: likewise.

        Raises:
            Refused: something was.
        """
        try:
            yield
        except ConfigError as error:
            offset = getattr(error, "offset", offset) if place == "sql" else None
            raise self.wrong(place, error.message, error.hint or hint, offset) from None

    def place(self, *steps: str | int) -> Place:
        """Return where a value stands."""
        return self.document.place((*self.at, *steps))

    def beside(
        self, at: str | Loc, name: str, what: str, read: Callable[[Path], T], holds: str
    ) -> T | None:
        """Return what a file beside this one holds; ``None`` where something is wrong with it.

        Args:
            at: where it is named.
            name: its path, as written.
            what: it is, for errors.
            read: reads it; raises ``OSError`` or ``ConfigError``.
            holds: what is to be written into it.
        """
        path = self.folder / name
        try:
            return read(path)
        except OSError as error:
            reason = error.strerror or "cannot be read"
            message = f"cannot read the {what}'s file {path}: {reason}"
            self.wrong(at, message, f"correct the path, or write {holds} into it")
        except ConfigError as error:
            self.errors.append(error)
        return None

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Note errors: of each the place, the message, a hint and, in SQL, so many characters.

        Of the part as a whole, its key is the place.
        """
        for problem in problems:
            self.wrong(*problem, key=not problem[0])

    def warn(self, place: str | Loc, message: str, hint: str, offset: int | None = None) -> None:
        """Note a warning at a value."""
        self.warnings.append(self._error(place, message, hint, offset=offset))

    def note(self, place: str | Loc, message: str) -> None:
        """Note what was chosen at a value."""
        self.notes.append(self._error(place, message))

    def leave_open(self, message: str, hint: str) -> None:
        """Note that something of this part is left to be found."""
        self.open.append(self._error((), message, hint, key=True))

    def _error(self, place: str | Loc, message: str, hint: str = "", **where: Any) -> ConfigError:
        steps = (place,) if isinstance(place, str) else place
        return self.document.place((*self.at, *steps), **where).error(message, hint)
