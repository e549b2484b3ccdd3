"""Which ledger a file's events are charged to, said beside the file.

Guarantee: of two ledgers into which one file is replayed, at most one releases anything from then
on, whatever file, feed, alarm, configuration and ledger are called; and no file that a ledger has
claimed is counted as a public reference, which nobody would charge. A claim lies in the folder
``.tocsin`` beside the file and is named after what the file holds. It cannot know of a copy of the
file in another folder, nor keep anything where nobody can write.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from accountant.errors import FeedClaimedError, LedgerCorruptError
from accountant.store.files import sync_directory, written_whole
from stream.model.references import public_feeds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from stream.model.alarms import Alarms

__all__ = ["FileClaim", "FileClaims", "claims_on"]

_FOLDER: Final = ".tocsin"
_NAMED: Final = 32  # digits of the digest: enough that no two files share them


@dataclass(frozen=True, slots=True)
class FileClaim:
    """Who has claimed a file.

    Args:
        ledger: its id.
        place: where it lies, without user and password.
        feed: what its configuration calls the file's feed; empty in claims of 0.1.0.
    """

    ledger: str
    place: str
    feed: str = ""


class FileClaims:
    """The claims on the files of one replay.

    Args:
        protected: feed, path and digest of the files whose events are protected; an empty file has
            none.
        mine: who claims them.
        public: the same of files that only references are counted on.
    """

    def __init__(
        self,
        protected: Iterable[tuple[str, Path, str]],
        mine: FileClaim,
        public: Iterable[tuple[str, Path, str]] = (),
    ) -> None:
        self._feeds: dict[Path, str] = {}
        self._places: dict[Path, Path] = {}
        for feed, path, digest in protected:
            self._feeds[path], self._places[path] = feed, _place(path, digest)
        self._mine = mine
        self._public = [(feed, path, _place(path, digest)) for feed, path, digest in public]

    def others(self) -> dict[Path, FileClaim]:
        """Return the claims of other ledgers, by file.

        Raises:
            LedgerCorruptError: one cannot be read.
        """
        found = {path: _read(place) for path, place in self._places.items()}
        return {
            path: claim
            for path, claim in found.items()
            if claim is not None and claim.ledger != self._mine.ledger
        }

    def refuse_others(self) -> None:
        """Refuse files that another ledger holds, and public ones that any ledger holds.

        This ledger may know nothing of what it protects there: it may have taken the file over.

        To be called before anything is registered, and again before anything leaves.

        Raises:
            FeedClaimedError: one is held.
            LedgerCorruptError: a claim cannot be read.
        """
        for path, claim in self.others().items():
            raise FeedClaimedError(
                f"{path} is already charged to ledger {claim.ledger} at {claim.place}; this is "
                f"ledger {self._mine.ledger}",
                hint="use that ledger; if it is lost or given up, run `tocsin ledger FILE "
                "take-ownership --replay ...`; with made-up data, add --dry-run",
            )
        for feed, path, place in self._public:
            held = _read(place)
            if held is not None:
                raise FeedClaimedError(
                    f"feed {feed!r} cannot be a public reference: {path} is charged to ledger "
                    f"{held.ledger} at {held.place}",
                    hint="use a feed without personal data as the reference",
                )

    def claim(self) -> list[Path]:
        """Claim every file that nobody has claimed; return those beside which nothing can be kept.

        Raises:
            FeedClaimedError: another ledger was faster.
            LedgerCorruptError: a claim cannot be read.
        """
        free = [path for path, place in self._places.items() if _read(place) is None]
        unkept = self._write(free, force=False)
        self.refuse_others()
        return unkept

    def take_over(self) -> list[Path]:
        """Claim every file, whoever held it; return those beside which nothing can be kept.

        What the others spent must have been charged before.
        """
        return self._write(self._places, force=True)

    def _write(self, paths: Iterable[Path], *, force: bool) -> list[Path]:
        unkept = []
        for path in paths:
            place, mine = self._places[path], replace(self._mine, feed=self._feeds[path])
            try:
                place.parent.mkdir(mode=0o700, exist_ok=True)
                with suppress(FileExistsError), written_whole(place, force=force) as file:
                    file.write(json.dumps(asdict(mine)).encode())
                sync_directory(place.parent)
            except OSError:
                unkept.append(path)
        return unkept


def claims_on(
    contents: Mapping[str, Iterable[tuple[Path, str]]], alarms: Alarms, ledger: Ledger
) -> FileClaims:
    """Return the claims on files with protected events; on public ones there must be none.

    Args:
        contents: files and their digests, by feed.
        alarms: the configuration.
        ledger: that claims them.
    """
    names = public_feeds(alarms)
    files = [(feed, *one) for feed, found in contents.items() for one in found]
    return FileClaims(
        (one for one in files if one[0] not in names),
        FileClaim(ledger.ledger_id, alarms.settings.ledger_place),
        [one for one in files if one[0] in names],
    )


def _place(path: Path, digest: str) -> Path:
    return path.resolve().parent / _FOLDER / f"{digest[:_NAMED]}.owner"


def _read(place: Path) -> FileClaim | None:
    try:
        found = json.loads(place.read_bytes())
        return FileClaim(str(found["ledger"]), str(found["place"]), str(found.get("feed", "")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise LedgerCorruptError(
            f"{place} does not say which ledger owns the file beside it",
            hint="restore it and let this user read it, or remove it if you know that this "
            "ledger is the owner",
        ) from None
