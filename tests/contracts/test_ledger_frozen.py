"""A process that is frozen inside a transaction: others wait for it for a bounded time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from accountant.store import store as stores
from accountant.store.store import Store
from tests.support.ledgers import open_ledger
from tests.support.schema import new_ledger
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S

SHORTER = stores._SETTINGS.replace("20s", "1s")
HOLDER = f"""
import sys
from accountant.errors import DependencyError
from accountant.store import store as stores
stores._SETTINGS = {SHORTER!r}
store = stores.Store.open(sys.argv[1], connect_timeout_s=30)
try:
    with store.write() as tx:
        tx.lock()
        print("held", flush=True)
        sys.stdin.readline()
        tx.secret()
except DependencyError:
    with store.write() as tx:
        tx.lock()
    print("once more", flush=True)
"""


def opened(postgres):
    """Return the URL of a ledger that has been opened once."""
    url = new_ledger(postgres)
    open_ledger(url).close()
    return url


def test_a_frozen_transaction_is_ended_by_the_server(postgres):
    """Others get its locks after the stated time; the frozen one begins anew when it wakes."""
    assert SHORTER != stores._SETTINGS
    url = opened(postgres)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)
        store = Store.open(url, connect_timeout_s=30)
        began_s = time.monotonic()
        with store.write() as tx:
            tx.lock()  # waits for at most 30 s, and fails then
        assert time.monotonic() - began_s < PATIENCE_S
        store.close()
        holder.send_signal(signal.SIGCONT)
        told, _ = holder.communicate("go on\n", timeout=PATIENCE_S)
        assert told == "once more\n"
    finally:
        holder.kill()
        holder.wait()


def test_slow_reads_may_think_for_longer(postgres, monkeypatch):
    """What holds no lock is not ended: verification reads, and computes for minutes."""
    monkeypatch.setattr(stores, "_SETTINGS", SHORTER)
    store = Store.open(opened(postgres), connect_timeout_s=30)
    with store.read(slow=True) as tx:
        tx.secret()
        time.sleep(2)
        tx.secret()
    store.close()
