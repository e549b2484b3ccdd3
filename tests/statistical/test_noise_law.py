"""The laws of the noise: exactly, digit by digit, then by chi-square; broken twins are caught."""

import ast
import copy
import math
import pickle
import re
import subprocess
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from operators.noise.certified import CertifiedProbability, exp_neg_bounds
from operators.noise.source import KeyedNoise, NoiseSource, _layout
from tests.statistical.enumeration import (
    chi_square,
    exp_bounds,
    geometric_masses,
    laplace_masses,
    p_value,
)
from tests.support.tree import ROOT, text_of
from tests.support.waiting import PATIENCE_S

TENTH = Fraction(1, 10)
RATES = (Fraction(1, 1000), TENTH, Fraction(693147, 10**6), Fraction(1), Fraction(5))
DRAWS = 2_000_000
HELD = 1e-4  # a p-value above this is accepted (seeds are fixed: the verdict never changes)
REFUSED = 1e-9  # a broken twin must fall below this


class ScriptedNoise(NoiseSource):
    """A source that hands out prepared bytes, so that a test chooses every random bit."""

    def __init__(self, *parts):
        """Queue the parts in order."""
        super().__init__()
        self.script = b"".join(bytes(part) for part in parts)

    def _bytes(self, size):
        assert size <= len(self.script), "the draw asked for more bits than the script holds"
        taken, self.script = self.script[:size], self.script[size:]
        return np.frombuffer(taken, dtype=np.uint8).copy()


def floor_of(of, t, bits):
    """Return floor(2^bits of(q)), q = exp(-t) from the independent exponential."""
    low, high = (math.floor(of(q) * (1 << bits)) for q in exp_bounds(-t))
    assert low == high
    return low


@pytest.mark.parametrize("t", [*RATES, Fraction(1, 10**12), Fraction(37), Fraction(123457, 7)])
@pytest.mark.parametrize("bits", [1, 16, 64, 128, 200])
def test_exponential_bounds_are_certified_and_tightest(t, bits):
    """2^bits exp(-t) lies strictly between neighbouring integers, as decimal arithmetic agrees."""
    lo, hi = exp_neg_bounds(t, bits)
    low, high = exp_bounds(-t)
    assert hi == lo + 1
    assert lo <= low * (1 << bits)
    assert high * (1 << bits) <= hi


def test_exponential_of_zero_is_exact():
    """Nothing is rounded where nothing has to be."""
    assert exp_neg_bounds(Fraction(0), 64) == (1 << 64, 1 << 64)


@pytest.mark.parametrize("t", RATES)
def test_digit_thresholds_are_exact_at_64_bits(t):
    """Every lane's threshold is the floor of the true probability, and no float's is."""
    layout = _layout(t, signed=True)
    digits = [t * (1 << i) for i in range(len(layout.lanes) - 2)]
    assert layout.tail_rate == 2 * digits[-1]
    for bits in (64, 200):
        assert [lane.floor(bits) for lane in layout.lanes] == [
            floor_of(lambda q: 2 * q / (1 + q), t, bits),
            *(floor_of(lambda q: q / (1 + q), rate, bits) for rate in digits),
            floor_of(lambda q: q, layout.tail_rate, bits),
        ]
    # The broken twin: thresholds computed in floating point.
    floats = [int(1 / (1 + math.exp(float(rate))) * 2**64) for rate in digits]
    assert floats != [lane.floor(64) for lane in layout.lanes[1:-1]]


def law_of(lanes):
    """Return P[abs(z)] for 0..64, then everything beyond, over all words of eight lanes."""
    masses = [Fraction(0)] * 66
    for word in range(256):
        size = 1 + (word >> 1 & 63) if word & 1 else 0
        beyond = word & 1 and word >> 7
        chances = (p if word >> i & 1 else 1 - p for i, p in enumerate(lanes))
        masses[65 if beyond else size] += math.prod(chances)
    return masses


def test_enumerated_laplace_law_is_exact():
    """Summed over all words of lanes, P[z] is (1 - q) / (1 + q) q^abs(z) to 2^-180.

    Twins: each digit with the next one's probability; digits of exp(-t 2^i) itself.
    """
    lanes = [Fraction(lane.floor(200), 1 << 200) for lane in _layout(TENTH, signed=True).lanes]
    q = sum(exp_bounds(-TENTH)) / 2
    exact = [2 * (1 - q) / (1 + q) * q**size for size in range(65)]
    exact[0] /= 2
    exact.append(2 * q**65 / (1 + q))
    first, *digits, tail = lanes
    late = [first, *digits[1:], tail, tail]
    raw = [first, *(p / (1 - p) for p in digits), tail]
    off = [
        max(abs(mass - truth) for mass, truth in zip(law_of(each), exact, strict=True))
        for each in (lanes, late, raw)
    ]
    assert off[0] < Fraction(1, 1 << 180)
    assert min(off[1:]) > Fraction(1, 1000)


@pytest.mark.parametrize(("sign", "byte"), [(1, 0x00), (-1, 0xFF)])
def test_laplace_is_read_from_the_lanes_exactly(sign, byte):
    """Every word of lanes with either sign gives the variate it stands for; zero has no sign."""
    layout = _layout(TENTH, signed=True)
    width = len(layout.lanes)
    words = np.arange(1 << width)
    nonzero, digits, tail = words & 1, words >> 1 & layout.unit - 1, words >> width - 1
    flagged = int((nonzero & tail).sum())
    tails = np.full(flagged * len(_layout(layout.tail_rate, signed=False).lanes), 0xFFFF, "<u2")
    # A lane reads as a bit of 1 where its word is below all thresholds; every tail geometric is 0.
    lanes = np.where(words[:, None] >> np.arange(width) & 1, 0, 0xFFFF).astype("<u2")
    source = ScriptedNoise(lanes.tobytes(), bytes([byte]) * (words.size // 8), tails)
    drawn = source.discrete_laplace(TENTH, words.size)
    assert not source.script
    assert (drawn == sign * nonzero * (1 + digits + layout.unit * tail)).all()


@pytest.mark.parametrize("extension", [-1, 0, 1])
def test_ties_are_settled_by_further_bits(extension):
    """A word equal to its threshold is decided by the next 64 bits, and those by the next."""
    p = CertifiedProbability.digit(TENTH)
    head, following, third = (p.floor(64), p.floor(128) % 2**64, p.floor(192) % 2**64)
    words = np.array([head - 1, head, head + 1], dtype="<u8")
    more = [following + extension] if extension else [following, third - 1]  # tied twice
    source = ScriptedNoise(words, np.array(more, dtype="<u8"))
    assert source.certified(p, 3).tolist() == [True, extension <= 0, False]
    assert not source.script


@pytest.mark.parametrize("below", [True, False])
def test_lane_ties_are_settled_by_further_bits(below):
    """Lanes compare 16 bits first; when all tie, each is settled by the next 64 of its own."""
    t = TENTH
    lanes = _layout(t, signed=False).lanes
    heads = np.array([lane.floor(16) for lane in lanes], dtype="<u2")
    nexts = [lane.floor(80) % 2**64 for lane in lanes]
    settled = np.array([n - 1 if below else n + 1 for n in nexts], dtype="<u8")
    last = np.full(8, 0xFFFF, dtype="<u2")  # the tail geometric, where flagged, is 0
    source = ScriptedNoise(heads, settled, *([last] if below else []))
    assert source.geometric(t, 1).tolist() == [127 + 128 if below else 0]
    assert not source.script


def test_a_dyadic_probability_is_exact():
    """A coin of 3/4 fires for exactly the words below 3/4, though its later bits are all zero."""
    coin = CertifiedProbability(lambda bits: (3 << bits - 2, 3 << bits - 2))
    edge = 3 << 62
    source = ScriptedNoise(np.array([edge - 1, edge], dtype="<u8"), bytes(7) + b"\x01")
    assert source.certified(coin, 2).tolist() == [True, False]
    assert coin.floor(1) == 1
    rare = CertifiedProbability(lambda bits: (1 << bits >> 100, -(-1 << bits >> 100)))
    assert rare.floor(64) == 0


def test_bernoulli_compares_strictly():
    """P = threshold / 2^64: the word below fires, the word at the threshold does not."""
    words = np.array([0, 0, 4, 5, 2**64 - 1], dtype="<u8")
    thresholds = np.array([0, 1, 5, 5, 2**64 - 1], dtype=np.uint64)
    assert ScriptedNoise(words).bernoulli(thresholds).tolist() == [False, True, True, False, False]


def reach_of(t):
    """Return how far out bins are kept: beyond, one draw in a million."""
    return int(14 / t) + 2


def laplace_p_value(drawn, t):
    """Return the p-value of variates against the discrete Laplace."""
    return p_value(drawn, laplace_masses(t, reach_of(t)))


def geometric_p_value(drawn, t):
    """Return the p-value of variates against the geometric."""
    reach = reach_of(t)
    return chi_square(
        np.bincount(np.minimum(drawn, reach), minlength=reach + 1), geometric_masses(t, reach)
    )


@pytest.mark.parametrize("t", RATES)
def test_variates_follow_their_laws(t):
    """Two million discrete Laplaces and geometrics per rate pass chi-square; 2 % off, none does."""
    source = KeyedNoise(b"laws")
    assert laplace_p_value(source.discrete_laplace(t, DRAWS), t) > HELD
    assert geometric_p_value(source.geometric(t, DRAWS), t) > HELD
    assert laplace_p_value(source.discrete_laplace(t * 102 / 100, DRAWS), t) < REFUSED


def test_operating_system_stream_follows_the_law():
    """The released source draws the same law (one run in ten thousand million would fail)."""
    t = TENTH
    assert laplace_p_value(NoiseSource().discrete_laplace(t, DRAWS), t) > 1e-10


def rounded_float_laplace(t, source):
    """Twin: floating-point inversion of the continuous law, rounded to integers."""
    uniform = source.random(DRAWS) - 0.5
    inverted = -np.sign(uniform) * np.log1p(-2 * abs(uniform)) / float(t)
    return np.rint(inverted).astype(np.int64)


def signed_zero_laplace(t, source):
    """Twin: a geometric with a fair sign, so that zero is drawn for both signs."""
    sizes = source.geometric(-math.expm1(-float(t)), DRAWS) - 1
    sizes *= source.choice([-1, 1], DRAWS)
    return sizes


@pytest.mark.parametrize("twin", [rounded_float_laplace, signed_zero_laplace])
@pytest.mark.parametrize("t", [Fraction(693147, 10**6), Fraction(1)])
def test_broken_twins_are_caught(twin, t):
    """The chi-square that accepts the noise refuses each wrong sampler."""
    assert laplace_p_value(twin(t, np.random.default_rng(7)), t) < REFUSED


def test_slow_rates_use_several_layers_and_too_slow_ones_are_refused():
    """At t = 2^-40 the mean is about 2^40; below that a variate might leave int64."""
    t = Fraction(1, 1 << 40)
    drawn = KeyedNoise(b"slow").geometric(t, 4000)
    assert float(drawn.mean()) == pytest.approx(2.0**40, rel=0.1)
    for draw in (KeyedNoise(b"").geometric, KeyedNoise(b"").discrete_laplace):
        with pytest.raises(ValueError, match="2\\^-40"):
            draw(t / 2, 1)


def test_any_number_is_drawn_and_no_word_comes_twice():
    """Requests around the sizes of blocks drain one stream, another source's is another."""
    words = []
    for source, n in product(
        (NoiseSource(), NoiseSource()), (0, 1, 7, 8191, 8192, 8193, 16_384, 16_385, 40_001)
    ):
        drawn = source.uint64(n), source.discrete_laplace(TENTH, n), source.geometric(TENTH, n)
        assert [each.size for each in drawn] == [n] * 3
        assert len(source.token(n)) == n
        words.append(drawn[0])
    joined = np.concatenate(words)
    assert np.unique(joined).size == joined.size


FORK = """
import os, sys
from operators.noise.source import NoiseSource
source = NoiseSource()
source.token(5)
source._lock.acquire()  # as if another thread were drawing while this one forks
read, write = os.pipe()
child = os.fork()
if not child:
    os.write(write, source.token(32))
    os._exit(0)
source._lock.release()
os.close(write)
theirs = os.read(read, 32)
os.waitpid(child, 0)
print(theirs.hex(), source.token(32).hex())
"""


def test_a_forked_child_draws_its_own_noise():
    """After a fork parent and child share no stream, and the child's lock is free."""
    run = subprocess.run(
        [sys.executable, "-c", FORK],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENCE_S,
        check=True,
    )
    theirs, ours = run.stdout.split()
    assert len(theirs) == len(ours) == 64
    assert theirs != ours


def test_a_source_cannot_be_copied():
    """Copies would repeat each other's noise, so copying and pickling are refused."""
    source = NoiseSource()
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            duplicate(source)


def test_noise_that_repeats_is_out_of_reach_of_the_release_path():
    """No module but its own names KeyedNoise, what runs makes no SeededSource and has no seed."""
    packages = [ROOT / name for name in ("accountant", "operators", "stream")]
    texts = {file: file.read_text() for package in packages for file in package.rglob("*.py")}
    named = [file for file, text in texts.items() if "KeyedNoise" in text]
    assert named == [ROOT / "operators/noise/source.py"]
    seeded = [file for file, text in texts.items() if "SeededSource" in text or "--seed" in text]
    assert all(file.is_relative_to(ROOT / "operators") for file in seeded)


def test_no_float_draws_a_variate():
    """Neither a constant nor a division."""
    for name in ("source", "certified"):
        tree = ast.parse(text_of(f"operators/noise/{name}.py"))
        constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        assert not any(isinstance(value, float) for value in constants)
        assert not any(isinstance(node, ast.Div) for node in ast.walk(tree))


def test_linked_proofs_exist():
    """Every proof page that a module of the operators names is there."""
    for file in (ROOT / "operators").rglob("*.py"):
        for page in re.findall(r"docs/research/proofs/\w+\.md", file.read_text()):
            assert (ROOT / page).is_file(), page
