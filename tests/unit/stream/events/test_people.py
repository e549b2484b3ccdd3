"""Units are told apart, hashed and routed as if nobody had been met before."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.events import people
from stream.events.hashing import KeyedHash
from stream.events.partitioning import partitions_of
from stream.events.people import People
from stream.model.feeds import Partitioner
from tests.support.decoding import hashings
from tests.support.texts import texts_of

KEY = bytes(range(32))
PARTITIONS = 3
NAMES = st.text(max_size=12) | st.sampled_from(["x" * 39, "x" * 40, "y" * 50, "a", "a\0"])


def some_people():
    """Nobody yet."""
    return People(KEY, partitioner=Partitioner.MURMUR2, partitions=PARTITIONS)


@settings(max_examples=50)
@given(st.lists(st.lists(NAMES), max_size=6), st.sampled_from([1, 5, 1 << 17]))
def test_what_was_met_before_shows_nowhere(batches, most):
    """Each row has its own text's hash and partition, and rows of one text have one number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "_MOST", most)
        met = some_people()
        given_out = []
        for batch in batches:
            units, homes = met.units(pa.array(batch, pa.string()))
            strings = texts_of([name.encode() for name in batch])
            hashed = KeyedHash(KEY, purpose=b"tocsin.unit")(strings)
            assert units.hashes().tolist() == hashed.tolist()
            routed = partitions_of(strings, Partitioner.MURMUR2, PARTITIONS)
            assert homes[units.number].tolist() == routed.tolist()
            assert len(set(zip(batch, units.number.tolist(), strict=True))) == len(set(batch))
            given_out.append((units, hashed))
        for units, hashed in given_out:  # what came later has changed nothing
            assert units.hashes().tolist() == hashed.tolist()


def test_whoever_was_met_is_not_hashed_again(monkeypatch):
    """Once each, and in one roster, until more were met than are remembered."""
    hashed = hashings(monkeypatch)
    monkeypatch.setattr(people, "_MOST", 10)
    met = some_people()
    rosters = []
    for start, stop in ((0, 6), (3, 8), (0, 8), (5, 12), (0, 12)):
        names = [f"person-{number}" for number in range(start, stop)]
        rosters.append(met.units(pa.array(names))[0].roster)
    assert hashed == [6, 2, 4, 12]
    assert [each is rosters[0] for each in rosters] == [True] * 4 + [False]
