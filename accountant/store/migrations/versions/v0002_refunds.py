"""Version 2: realised losses per cell, refunds, row shapes, the chain, compaction.

What it writes is written out here, as version 2 had it: later code may read and hash otherwise.
"""

from __future__ import annotations

import json
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from alembic import op

if TYPE_CHECKING:
    from collections.abc import Iterable

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ANYWHERE = {"region": "{}", "grouping": ""}
ENDED = ("settled", "spent", "released")

Row = dict[str, Any]


def upgrade() -> None:
    """Add columns and tables, then bring what is kept about existing charges up to date."""
    _widen()
    _add_tables()
    bind = op.get_bind()
    bind.execute(
        sa.text(
            "UPDATE tocsin_charges SET settled_loss_units = settled_units * "
            "CASE WHEN cells_per_unit < cells THEN cells_per_unit ELSE cells END "
            "WHERE settled_units IS NOT NULL"
        )
    )
    bind.execute(
        sa.text(
            "INSERT INTO tocsin_shapes (query, fingerprint, region, grouping) "
            "SELECT query, fingerprint, :region, :grouping FROM tocsin_queries"
        ),
        ANYWHERE,
    )
    for row in bind.execute(sa.text("SELECT * FROM tocsin_scopes")).mappings().all():
        _link_and_add_up(bind, dict(row))


def _widen() -> None:
    none_yet, no_bytes = sa.text("0"), sa.text("''")
    scopes: list[sa.Column[Any]] = [
        sa.Column("chain_link", sa.BigInteger, nullable=False, server_default=none_yet),
        sa.Column("chain_hash", sa.LargeBinary, nullable=False, server_default=no_bytes),
        sa.Column("base_link", sa.BigInteger, nullable=False, server_default=none_yet),
        sa.Column("base_hash", sa.LargeBinary, nullable=False, server_default=no_bytes),
        sa.Column("compacted_before_ms", sa.BigInteger),
        sa.Column("compacted_worst_units", sa.BigInteger, nullable=False, server_default=none_yet),
    ]
    for column in scopes:
        op.add_column("tocsin_scopes", column)
    op.add_column("tocsin_charges", sa.Column("settled_loss_units", sa.BigInteger))
    op.add_column("tocsin_charges", sa.Column("costs", sa.LargeBinary))
    pending = sa.text("state = 'pending'")
    op.create_index(
        "tocsin_charges_pending",
        "tocsin_charges",
        ["scope"],
        sqlite_where=pending,
        postgresql_where=pending,
    )
    archived = sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("tocsin_decisions", archived)
    final = sa.Column("final_units", sa.BigInteger, nullable=False, server_default=none_yet)
    op.add_column("tocsin_totals", final)


def _add_tables() -> None:
    op.create_table(
        "tocsin_shapes",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("fingerprint", sa.Text, primary_key=True),
        sa.Column("region", sa.Text, nullable=False),
        sa.Column("grouping", sa.Text, nullable=False),
    )
    op.create_table(
        "tocsin_links",
        sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), primary_key=True),
        sa.Column("link", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("start_ms", sa.BigInteger, nullable=False),
        sa.Column("end_ms", sa.BigInteger, nullable=False),
        sa.Column("told", sa.Text),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
    op.create_index("tocsin_links_by_window", "tocsin_links", ["query", "start_ms", "end_ms"])
    told = sa.text("told IS NOT NULL")
    op.create_index(
        "tocsin_links_told",
        "tocsin_links",
        ["scope", "link"],
        sqlite_where=told,
        postgresql_where=told,
    )
    op.create_table(
        "tocsin_compacted",
        sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), primary_key=True),
        sa.Column("period_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("final_units", sa.BigInteger, nullable=False),
    )


def _link_and_add_up(bind: sa.Connection, budget: Row) -> None:
    """Chain what is there in the order of windows, and count settled charges as realised."""
    scope = budget["scope"]
    given = {"scope": scope}
    rows = bind.execute(sa.text("SELECT * FROM tocsin_charges WHERE scope = :scope"), given)
    charges = sorted(
        map(dict, rows.mappings()), key=lambda row: (row["end_ms"], row["query"], row["start_ms"])
    )
    found = bind.execute(sa.text("SELECT * FROM tocsin_adopted WHERE scope = :scope"), given)
    adopted = [dict(row) for row in found.mappings()]
    _add_up(bind, scope, charges, adopted)
    worst = 0
    if budget["unit"] == "event":
        final = [row for row in charges if row["state"] in ENDED]
        worst = _worst_instant(
            [(row, _final_units(row)) for row in final]
            + [(row, row["loss_units"]) for row in adopted]
        )
    start = _hash(b"", f"tocsin chain of {scope}")
    links = [*map(_charge_link, charges), *map(_adopted_link, adopted)]
    links.append(_state_link(bind, budget, start))
    last = start
    for number, link in enumerate(links, start=1):
        last = _hash(last, f"{number} {link.pop('text')}")
        bind.execute(
            sa.text(
                "INSERT INTO tocsin_links "
                "VALUES (:scope, :link, :kind, :query, :start_ms, :end_ms, :told, :hash)"
            ),
            {**given, "told": None, **link, "link": number, "hash": last},
        )
    bind.execute(
        sa.text(
            "UPDATE tocsin_scopes SET base_hash = :start, chain_hash = :last, chain_link = :link, "
            "settled_worst_units = :worst WHERE scope = :scope"
        ),
        {**given, "start": start, "last": last, "link": len(links), "worst": worst},
    )


def _add_up(bind: sa.Connection, scope: str, charges: list[Row], adopted: list[Row]) -> None:
    held: Counter[int] = Counter()
    final: Counter[int] = Counter()
    for row in charges:
        periods = json.loads(row["periods"])
        units = row["loss_units"] if row["state"] == "reserved" else _final_units(row)
        held.update(dict.fromkeys(periods, units))
        final.update(dict.fromkeys(periods, _final_units(row)))
    for row in adopted:
        spent = dict.fromkeys(json.loads(row["periods"]), row["loss_units"])
        held.update(spent)
        final.update(spent)
    for period, units in held.items():
        bind.execute(
            sa.text(
                "UPDATE tocsin_totals SET held_units = :held, final_units = :final "
                "WHERE scope = :scope AND period_ms = :period"
            ),
            {"scope": scope, "period": period, "held": units, "final": final[period]},
        )


def _final_units(row: Row) -> int:
    """Return the loss of one privacy unit that is never taken back."""
    units = row["loss_units"] if row["state"] == "spent" else row["settled_loss_units"]
    return int(units or 0)


def _worst_instant(held: Iterable[tuple[Row, int]]) -> int:
    """Return the largest sum of losses over one instant."""
    steps: Counter[int] = Counter()
    for row, units in held:
        steps[row["start_ms"]] += units
        steps[row["end_ms"]] -= units
    level = worst = 0
    for at in sorted(steps):
        level += steps[at]
        worst = max(worst, level)
    return worst


def _charge_link(row: Row) -> Row:
    kind = "ended" if row["state"] in ENDED else "served"
    asked = (
        *(row["scope"], row["fingerprint"], row["units"], row["cells"], row["cells_per_unit"]),
        *(row["loss_units"], json.loads(row["periods"])),
    )
    became: tuple[object, ...] = ()
    if kind == "ended":
        settled = (row["settled_units"], row["settled_loss_units"])
        became = (row["admission"], row["state"], *settled, None)
    return _link(row, kind, asked, became)


def _adopted_link(row: Row) -> Row:
    periods = json.loads(row["periods"])
    vouched = (row["scope"], row["digest"], row["loss_units"], periods)
    return {**_link(row, "adopted", vouched), "told": row["digest"]}


def _state_link(bind: sa.Connection, budget: Row, start: bytes) -> Row:
    """Say all of a budget that no charge says; nothing was compacted."""
    mine = bind.execute(
        sa.text("SELECT query, fingerprint FROM tocsin_queries WHERE scope = :scope"),
        {"scope": budget["scope"]},
    )
    shapes = [[*row, ANYWHERE["region"], ANYWHERE["grouping"]] for row in mine]
    told = json.dumps(
        {
            "terms": [budget["unit"], budget["epsilon_max_units"], budget["period"]],
            "shapes": _digest(shapes),
            "base": [0, start.hex()],
            "compacted": [None, 0],
            "left": _digest([]),
            "adopted": _digest([]),
        },
        separators=(",", ":"),
    )
    nowhere = {"query": "", "start_ms": 0, "end_ms": 1}
    return {**nowhere, "kind": "state", "text": f"state {told}", "told": told}


def _link(row: Row, kind: str, *parts: tuple[object, ...]) -> Row:
    window = {name: row[name] for name in ("query", "start_ms", "end_ms")}
    text = json.dumps((kind, *window.values(), *parts), separators=(",", ":"))
    return {**window, "kind": kind, "text": text}


def _digest(items: list[Any]) -> str:
    text = json.dumps(sorted(items, key=repr), separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _hash(last: bytes, text: str) -> bytes:
    return blake2b(last + text.encode(), digest_size=16).digest()
