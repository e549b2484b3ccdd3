"""One ledger a file: whatever file, feed, configuration and ledger are called."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from accountant.errors import FeedClaimedError
from stream.build import open_ledger
from stream.config.loading import load
from stream.replay.claims import FileClaim, FileClaims
from stream.replay.contents import digest_of, digests_of
from stream.replay.replay import Replay
from tests.support.commands import configuration, events, json_lines, tocsin
from tests.unit.stream.replay.test_exact import forecast


@pytest.fixture
def path(tmp_path):
    """A configuration."""
    return Path(configuration(tmp_path))


@pytest.fixture
def data(tmp_path):
    """Its events."""
    return events(tmp_path)


def replayed(path, data):
    """Replay a file, and return what is printed."""
    return tocsin("run", path, "--replay", data, "--json", code=0).stdout


def refused(path, data, said="is already charged to ledger"):
    """Return why the replay into another ledger is refused, before it prints anything."""
    result = tocsin("run", path, "--replay", data, "--json", code=2)
    assert result.stdout == ""
    assert said in result.stderr
    return result.stderr


def elsewhere(path):
    """Copy a configuration: its default ledger is named after it."""
    other = path.with_name("other.yaml")
    other.write_text(path.read_text())
    return other


def spent(path):
    """Return what the budgets of a ledger have spent."""
    budgets = json_lines(tocsin("ledger", path, "status", "--json"))
    return [float(line["spent"]) for line in budgets if line["record"] == "budget"]


def lose(path):
    """Delete a ledger and everything that is called after it."""
    for file in path.parent.glob(f".tocsin/{path.stem}.db*"):
        file.unlink()


def claimed(path, data, *more, code=0):
    """Take files over for a ledger, and return what is said."""
    words = ("ledger", path, "take-ownership", "--yes", "--replay", data)
    return tocsin(*words, *more, code=code).output


def test_another_ledger_is_refused(tmp_path, path, data):
    """After the YAML was renamed, the file was renamed, or the ledger was deleted."""
    assert replayed(path, data) == replayed(path, data)
    other = elsewhere(path)
    for name in (data, events(tmp_path, "renamed.jsonl")):
        assert "take-ownership --replay" in refused(other, name)
    assert spent(other) == []
    lose(path)
    refused(path, data)


def test_what_a_ledger_claimed_is_no_public_reference(path, data):
    """Nobody would charge for it, and no noise would cover it: nor after it was taken over."""
    replayed(path, data)
    folder = path.parent / "other"
    folder.mkdir()
    own, other = events(folder, "own.jsonl"), forecast(folder, "ABS(COUNT(*) - REFERENCE) >= 20")
    Path(own).write_text('{"person": "p", "room": "lab", "n": 1, "ts": 5}\n')
    files = "--replay", f"badges={own}", "--replay", f"forecast={data}"
    said = "feed 'forecast' cannot be a public reference"
    assert said in tocsin("run", other, *files, code=2).stderr
    assert spent(other) == []
    claimed(other, f"badges={data}", "--forget-what-is-gone")
    assert said in tocsin("run", other, *files, code=2).stderr
    Path(data).write_text('{"room": "lab", "n": 1, "ts": 5}\n')
    tocsin("run", other, *files, code=0)


def test_a_claim_carries_the_spending_over(tmp_path, path, data):
    """From what was printed; without it only in so many words. Nothing is drawn or shown again."""
    configuration(tmp_path, unit="user", denials=True)
    saved = tmp_path / "printed.jsonl"
    saved.write_text(replayed(path, data))
    before = spent(path)
    assert before[0] > 1
    lose(path)
    unknown = claimed(path, data, code=2)
    assert "what another ledger spent on these files is unknown" in unknown
    told = claimed(path, data, "--published", saved)
    assert "24 decision(s) taken over as spent" in told
    assert f"taken over: {data}" in told
    assert spent(path) == before
    assert [replayed(path, data), replayed(path, data)] == ["", ""], "they were printed"
    said = " ".join(tocsin("run", path, "--replay", data, code=0).stdout.split())
    assert "24 windows, 24 taken over (published by another ledger or copy), 0 decided now" in said
    assert spent(path) == before
    assert "nothing, no other ledger holds them" in claimed(path, data)


@pytest.mark.parametrize("unit", ["event", "user"])
def test_a_feed_keeps_the_name_that_its_budget_has(tmp_path, unit):
    """Under another one, nothing would draw on the budget that was spent on its events."""
    path, data = Path(configuration(tmp_path, unit=unit, epsilon_max="400")), events(tmp_path)
    replayed(path, data)
    other = elsewhere(path)
    text = other.read_text().replace("  badges:\n", "  doors:\n")
    other.write_text(text.replace("FROM badges", "FROM doors"))
    said = claimed(other, data, "--forget-what-is-gone", code=2 if unit == "event" else 0)
    assert ("name the feed 'badges'" in said) is (unit == "event")


def test_a_claim_may_forget_in_so_many_words(path, data):
    """What was lost then is not counted."""
    replayed(path, data)
    other = elsewhere(path)
    claimed(other, data, "--forget-what-is-gone")
    replayed(other, data)
    refused(path, data)


def test_who_still_runs_on_the_other_ledger_stops(path, data):
    """Before anything more leaves it: the rest of what was decided together may."""
    alarms = load(path, environ={})
    with open_ledger(alarms) as ledger:
        running = Replay(alarms, ledger, {"badges": [Path(data)]}).run()
        next(running)
        claimed(elsewhere(path), data, "--forget-what-is-gone")
        assert len(list(islice(running, 15))) == 15
        with pytest.raises(FeedClaimedError):
            next(running)


def test_of_two_that_claim_at_once_one_succeeds(tmp_path, data, monkeypatch):
    """Both found nobody before; the name can be given once, and what is there is not written again.

    The folder may be mounted for reading by then: the claim that is there is as good.
    """
    found = [("badges", *one) for one in digests_of([Path(data)])]
    one, other = (FileClaims(found, FileClaim(name, "somewhere")) for name in ("one", "other"))
    for claims in (one, other):
        claims.refuse_others()
    assert one.claim() == []
    with pytest.raises(FeedClaimedError, match="is already charged to ledger one at somewhere"):
        other.claim()
    monkeypatch.setattr("tempfile.mkstemp", None)
    assert one.claim() == []
    assert [file.suffix for file in (tmp_path / ".tocsin").iterdir()] == [".owner"]


def test_a_link_is_its_file(tmp_path, path, data):
    """The claim lies where the file does."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(data)
    replayed(path, folder / "link.jsonl")
    assert not (folder / ".tocsin").exists()
    refused(elsewhere(path), data)


def test_where_nothing_can_be_kept_it_is_said(tmp_path, path):
    """The replay goes on: data is often mounted where nobody may write."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / ".tocsin").touch()  # root may write everywhere, but not here
    done = tocsin("run", path, "--replay", events(folder), code=0)
    said = "cannot write, so no file beside it can record the owner"
    assert said in " ".join(done.stderr.split())


def test_a_claim_that_says_nothing_is_refused(tmp_path, path, data):
    """It may have said another ledger."""
    replayed(path, data)
    (claim,) = (tmp_path / ".tocsin").glob("*.owner")
    assert claim.name == f"{digest_of(Path(data))[:32]}.owner"
    assert claim.stat().st_mode & 0o077 == 0
    assert "alarms.db" in claim.read_text()
    for broken in ("", "[]", '{"ledger": "x"}'):
        claim.write_text(broken)
        told = refused(path, data, "does not say which ledger owns the file beside it")
        assert "restore it and let this user read it, or remove it" in told


def test_what_was_printed_is_of_files(path):
    """Of topics, the decisions topic tells."""
    result = tocsin("ledger", path, "take-ownership", "--published", "x.jsonl", code=2)
    assert "--published needs --replay; a topic needs none" in result.stderr
