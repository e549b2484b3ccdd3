"""Many deciders at once, and deciders that die, on both stores."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from accountant.records import Answer, Outcome
from tests.support.ledgers import (
    USER,
    Series,
    decide_all,
    must_verify,
    open_ledger,
    requests,
    set_up,
    settle,
    status_of,
)
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S

DECIDERS = 8
FIT = 7
FIT_REFUNDING = 4
WINDOWS = 5
UNTIL_MS = WINDOWS * 10
QUERIES = [Series(name, period=10**9) for name in ("a", "b", "c")]


def check(ledger, fit=FIT, *, refunding=False):
    """Exactly those were granted that fit in the fixed order, each decided once."""
    order = [request.charge.key for request in requests(QUERIES, UNTIL_MS)]
    spent, wanted = 0, []
    for key in order:
        granted = spent < fit
        wanted.append(Answer.RESERVED if granted else Answer.REFUSED)
        spent += granted and not (refunding and key.start_ms // 10 % 2 == 0)
    assert [ledger.answer(key) for key in order] == wanted
    ends = [ledger.decision(q.key(index)).outcome for q in QUERIES for index in range(WINDOWS)]
    assert ends.count(Outcome.DECIDED) == wanted.count(Answer.RESERVED)
    status = ledger.reports.status()
    assert (status.scopes["s"].spent_units, status.scopes["s"].pending) == (spent, 0)
    numbers = {name: query.sequence for name, query in status.queries.items()}
    assert numbers == {series.query: WINDOWS for series in QUERIES}
    must_verify(ledger)


@pytest.mark.parametrize(("fit", "refunding"), [(FIT, False), (FIT_REFUNDING, True)])
def test_threads_grant_exactly_what_fits(ledger, fit, refunding):
    """Eight threads on one ledger decide every window once and pass the wall never."""
    set_up(ledger, USER, fit, QUERIES)

    def run(name):
        decide_all(ledger, QUERIES, UNTIL_MS, name, refunding=refunding)

    with ThreadPoolExecutor(DECIDERS) as pool:
        list(pool.map(run, map(str, range(DECIDERS))))
    check(ledger, fit, refunding=refunding)


def test_processes_grant_exactly_what_fits(ledger, ledger_url):
    """Eight processes, each with a ledger of its own, do the same, refunds and all."""
    set_up(ledger, USER, FIT_REFUNDING, QUERIES)
    arguments = [str(DECIDERS), str(UNTIL_MS), *(series.query for series in QUERIES)]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.support.ledger_deciders", ledger_url),
            *("refunding", *arguments),
        ],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    check(ledger, FIT_REFUNDING, refunding=True)


def test_a_killed_decider_leaves_its_reservation(opened, ledger_url):
    """After kill -9 between reserve and settle the window is decided under that reservation."""
    ledger = opened()
    set_up(ledger, USER, FIT, QUERIES)
    arguments = ["reserve", "1", str(UNTIL_MS), *(series.query for series in QUERIES)]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.ledger_deciders", ledger_url, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "reserved\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    status = status_of(ledger)
    assert (status.reservations, status.pending) == (FIT, len(QUERIES) * WINDOWS - FIT)
    must_verify(ledger)
    assert settle(ledger, QUERIES[0], 0).sequence == 1
    decide_all(opened(), QUERIES, UNTIL_MS, "after")
    check(ledger)


@pytest.mark.usefixtures("made_anew")
def test_many_open_an_empty_database_at_once(empty_url):
    """Whoever comes first creates the ledger; all see the same one."""

    def run(_):
        with open_ledger(empty_url) as ledger:
            return ledger.ledger_id

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(run, range(4)))) == 1
