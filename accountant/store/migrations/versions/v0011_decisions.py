"""Version 11: decisions hang on the chain, and so does what seldom changes.

What it writes is written out here, as version 11 had it: later code may read and hash otherwise.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from alembic import op

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

Row = dict[str, Any]

PAGE = 1_000


def upgrade() -> None:
    """Add columns, chain the decisions that are there, and vouch for all of it in one link."""
    _widen()
    bind = op.get_bind()
    for query in _rows(bind, "SELECT query, cursor_ms FROM tocsin_queries"):
        bind.execute(
            sa.text("UPDATE tocsin_queries SET placed_ms = :cursor_ms WHERE query = :query"), query
        )
    for row in _rows(bind, "SELECT query FROM tocsin_sequences"):
        _chain_decisions(bind, row["query"])
    _check_sums(bind)
    for budget in _rows(bind, "SELECT * FROM tocsin_scopes"):
        _vouch(bind, budget)


def _widen() -> None:
    none_yet, no_bytes = sa.text("0"), sa.text("''")
    columns: dict[str, list[sa.Column[Any]]] = {
        "decisions": [
            sa.Column("next_start_ms", sa.BigInteger),
            sa.Column("run_digest", sa.LargeBinary),
            sa.Column("alarms_digest", sa.LargeBinary),
            sa.Column("hash", sa.LargeBinary, nullable=False, server_default=no_bytes),
        ],
        "sequences": [
            sa.Column("hash", sa.LargeBinary, nullable=False, server_default=no_bytes),
            sa.Column("base_sequence", sa.BigInteger, nullable=False, server_default=none_yet),
            sa.Column("base_hash", sa.LargeBinary, nullable=False, server_default=no_bytes),
        ],
        "queries": [sa.Column("placed_ms", sa.BigInteger, nullable=False, server_default=none_yet)],
        "marks": [sa.Column("digest", sa.LargeBinary, nullable=False, server_default=no_bytes)],
    }
    for table, added in columns.items():
        for column in added:
            op.add_column(f"tocsin_{table}", column)


def _chain_decisions(bind: sa.Connection, query: str) -> None:
    """Hash a query's decisions in the order of their numbers; the state link vouches for all."""
    last, number = _hash(b"", f"tocsin decisions of {query}"), 0
    page = (
        "SELECT * FROM tocsin_decisions WHERE query = :query AND sequence > :after "
        "ORDER BY sequence LIMIT :page"
    )
    while rows := _rows(bind, page, query=query, after=number, page=PAGE):
        hashed = []
        for row in rows:
            last, number = _hash(last, _decided(row)), row["sequence"]
            hashed.append({"query": query, "sequence": number, "hash": last})
        bind.execute(
            sa.text(
                "UPDATE tocsin_decisions SET hash = :hash "
                "WHERE query = :query AND sequence = :sequence"
            ),
            hashed,
        )
    bind.execute(
        sa.text(
            "UPDATE tocsin_sequences SET hash = :hash, base_sequence = :number, base_hash = :base "
            "WHERE query = :query"
        ),
        {"query": query, "hash": last, "number": number, "base": last if number else b""},
    )


def _decided(row: Row) -> str:
    alarms = blake2b(row["alarms"], digest_size=16).hexdigest()
    whole = (
        *(row["query"], row["start_ms"], row["end_ms"], row["sequence"], row["outcome"]),
        *(row["reason"], alarms, row["alarm_count"], row["epsilon_units"], row["release_ms"]),
        *(row["decided_at_ms"], row["fingerprint"], None, None),
    )
    return json.dumps(whole, separators=(",", ":"))


def _check_sums(bind: sa.Connection) -> None:
    """Give marks their checksums, and counts that were contradicted the digest that says so."""
    for row in _rows(bind, "SELECT feed, partition, time_ms, log_offset FROM tocsin_marks"):
        digest = blake2b(json.dumps(list(row.values())).encode(), digest_size=8).digest()
        bind.execute(
            sa.text(
                "UPDATE tocsin_marks SET digest = :digest "
                "WHERE feed = :feed AND partition = :partition AND time_ms = :time_ms"
            ),
            {**row, "digest": digest},
        )
    for row in _rows(bind, "SELECT * FROM tocsin_partials WHERE conflicted"):
        text = f"conflict {row['digest']}"
        bind.execute(
            sa.text(
                "UPDATE tocsin_partials SET digest = :digest WHERE query = :query "
                "AND start_ms = :start_ms AND end_ms = :end_ms AND partition = :partition"
            ),
            {**row, "digest": blake2b(text.encode(), digest_size=16).hexdigest()},
        )


def _vouch(bind: sa.Connection, budget: Row) -> None:
    """Add a state link, unless the last one was changed behind: that is never vouched for."""
    scope = budget["scope"]
    before = _state(bind, budget)
    told = _rows(
        bind,
        "SELECT told FROM tocsin_links WHERE scope = :scope AND kind = 'state' "
        "ORDER BY link DESC LIMIT 1",
        scope=scope,
    )
    if not told or told[0]["told"] != _text(before):
        return
    text = _text({**before, **_rest(bind, scope)})
    number = budget["chain_link"] + 1
    link = {
        "scope": scope,
        "link": number,
        "kind": "state",
        "query": "",
        "start_ms": 0,
        "end_ms": 1,
        "told": text,
        "hash": _hash(budget["chain_hash"], f"{number} state {text}"),
    }
    names = ", ".join(f":{name}" for name in link)
    bind.execute(sa.text(f"INSERT INTO tocsin_links ({', '.join(link)}) VALUES ({names})"), link)  # noqa: S608  # names of this file
    bind.execute(
        sa.text(
            "UPDATE tocsin_scopes SET chain_link = :link, chain_hash = :hash WHERE scope = :scope"
        ),
        link,
    )


def _state(bind: sa.Connection, budget: Row) -> Row:
    """Return what was said of a budget before."""
    given = {"scope": budget["scope"]}
    shapes = _rows(
        bind,
        "SELECT s.query, s.fingerprint, s.region, s.grouping FROM tocsin_shapes s "
        "JOIN tocsin_queries q ON s.query = q.query WHERE q.scope = :scope",
        **given,
    )
    left = "SELECT period_ms, final_units FROM tocsin_compacted WHERE scope = :scope"
    adopted = (
        "SELECT * FROM tocsin_adopted a WHERE a.scope = :scope AND NOT EXISTS (SELECT 1 "
        "FROM tocsin_links l WHERE l.scope = a.scope AND l.kind = 'adopted' AND l.told = a.digest)"
    )
    return {
        "terms": [budget["unit"], budget["epsilon_max_units"], budget["period"]],
        "shapes": _digest(tuple(row.values()) for row in shapes),
        "base": [budget["base_link"], bytes(budget["base_hash"]).hex()],
        "compacted": [budget["compacted_before_ms"], budget["compacted_worst_units"]],
        "left": _digest(tuple(row.values()) for row in _rows(bind, left, **given)),
        "adopted": _digest(map(_adopted, _rows(bind, adopted, **given))),
    }


def _adopted(row: Row) -> str:
    vouched = (row["scope"], row["digest"], row["loss_units"], json.loads(row["periods"]))
    return _text(["adopted", row["query"], row["start_ms"], row["end_ms"], vouched])


def _rest(bind: sa.Connection, scope: str) -> Row:
    """Return what version 11 says beside."""
    queries = _rows(
        bind,
        "SELECT q.query, feed, fingerprint, definition, effective_from_ms, placed_ms, retired, "
        "COALESCE(share_units, 0) AS share FROM tocsin_queries q "
        "LEFT JOIN tocsin_shares s ON s.query = q.query WHERE q.scope = :scope",
        scope=scope,
    )
    bases = _rows(
        bind,
        "SELECT s.query, s.base_sequence, s.base_hash FROM tocsin_sequences s "
        "JOIN tocsin_queries q ON s.query = q.query WHERE q.scope = :scope AND s.base_sequence > 0",
        scope=scope,
    )
    return {
        "queries": _digest(
            (
                *(row["query"], row["feed"], row["fingerprint"]),
                blake2b(row["definition"].encode(), digest_size=16).hexdigest(),
                *(row["effective_from_ms"], row["placed_ms"], bool(row["retired"]), row["share"]),
            )
            for row in queries
        ),
        "decided": _digest(
            (row["query"], row["base_sequence"], bytes(row["base_hash"]).hex()) for row in bases
        ),
        "pins": _digest(_pins(bind)) if queries else "",
    }


def _pins(bind: sa.Connection) -> Iterator[tuple[object, ...]]:
    for row in _rows(bind, "SELECT ledger_id, hash_key, created_ms FROM tocsin_ledger"):
        secret = blake2b(row["hash_key"], digest_size=16, person=b"tocsin.secret").hexdigest()
        yield "ledger", row["ledger_id"], secret, row["created_ms"]
    for kind, table, names in (
        ("log", "logs", "feed, cluster_id, topic_id, topic, partitions"),
        ("growth", "growths", "feed, partitions, before, from_ms, until_ms, announced_ms"),
        ("file", "files", "feed, digest, first_ms"),
        ("gap", "gaps", "query, first_sequence, last_sequence, declared_at_ms"),
        ("set", "journal WHERE entry = 'clock_set'", "entry, times, last_ms"),
    ):
        for row in _rows(bind, f"SELECT {names} FROM tocsin_{table}"):  # noqa: S608  # names of this file
            yield kind, *row.values()


def _digest(items: Iterable[object]) -> str:
    listed = [_text(item) for item in sorted(items, key=repr)]
    return blake2b(f"[{','.join(listed)}]".encode(), digest_size=16).hexdigest()


def _text(whole: object) -> str:
    return json.dumps(whole, separators=(",", ":"))


def _rows(bind: sa.Connection, statement: str, **given: Any) -> list[Row]:
    return [dict(row) for row in bind.execute(sa.text(statement), given).mappings()]


def _hash(last: bytes, text: str) -> bytes:
    return blake2b(last + text.encode(), digest_size=16).digest()
