"""``tocsin ledger FILE losses``: what each group has lost, over alarms that share rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.errors import LedgerError
from accountant.records import Request
from stream.build import open_ledger
from stream.config.loading import load
from stream.custody.losses import group_losses
from stream.decisions.registration import registration, terms_of
from stream.model.alarms import scope_of
from tests.support.commands import json_lines, tocsin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from stream.model.alarms import Alarms

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


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A configuration of three alarms on one feed."""
    (tmp_path / "alarms.yaml").write_text(CONFIG)
    return tmp_path / "alarms.yaml"


@pytest.fixture
def alarms(place: Path) -> Alarms:
    """The same, loaded."""
    return load(place, environ={})


@pytest.fixture
def ledger(alarms: Alarms) -> Iterator[Ledger]:
    """Its ledger; in the first hour every alarm was settled at its own realised losses."""
    with open_ledger(alarms) as opened:
        scope = scope_of(alarms.by_name["rooms"], alarms)
        opened.pins.register_budget(terms_of(alarms, scope))
        realised = {"again": [5, 1], "rooms": [1, 5], "staff": [4, 0]}
        keys = {name: WindowKey(HOUR_MS, name, 0) for name in realised}
        requests = []
        for name, key in keys.items():
            query = alarms.by_name[name]
            opened.pins.register_query(registration(query, alarms, 0))
            requests.append(Request(Charge(key, UniformCost(9, 2), 1), query.fingerprint))
        opened.admit(scope, requests)
        for name, units in realised.items():
            opened.settle(
                keys[name],
                fingerprint=alarms.by_name[name].fingerprint,
                cost=LevelCosts.of(np.array(units)),
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
    ids=["both alarms on rooms, and the dearest cell of the third", "no visitor", "another hour"],
)
def test_what_is_lost_adds_up_group_by_group(
    ledger: Ledger, alarms: Alarms, name: str, at: tuple[int, ...], units: list[int]
) -> None:
    """A visitor is no row of the alarm on staff; one of staff sits in either room, never in two.

    Events of an hour in which nothing was settled have lost nothing.
    """
    found = group_losses(alarms, ledger, alarms.by_name[name], *at)
    assert found.units.tolist() == units
    assert (found.exact, found.since_ms) == (True, 0) or at


def test_charges_of_another_configuration_concern_every_row(ledger: Ledger, place: Path) -> None:
    """Once an alarm has changed, its old cells are not read as the new ones."""
    place.write_text(CONFIG.replace("> 9", "> 10"))
    changed = load(place, environ={})
    found = group_losses(changed, ledger, changed.by_name["rooms"], 0)
    assert found.units.tolist() == [1 + 5 + 4, 5 + 5 + 4]


@pytest.mark.usefixtures("ledger")
def test_the_command_lists_every_group(place: Path) -> None:
    """As JSON lines, and as a table of the dearest."""
    lines = json_lines(tocsin("ledger", place, "losses", "rooms", "--json"))
    assert [line["group"] for line in lines] == [{"room": "lab"}, {"room": "office"}]
    assert {line["epsilon"] for line in lines} == {"0.00000000001"}
    shown = tocsin("ledger", place, "losses", "rooms").output
    assert "lab" in shown
    refused = tocsin("ledger", place, "losses", "roms", code=LedgerError.exit_code)
    assert "rooms, again, staff" in refused.output
