"""One ledger a feed, and one copy of a ledger, on a real broker."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from shutil import copyfile

import pytest

from accountant.errors import (
    ClockError,
    LedgerRolledBackError,
    LogChangedError,
)
from stream.build import assemble, open_ledger, wall_clock_ms
from stream.kafka.clock import HeldClock
from stream.kafka.guard import check_feeds, claim_feeds
from stream.kafka.witness import Witness
from tests.support.commands import tocsin
from tests.support.ledgers import must_verify, only_scope
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def scenario(broker, tmp_path):
    """Topics, and no worker yet."""
    made = Scenario(broker, tmp_path / "one")
    made.create_topics()
    yield made
    made.stop()


def _beside(scenario, name):
    """The same topics with another ledger, as another configuration file has it."""
    return replace(scenario, directory=scenario.directory.parent / name, ledger="", workers=[])


def _witness(scenario, ledger, writer):
    """Return what guards a ledger of the scenario's, on behalf of a worker."""
    alarms = scenario.alarms()
    return Witness(alarms, ledger, check_feeds(alarms), writer, HeldClock(alarms))


async def _released(scenario, ledger, writer):
    """Let a worker start, append something to its ledger, and release it."""
    async with _witness(scenario, ledger, writer).opened() as witness:
        await witness.claim()
        ledger.upkeep.reset_clock()  # any entry
        await witness.release()


def test_a_feed_has_one_ledger(scenario):
    """A second one is refused, until it takes the feed over with all that was spent."""
    first = scenario.start_worker()
    wait_until("windows are published", lambda: len(scenario.decided()) >= 2)
    other = _beside(scenario, "two")
    try:
        refused = other.start_worker()
        assert refused.ended() == 2, refused.text()
        assert "is already charged to ledger" in refused.text()
        assert "lost or given up, run `tocsin ledger FILE take-ownership`" in refused.text()
        with open_ledger(other.alarms()) as ledger:
            assert ledger.pins.queries() == []

        command = ("ledger", other.config, "take-ownership", "--yes")
        assert "taken over: badges" in tocsin(*command, code=0).output
        assert first.ended() == 2, first.text()
        assert "is already charged to ledger" in first.text()
        released = scenario.decided()
        assert "taken over: nothing, it holds every feed" in tocsin(*command, code=0).output

        other.start_worker()
        wait_until("windows are published", lambda: len(scenario.decided()) >= len(released) + 2)
    finally:
        other.stop()
    published = scenario.decided()
    assert all(len({one["ledger"] for one in copies}) == 1 for copies in published.values())
    decided = [copies[0]["outcome"] for copies in published.values()].count("decided")
    with open_ledger(other.alarms()) as ledger:
        must_verify(ledger)
        spent = only_scope(ledger).spent_units
    assert spent >= decided * other.window_units()


@pytest.mark.parametrize("who", ["copy", "original"])
def test_of_two_copies_one_releases(scenario, tmp_path, who):
    """Whichever is the first to release after they parted; the other one never does again."""
    alarms, database = scenario.alarms(), tmp_path / "one" / "ledger.db"
    with open_ledger(alarms):
        pass

    async def both():
        async with AsyncExitStack() as stack:
            original = stack.enter_context(open_ledger(alarms))
            one, helper = [
                await stack.enter_async_context(_witness(scenario, original, name).opened())
                for name in ("w1", "w2")
            ]
            assert await one.claim() == ["badges"]
            for each in (one, helper, one):  # two workers on one ledger
                await each.release()
            original.close()
            twin = _beside(scenario, "copy")
            copyfile(database, tmp_path / "copy" / "ledger.db")
            copy = stack.enter_context(open_ledger(twin.alarms()))
            two = await stack.enter_async_context(_witness(twin, copy, "w3").opened())
            assert await two.claim() == []
            await two.release()  # both have the same log: they release the same
            ahead, behind = (two, one) if who == "copy" else (one, two)
            for ledger in (copy, original):  # which was closed: it opens anew
                await asyncio.sleep(0.01)  # in one millisecond both would say the same
                ledger.upkeep.reset_clock()
            await ahead.release()
            for _ in range(2):
                with pytest.raises(LedgerRolledBackError, match="a second copy is in use"):
                    await behind.release()

    asyncio.run(both())


def test_a_clock_ahead_of_the_broker_leaves_no_mark(scenario):
    """A worker that starts on it is refused before the ledger saw its time."""
    alarms = scenario.alarms()
    ahead = HeldClock(alarms, wall_ms=lambda: wall_clock_ms() + 3_600_000)
    with open_ledger(alarms):
        pass
    with open_ledger(alarms, clock_ms=ahead) as ledger:
        with pytest.raises(ClockError, match="ahead of the brokers'"):
            claim_feeds(Witness(alarms, ledger, check_feeds(alarms), "w1", ahead))
        assert ledger.pins.queries() == []
    with open_ledger(alarms) as ledger:
        assert claim_feeds(_witness(scenario, ledger, "w2")) == ["badges"]
        ledger.pins.register_files({})  # a clock that is right is right for the ledger


def test_a_ledger_of_another_log_claims_nothing(scenario):
    """It is refused as it always was, and the right one is not refused after it."""
    alarms = scenario.alarms()
    (log,) = check_feeds(alarms).values()
    strange = {"badges": replace(log, topic_id="another")}
    with open_ledger(_beside(scenario, "other").alarms()) as ledger:
        starts = dict.fromkeys(alarms.by_name, 0)
        assemble(alarms, ledger, identities=strange, first_start_ms=starts, clock_ms=wall_clock_ms)
        with pytest.raises(LogChangedError, match="does not match the ledger's"):
            claim_feeds(_witness(scenario, ledger, "w1"))
    with open_ledger(alarms) as ledger:
        assert claim_feeds(_witness(scenario, ledger, "w2")) == ["badges"]


def test_an_older_copy_knows_what_it_lacks(scenario, tmp_path):
    """Before anything of it is compared with the decisions topic, which may have forgotten."""
    alarms, database = scenario.alarms(), tmp_path / "one" / "ledger.db"
    with open_ledger(alarms) as ledger:
        asyncio.run(_released(scenario, ledger, "w1"))
    copyfile(database, tmp_path / "older.db")
    with open_ledger(alarms) as ledger:
        asyncio.run(_released(scenario, ledger, "w2"))
    copyfile(tmp_path / "older.db", database)
    with open_ledger(alarms) as ledger, pytest.raises(LedgerRolledBackError, match="older copy"):
        asyncio.run(_released(scenario, ledger, "w3"))
    tocsin("ledger", scenario.config, "reconcile", code=0)
    with open_ledger(alarms) as ledger:
        asyncio.run(_released(scenario, ledger, "w3"))


def test_a_worker_that_goes_on_asks_for_every_head_again(scenario):
    """After an outage its ledger may be an older one, whatever it had found in it before."""

    async def live(ledger):
        older = int(ledger.heads.now().partition(":")[0])
        await _released(scenario, ledger, "w1")
        mine = _witness(scenario, ledger, "w2")
        async with mine.opened():
            await mine.release()
        with ledger._store._engine.begin() as database:
            database.exec_driver_sql(f"DELETE FROM tocsin_entries WHERE seq > {older}")  # noqa: S608
        ledger._door._state = None  # as after a write that failed: it was to be read anew anyway
        async with mine.opened():
            with pytest.raises(LedgerRolledBackError, match="older copy"):
                await mine.release()

    with open_ledger(scenario.alarms()) as ledger:
        asyncio.run(live(ledger))
