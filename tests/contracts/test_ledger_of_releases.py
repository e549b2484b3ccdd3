"""A ledger that a release wrote is opened by all later ones, comes to the same, and goes on."""

from __future__ import annotations

import json

import pytest

from accountant.errors import LedgerError
from accountant.log import images
from tests.data.ledger import HOME, VERSION, facts, opened
from tests.golden.ledgers import go_on, restore
from tests.support.ledgers import must_verify

SCRIPTS = sorted(HOME.glob("ledger_*.sql"))


def kept(script, folder):
    """Return the URL of a ledger as its release left it."""
    url = f"sqlite:///{folder / 'ledger.db'}"
    restore(url, script.read_text())
    return url


def test_this_version_has_left_a_ledger():
    """`python -m tests.data.ledger --write` writes it, until the version is released."""
    assert HOME / f"ledger_{VERSION}.sql" in SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_ledger_of_a_release_comes_to_what_it_came_to(script, tmp_path):
    """Its hashes hold, its losses are the same, and opening it appends nothing."""
    url = kept(script, tmp_path)
    for _ in range(2):
        with opened(url) as ledger:
            must_verify(ledger)
            assert facts(ledger) == json.loads(script.with_suffix(".json").read_text())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_ledger_of_a_release_goes_on(script, tmp_path):
    """Under its configuration: old windows are not drawn again, new ones are, no entry changes."""
    url = kept(script, tmp_path)
    before = json.loads(script.with_suffix(".json").read_text())
    said = go_on(tmp_path, url)
    assert said.count(" verify\nexit 0\n--- out\nok\n") == 2, said
    assert said.count("\nexit ") == said.count("\nexit 0\n") == 9, said
    with opened(url) as ledger:
        must_verify(ledger)
        after = facts(ledger)
        number, hashed = before["head"]
        with ledger._door.read() as (tx, _):
            row = tx.log.at(number)
    assert row.hash.hex() == hashed
    assert after["ledger"] == before["ledger"]
    assert after["head"][0] > number
    assert after["spent_units"]["user"] >= before["spent_units"]["user"]
    assert after["entries"]["query"] == before["entries"]["query"] + 1
    assert after["entries"]["ended"] > before["entries"]["ended"]


def test_a_snapshot_of_another_version_is_said(tmp_path, monkeypatch):
    """The log of an archived ledger begins with one: it is not taken for a corrupt one."""
    url = kept(SCRIPTS[-1], tmp_path)
    monkeypatch.setattr(images, "VERSION", 9999)
    with pytest.raises(LedgerError, match=r"the snapshot in entry .* is of a version not known"):
        opened(url)
