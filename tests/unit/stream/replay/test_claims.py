"""One ledger a file: whatever file, feed, configuration and ledger are called."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accountant.errors import FeedClaimedError
from stream.build import open_ledger
from stream.config.loading import load
from stream.replay.claims import FileClaim, FileClaims
from stream.replay.contents import digest_of, digests_of
from stream.replay.replay import Replay
from tests.support.commands import configuration, events, json_lines, tocsin

if TYPE_CHECKING:
    from click.testing import Result


def _replay(path: Path, data: str, code: int = 0) -> Result:
    return tocsin("run", path, "--replay", data, "--json", code=code)


def _refused(path: Path, data: str) -> str:
    """Return why the replay into another ledger is refused, before it prints anything."""
    refused = _replay(path, data, 2)
    assert refused.stdout == ""
    assert "is already charged to ledger" in refused.stderr
    return refused.stderr


def _elsewhere(path: Path, name: str = "other.yaml") -> Path:
    """Copy a configuration: its default ledger is named after it."""
    other = path.with_name(name)
    other.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    return other


def _spent(path: Path) -> list[float]:
    budgets = json_lines(tocsin("ledger", path, "status", "--json"))
    return [float(line["spent"]) for line in budgets if line["record"] == "budget"]


def _lose(path: Path) -> None:
    """Delete a ledger and everything that is called after it."""
    for file in path.parent.glob(f".tocsin/{path.stem}.db*"):
        file.unlink()


def _claim(path: Path, data: str, *more: object, code: int = 0) -> Result:
    return tocsin("ledger", path, "take-ownership", "--yes", "--replay", data, *more, code=code)


def test_another_ledger_is_refused(tmp_path: Path) -> None:
    """After the YAML was renamed, the file was renamed, or the ledger was deleted."""
    path, data = Path(configuration(tmp_path)), events(tmp_path)
    assert _replay(path, data).stdout == _replay(path, data).stdout
    other = _elsewhere(path)
    for name in (data, events(tmp_path, "renamed.jsonl")):
        assert "take-ownership --replay" in _refused(other, name)
        assert _spent(other) == []
    _lose(path)
    _refused(path, data)


def test_a_claim_carries_the_spending_over(tmp_path: Path) -> None:
    """From what was printed; without it only in so many words. Nothing is drawn again."""
    path, data = Path(configuration(tmp_path)), events(tmp_path)
    printed = _replay(path, data).stdout
    saved = tmp_path / "printed.jsonl"
    saved.write_text(printed, encoding="utf-8")
    spent = _spent(path)
    assert spent[0] > 1
    _lose(path)
    refused = _claim(path, data, code=2)
    assert "what another ledger spent on these files is unknown" in refused.stderr
    claimed = _claim(path, data, "--published", saved)
    assert "24 decision(s) taken over as spent" in claimed.stdout
    assert f"taken over: {data}" in claimed.stdout
    assert _spent(path) == spent
    _replay(path, data)
    assert _spent(path) == spent
    assert "nothing, no other ledger holds them" in _claim(path, data).stdout


def test_a_claim_may_forget_in_so_many_words(tmp_path: Path) -> None:
    """What was lost then is not counted."""
    path, data = Path(configuration(tmp_path)), events(tmp_path)
    _replay(path, data)
    other = _elsewhere(path)
    _claim(other, data, "--forget-what-is-gone")
    _replay(other, data)
    _refused(path, data)


def test_who_still_runs_on_the_other_ledger_stops(tmp_path: Path) -> None:
    """Before anything more leaves it: the rest of what was decided together may."""
    path, data = Path(configuration(tmp_path)), events(tmp_path)
    alarms = load(path, environ={})
    with open_ledger(alarms) as ledger:
        running = Replay(alarms, ledger, {"badges": [Path(data)]}).run()
        next(running)
        _claim(_elsewhere(path), data, "--forget-what-is-gone")
        assert len(list(islice(running, 15))) == 15
        with pytest.raises(FeedClaimedError):
            next(running)


def test_of_two_that_claim_at_once_one_succeeds(tmp_path: Path) -> None:
    """Both found nobody before; the name can be given once."""
    found = digests_of([Path(events(tmp_path))])
    one, other = (FileClaims(found, FileClaim(name, "somewhere")) for name in ("one", "other"))
    for claims in (one, other):
        claims.refuse_others()
    assert one.claim() == []
    with pytest.raises(FeedClaimedError, match="is already charged to ledger one at somewhere"):
        other.claim()
    assert one.claim() == []
    assert [file.suffix for file in (tmp_path / ".tocsin").iterdir()] == [".owner"]


def test_a_link_is_its_file(tmp_path: Path) -> None:
    """The claim lies where the file does."""
    path, data = Path(configuration(tmp_path)), Path(events(tmp_path))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link = folder / "link.jsonl"
    link.symlink_to(data)
    _replay(path, str(link))
    assert not (folder / ".tocsin").exists()
    _refused(_elsewhere(path), str(data))


def test_where_nothing_can_be_kept_it_is_said(tmp_path: Path) -> None:
    """The replay goes on: data is often mounted where nobody may write."""
    data = tmp_path / "data"
    data.mkdir()
    (data / ".tocsin").touch()  # root may write everywhere, but not here
    done = _replay(Path(configuration(tmp_path)), events(data))
    assert "cannot write, so no file beside it can record the owner" in " ".join(
        done.stderr.split()
    )


def test_what_is_claimed_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder may be mounted for reading by then: the claim that is there is as good."""
    claims = FileClaims(digests_of([Path(events(tmp_path))]), FileClaim("one", "somewhere"))
    assert claims.claim() == []

    def refuse(**_: object) -> None:
        raise OSError

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    assert claims.claim() == []


def test_a_claim_that_says_nothing_is_refused(tmp_path: Path) -> None:
    """It may have said another ledger."""
    path, data = Path(configuration(tmp_path)), events(tmp_path)
    _replay(path, data)
    (claim,) = (tmp_path / ".tocsin").glob("*.owner")
    assert claim.name == f"{digest_of(Path(data))[:32]}.owner"
    assert claim.stat().st_mode & 0o077 == 0
    assert "alarms.db" in claim.read_text(encoding="utf-8")
    for broken in ("", "[]", '{"ledger": "x"}'):
        claim.write_text(broken, encoding="utf-8")
        refused = _replay(path, data, 2)
        assert "does not say which ledger owns the file beside it" in refused.stderr
        assert "restore it and let this user read it, or remove it" in refused.stderr


def test_what_was_printed_is_of_files(tmp_path: Path) -> None:
    """Of topics, the decisions topic tells."""
    refused = tocsin(
        "ledger", configuration(tmp_path), "take-ownership", "--published", "x.jsonl", code=2
    )
    assert "--published needs --replay; a topic needs none" in refused.stderr
