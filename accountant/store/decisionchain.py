"""The chain of a query's decisions, in the order of their numbers: each hashed over the one before.

Guarantee: who has the hash of one decision has all of them up to it. Links of the budget's chain
(:mod:`accountant.store.chain`) carry these hashes, so that whoever noted a link elsewhere is shown
every change of what was released before it. ``archived`` and ``published`` are not in it: they
change later.

When a charge is compacted, its decision's alarms give way to their digest: the hash stays.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from accountant.store.canonical import hexed, quoted, whole
from accountant.store.chain import HASH_BYTES
from accountant.store.tables.decided import NOISY_BYTES

if TYPE_CHECKING:
    from accountant.costs.runs import StoredRun
    from accountant.store.tables.decided import DecisionRow, NoisyRow

__all__ = ["alarms_digest", "begin", "hash_after", "noisy_digest", "run_digest"]


def begin(query: str) -> bytes:
    """Return the hash that a query's first decision covers."""
    return _hash(b"", f"tocsin decisions of {query}")


def hash_after(last: bytes, row: DecisionRow) -> bytes:
    """Return a decision's hash, from that of the one before it; its own is not looked at."""
    alarms = alarms_digest(row.alarms) if row.alarms_digest is None else row.alarms_digest
    reason = "null" if row.reason is None else quoted(row.reason)
    window = f"{quoted(row.query)},{row.start_ms!r},{row.end_ms!r},{row.sequence!r}"
    became = f'"{row.outcome}",{reason},{hexed(alarms)},{row.alarm_count!r},{row.epsilon_units!r}'
    left = f"{row.release_ms!r},{row.decided_at_ms!r},{quoted(row.fingerprint)}"
    after = f"{whole(row.next_start_ms)},{hexed(row.run_digest)}"
    return _hash(last, f"[{window},{became},{left},{after}]")


def alarms_digest(alarms: bytes) -> bytes:
    """Return what stands for alarms once they are gone."""
    return blake2b(alarms, digest_size=HASH_BYTES).digest()


def run_digest(run: StoredRun, hash_key: bytes) -> bytes:
    """Return what stands for a run as a decision left it.

    Its state is noise that nobody may guess at, so it is keyed with the ledger's secret.
    """
    whole = (
        *(run.query, run.fingerprint, run.periods, run.open_units, run.alarm_units, run.left),
        *(run.alarms_rung, run.opened_start_ms, run.last_start_ms, run.state.hex()),
    )
    return _keyed(whole, hash_key, b"tocsin.run")


def noisy_digest(row: NoisyRow, hash_key: bytes) -> bytes:
    """Return what stands for the noisy counts that a decision left; keyed, for the same reason."""
    whole = (*row.window, row.fingerprint, row.kept_from_ms, row.counts.hex())
    return _keyed(whole, hash_key, b"tocsin.noisy", size=NOISY_BYTES)


def _keyed(
    whole: tuple[Any, ...], hash_key: bytes, person: bytes, *, size: int = HASH_BYTES
) -> bytes:
    keyed = blake2b(digest_size=size, key=hash_key, person=person)
    keyed.update(json.dumps(whole, separators=(",", ":")).encode())
    return keyed.digest()


def _hash(last: bytes, text: str) -> bytes:
    return blake2b(last + text.encode(), digest_size=HASH_BYTES).digest()
