"""Every partial that the ledger ever stored, copied in the very transaction that stores it.

Partials are deleted with their window's decision, and no reader is quick enough to see all of them.
A trigger is: what it copies is committed with the partial, or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.soak.alarms import CELLS

if TYPE_CHECKING:
    from tests.soak.database import Database

_WATCH = """
CREATE SCHEMA soak;
CREATE TABLE soak.partials (LIKE public.tocsin_partials);
CREATE FUNCTION soak.copy() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO soak.partials SELECT NEW.*; RETURN NULL; END';
CREATE TRIGGER soak AFTER INSERT ON public.tocsin_partials
    FOR EACH ROW EXECUTE FUNCTION soak.copy();
"""

_READ = """
SELECT query, start_ms, partition, complete, cell_index, cell_value FROM soak.partials
ORDER BY query, start_ms, partition
"""


def watch_partials(database: Database) -> None:
    """Copy partials from now on; the ledger's tables must be there."""
    with database.connect() as connection:
        connection.execute(_WATCH)


def copied_partials(database: Database) -> list[dict[str, Any]]:
    """Return every partial that was stored: its place, and what it adds to which room."""
    found = []
    with database.connect() as connection:
        for query, start_ms, partition, complete, index, value in connection.execute(_READ):
            places, values = (np.frombuffer(one, "<i8").tolist() for one in (index, value))
            cells = {CELLS[at]: count for at, count in zip(places, values, strict=True)}
            place = {"alarm": query, "start_ms": start_ms, "partition": partition}
            found.append({**place, "complete": complete, "cells": cells})
    return found
