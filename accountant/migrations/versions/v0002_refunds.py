"""Version 2: realised losses per cell, refunds, row shapes, the chain, compaction."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import sqlalchemy as sa
from alembic import op

from accountant import chain
from accountant.entries import FINAL, PeriodTotal, read_charge, read_key
from accountant.overlap import Held, worst_instant
from accountant.rows import Transaction
from accountant.shapes import ANYWHERE
from accountant.vouching import vouch

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


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
        {"region": ANYWHERE.region, "grouping": ANYWHERE.grouping},
    )
    for (scope,) in bind.execute(sa.text("SELECT scope FROM tocsin_scopes")).all():
        _link_and_add_up(bind, scope)
        vouch(Transaction(bind), scope)


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


def _link_and_add_up(bind: sa.Connection, scope: str) -> None:
    """Chain what is there in the order of windows, and count settled charges as realised."""
    given = {"scope": scope}
    rows = bind.execute(sa.text("SELECT * FROM tocsin_charges WHERE scope = :scope"), given)
    charges = sorted((read_charge(dict(row)) for row in rows.mappings()), key=lambda one: one.key)
    found = bind.execute(sa.text("SELECT * FROM tocsin_adopted WHERE scope = :scope"), given)
    adopted = [{**row, "periods": tuple(json.loads(row["periods"]))} for row in found.mappings()]
    happened = [chain.as_served(charge) for charge in charges]
    held: defaultdict[int, PeriodTotal] = defaultdict(PeriodTotal)
    for row in adopted:
        vouched = (row["scope"], row["digest"], row["loss_units"], row["periods"])
        happened.append(chain.of_adopted(read_key(row), *vouched))
    spent = [(one["periods"], PeriodTotal(one["loss_units"], one["loss_units"])) for one in adopted]
    for periods, total in [*spent, *((charge.periods, charge.total) for charge in charges)]:
        for period in periods:
            so_far = held[period]
            held[period] = PeriodTotal(so_far.held + total.held, so_far.final + total.final)
    ended = [charge for charge in charges if charge.state in FINAL]
    settled = [Held(one.key.start_ms, one.key.end_ms, one.final_units) for one in ended]
    settled += [Held(one["start_ms"], one["end_ms"], one["loss_units"]) for one in adopted]
    start = chain.genesis(scope)
    links = chain.extend(0, start, happened)
    for link in links:
        bind.execute(
            sa.text(
                "INSERT INTO tocsin_links "
                "VALUES (:scope, :link, :kind, :query, :start_ms, :end_ms, :told, :hash)"
            ),
            {
                **given,
                "link": link.number,
                "kind": link.kind.value,
                "query": link.key.query,
                "start_ms": link.key.start_ms,
                "end_ms": link.key.end_ms,
                "told": link.told,
                "hash": link.hash,
            },
        )
    for period, total in held.items():
        bind.execute(
            sa.text(
                "UPDATE tocsin_totals SET held_units = :held, final_units = :final "
                "WHERE scope = :scope AND period_ms = :period"
            ),
            {**given, "period": period, "held": total.held, "final": total.final},
        )
    bind.execute(
        sa.text(
            "UPDATE tocsin_scopes SET base_hash = :start, chain_hash = :last, chain_link = :link, "
            "settled_worst_units = CASE WHEN unit = 'event' THEN :worst ELSE 0 END "
            "WHERE scope = :scope"
        ),
        {
            **given,
            "start": start,
            "last": links[-1].hash if links else start,
            "link": len(links),
            "worst": worst_instant(settled),
        },
    )
