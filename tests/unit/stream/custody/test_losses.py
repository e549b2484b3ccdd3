"""``tocsin ledger FILE losses``: what each group has lost, over alarms that share rows."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.records import Request
from stream.build import open_ledger
from stream.config.loading import load
from stream.custody.losses import group_losses
from stream.decisions.registration import registration, terms_of
from stream.model.alarms import scope_of

CONFIG = """
feeds:
  badges:
    topic: badges
    codec: json
    time: ts
    unit: person
    fields:
      person: string
      ts: timestamp
      room: {type: string, domain: [lab, office]}
      kind: {type: string, domain: [staff, visitor]}
budget: {privacy_unit: event, epsilon_max: "100"}
ledger: sqlite:///ledger.db
alarms:
  rooms: {sql: "SELECT room FROM badges GROUP BY room, HOUR HAVING COUNT(*) > 5", PROMISE}
  again: {sql: "SELECT room FROM badges GROUP BY room, HOUR HAVING COUNT(*) > 9", PROMISE}
  staff:
    sql: SELECT kind FROM badges WHERE kind = 'staff' GROUP BY kind, HOUR HAVING COUNT(*) > 5
    PROMISE
""".replace("HOUR", "TUMBLE(ts, INTERVAL '1' HOUR)").replace("PROMISE", "max_fnr: 0.05")
HOUR_MS = 3_600_000


def _loaded(folder, text=CONFIG):
    path = folder / "alarms.yaml"
    path.write_text(text)
    return load(path, environ={})


@pytest.fixture
def alarms(tmp_path):
    """Three alarms on one feed."""
    return _loaded(tmp_path)


@pytest.fixture
def ledger(alarms):
    """Its ledger; in the first hour every alarm was settled at its own realised losses."""
    with open_ledger(alarms) as opened:
        scope = scope_of(alarms.by_name["rooms"], alarms)
        opened.pins.register_budget(terms_of(alarms, scope))
        realised = {"again": [5, 1], "rooms": [1, 5], "staff": [4, 0]}
        requests = []
        for name in realised:
            query = alarms.by_name[name]
            opened.pins.register_query(registration(query, alarms, 0))
            charge = Charge(WindowKey(HOUR_MS, name, 0), UniformCost(9, 2), 1)
            requests.append(Request(charge, query.fingerprint))
        opened.admit(scope, requests)
        for request in requests:
            opened.settle(
                request.charge.key,
                fingerprint=request.fingerprint,
                cost=LevelCosts.of(np.array(realised[request.charge.key.query])),
                alarms=b"[]",
                alarm_count=0,
                next_start_ms=HOUR_MS,
                release_ms=0,
            )
        yield opened


@pytest.mark.parametrize(
    ("name", "at", "units"),
    [
        ("rooms", (), [1 + 5 + 4, 5 + 1 + 4]),
        ("staff", (), [4 + 6, 0]),
        ("rooms", (HOUR_MS,), [0, 0]),
    ],
    ids=["both alarms on rooms, and the costliest cell of the third", "no visitor", "another hour"],
)
def test_what_is_lost_adds_up_group_by_group(ledger, alarms, name, at, units):
    """A visitor is no row of the alarm on staff; one of staff sits in either room, never in two.

    Events of an hour in which nothing was settled have lost nothing.
    """
    found = group_losses(alarms, ledger, alarms.by_name[name], *at)
    assert found.units.tolist() == units
    assert (found.exact, found.since_ms) == (True, 0) or at


def test_charges_of_another_configuration_concern_every_row(ledger, tmp_path):
    """Once an alarm has changed, its old cells are not read as the new ones."""
    changed = _loaded(tmp_path, CONFIG.replace("> 9", "> 10"))
    found = group_losses(changed, ledger, changed.by_name["rooms"], 0)
    assert found.units.tolist() == [1 + 5 + 4, 5 + 5 + 4]
