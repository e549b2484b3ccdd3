"""Losses on few levels: the same numbers as an array, in a fraction of the bytes."""

from __future__ import annotations

import struct
import zlib
from hashlib import blake2b
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.costs.charges import UniformCost
from accountant.costs.levels import MOST_CELLS, LevelCosts, level_costs
from tests.support.yardstick import steps

quick = settings(max_examples=60)
few_levels = st.lists(st.sampled_from([0, 1, 5, 10**12, 2**63 - 1]), min_size=1, max_size=40)
many_levels = st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=40)
losses = few_levels | many_levels


def of(units):
    """Make costs out of a plain list."""
    return LevelCosts.of(np.array(units, dtype=np.int64))


def sealed(header, body):
    """Write any header and body with a checksum that fits."""
    text = struct.pack("<BBII", *header) + body
    return text + blake2b(text, digest_size=16).digest()


@quick
@given(losses)
def test_every_cell_keeps_its_loss(units):
    """Cells, array, levels, counts and the worst say what the plain list says; stored ones too."""
    costs = of(units)
    assert costs.as_array().tolist() == units
    assert [costs.units(cell) for cell in range(costs.cells)] == units
    assert costs.levels == tuple(sorted(set(units)))
    assert costs.counts == tuple(units.count(level) for level in costs.levels)
    assert costs.worst_units == max(units)
    assert costs.index.dtype == np.uint8
    again = LevelCosts.decode(costs.encode())
    assert again == costs
    assert hash(again) == hash(costs)


@quick
@given(losses, st.integers(0, 45))
def test_the_dearest_cells_add_up(units, cells):
    """The sum of the k largest is that of the sorted list, beyond 64 bits too."""
    assert of(units).largest_sum_units(cells) == sum(sorted(units, reverse=True)[:cells])


@quick
@given(st.data(), losses)
def test_a_flipped_bit_is_seen(data, units):
    """One bit turned anywhere in the stored bytes is refused."""
    text = bytearray(of(units).encode())
    at = data.draw(st.integers(0, 8 * len(text) - 1))
    text[at // 8] ^= 1 << (at % 8)
    with pytest.raises(ValueError, match="stored costs"):
        LevelCosts.decode(bytes(text))


@quick
@given(losses, st.integers(0, 400), st.binary(max_size=4))
def test_cut_off_or_longer_bytes_are_refused(units, kept, more):
    """A stored text is read whole or not at all."""
    text = of(units).encode()
    changed = text[:kept] + more
    if changed != text:
        with pytest.raises(ValueError, match="stored costs"):
            LevelCosts.decode(changed)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ((2, 0, 1, 1), bytes(8)),
        ((1, 2, 1, 1), bytes(8)),
        ((1, 0, 0, 1), bytes(8)),
        ((1, 0, 1, 0), b""),
        ((1, 0, MOST_CELLS + 1, 1), bytes(8)),
        ((1, 0, 1, 1), bytes(9)),
        ((1, 1, 1, 1), bytes(8)),
        ((1, 1, 1, 1), zlib.compress(bytes(9))),
        ((1, 1, 1, 1), zlib.compress(bytes(8)) + b"x"),
        ((1, 1, 1, 1), zlib.compress(bytes(10**6))),
        ((1, 0, 1, 1), b"\xff" * 8),
        ((1, 0, 2, 2), struct.pack("<QQB", 5, 5, 0b01000000)),
        ((1, 0, 2, 2), struct.pack("<QQB", 5, 6, 0b00000000)),
        ((1, 0, 2, 2), struct.pack("<QQB", 5, 6, 0b01100000)),
        ((1, 0, 3, 3), struct.pack("<QQQBB", 5, 6, 7, 0b10100000, 0b01100000)),
    ],
)
def test_forged_bytes_with_a_good_checksum_are_refused(header, body):
    """A checksum that fits makes no sense of sizes, levels or an index that have none."""
    with pytest.raises(ValueError, match=r"stored costs|levels? (of|that)"):
        LevelCosts.decode(sealed(header, body))


def test_levels_and_index_are_taken_over():
    """Levels that no cell stopped at leave no trace; costs keep a copy that nobody writes to."""
    index = np.array([2, 0, 2], dtype=np.uint8)
    costs = LevelCosts((1, 4, 9), index)
    index[:] = 0
    assert costs == of([9, 1, 9])
    assert costs.levels == (1, 9)
    with pytest.raises(ValueError, match="read-only"):
        costs.index[0] = 1


def test_more_than_a_byte_of_levels():
    """The index grows to two bytes, and to 65,536 levels but no further."""
    costs = LevelCosts.of(np.arange(2**16)[::-1])
    assert costs.index.dtype == np.uint16
    assert costs.units(0) == 2**16 - 1
    assert LevelCosts.decode(costs.encode()) == costs
    with pytest.raises(ValueError, match="between 1 and 65536 levels"):
        LevelCosts.of(np.arange(2**16 + 1))


@pytest.mark.parametrize(
    "units", [[], [-1], [[1]], [0.5], [True], [2**63], [2**70], ["1"], [None], 3]
)
def test_no_losses_of_that_kind(units):
    """Empty, negative, too large and other than whole losses are refused."""
    with pytest.raises(ValueError, match=r"levels?|vector|cells"):
        LevelCosts.of(np.array(units))


@pytest.mark.parametrize(
    ("levels", "index"),
    [((), [0]), ((1,), []), ((1,), [1]), ((1, 1), [0, 1]), ((2, 1), [0, 1]), ((1,), [-1])],
)
def test_levels_and_index_must_fit(levels, index):
    """Levels rise, and every cell is on one of them."""
    with pytest.raises(ValueError, match=r"levels?|cells"):
        LevelCosts(levels, np.array(index, dtype=np.int64))


def test_cells_outside_are_no_cells():
    """Neither a negative cell nor one past the end has a loss; nobody reaches minus one cell."""
    for cell in (-1, 2):
        with pytest.raises(IndexError, match="no such cell"):
            of([1, 2]).units(cell)
    with pytest.raises(ValueError, match="`cells` is negative"):
        of([1, 2]).largest_sum_units(-1)


def test_uniform_costs_become_one_level():
    """A uniform cost and its levels agree; costs of no known cells are refused."""
    costs = level_costs(UniformCost(units=7, cells=5))
    assert level_costs(costs) is costs
    assert costs == LevelCosts.uniform(7, 5) == of([7] * 5)
    with pytest.raises(ValueError, match="cells"):
        LevelCosts.uniform(7, 0)
    with pytest.raises(TypeError, match="no loss per cell"):
        level_costs(SimpleNamespace(worst_units=1, cells=1))


def test_a_hundred_thousand_cells_are_small_and_quick():
    """12 levels at random take about 50 kB, and a few milliseconds to write and read.

    When few cells went on past the first level, deflating helps.
    """
    rng = np.random.default_rng(4)
    costs = LevelCosts.of(np.sort(rng.integers(0, 10**12, 12))[rng.integers(0, 12, 100_000)])
    assert len(costs.encode()) < 60_000
    # It only refuses a slip by whole factors.
    assert steps(lambda: LevelCosts.decode(costs.encode())) < 500_000
    assert len(LevelCosts.of(3 + 5 * (np.arange(100_000) % 1000 == 0)).encode()) < 2_000
