"""Exact noise: integers from a cryptographic stream, no float in any sampling decision.

A probability is known through certified integer bounds, as exactly as a comparison asks for: random
bits are compared with its leading bits, and both are extended when they tie, so that every draw has
exactly the law it names. The proof is in ``docs/research/proofs/noise.md``.

Nothing else in the package touches randomness.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NoReturn, Self

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from accountant.arguments import EXACT, NATURAL, WHOLE, Kind, expect, instance_of
from accountant.errors import ArgumentError
from operators.noise.certified import CertifiedProbability
from operators.noise.normal import NormalDraws

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cryptography.hazmat.primitives.ciphers import CipherContext
    from numpy.typing import NDArray

__all__ = ["SOURCE", "KeyedNoise", "NoiseSource", "SeededSource"]

_FOR_RELEASE: Final = "pass operators.NoiseSource(), whose key comes from the operating system"
_BUFFER_BYTES: Final = 1 << 16
_ZEROS: Final = bytes(_BUFFER_BYTES)
_REFILLS_PER_KEY: Final = 1 << 20  # 64 GiB, far below where 128-bit blocks show that none repeats
_LANE_BITS: Final = 16  # bits compared first; a lane ties once in 65,536 and is then extended
_LANES_PER_BLOCK: Final = 1 << 17  # fits the second cache, hides the cost of a call
_SLOWEST_RATE: Final = Fraction(1, 1 << 40)  # below, a variate could leave int64
_RARE_TAIL: Final = 6  # choose the width for which the tail flag is set at most exp(-6) of the time


_WORDS: Final = Kind(
    "a numpy array of uint64",
    "write np.asarray(values, dtype=np.uint64)",
    lambda value: isinstance(value, np.ndarray) and value.dtype == np.uint64,
)


class NoiseSource:
    """Exact integer noise from AES-256-CTR keyed by the operating system.

    Safe to share between threads. A forked child gets a new key before its first draw. A source
    cannot be copied or pickled: two copies would repeat each other's draws.
    """

    def __init__(self) -> None:
        """Take a key from the operating system."""
        self._renew()
        _SOURCES.add(self)

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        """Refuse to be copied.

        Raises:
            TypeError: always.
        """
        raise TypeError("a noise source cannot be copied: its copies would draw the same noise")

    def for_release(self) -> Self:
        """Return itself: what is drawn may leave. A source that can be repeated refuses."""
        return self

    def token(self, size: int) -> bytes:
        """Return ``size`` uniform bytes (identifiers, keys of keyed hashes)."""
        expect(NATURAL, size=size)
        return self._bytes(size).tobytes()

    def uint64(self, n: int) -> NDArray[np.uint64]:
        """Return ``n`` uniform 64-bit integers.

        Args:
            n: how many, >= 0.

        Returns:
            Shape (n,), uint64.
        """
        expect(NATURAL, n=n)
        return self._bytes(8 * n).view("<u8").astype(np.uint64, copy=False)

    def bernoulli(self, thresholds: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Draw independent Bernoullis with P = threshold / 2^64, exactly.

        Args:
            thresholds: shape (n,), uint64.

        Returns:
            Shape (n,), bool.
        """
        expect(_WORDS, thresholds=thresholds)
        return self.uint64(thresholds.size) < thresholds

    def certified(self, p: CertifiedProbability, n: int) -> NDArray[np.bool_]:
        """Draw ``n`` independent Bernoullis of one certified probability, exactly.

        Args:
            p: the probability.
            n: how many, >= 0.

        Returns:
            Shape (n,), bool.
        """
        expect(instance_of(CertifiedProbability), p=p)
        words = self.uint64(n)
        head = np.uint64(p.floor(64))
        drawn = words < head
        for at in np.flatnonzero(words == head).tolist():
            drawn[at] = self._extended(p, 64)
        return drawn

    def geometric(self, t: Fraction, n: int) -> NDArray[np.int64]:
        """Draw ``n`` independent geometrics: P[k] = (1 - q) q^k, k >= 0, q = exp(-t).

        Args:
            t: rate per step, at least 2^-40; exact.
            n: how many, >= 0.

        Returns:
            Shape (n,), int64.

        Raises:
            ValueError: a rate below 2^-40.
        """
        expect(EXACT, t=t)
        expect(NATURAL, n=n)
        layout = _layout(t, signed=False)
        drawn = np.empty(n, dtype=np.int64)
        tails: list[NDArray[np.intp]] = []
        for start, packed in self._packed(layout, n):
            drawn[start : start + packed.size] = packed & layout.digits_mask
            tails.append(np.flatnonzero(packed >> layout.tail_shift) + start)
        self._add_tails(layout, drawn, tails)
        return drawn

    def discrete_laplace(self, t: Fraction, n: int) -> NDArray[np.int64]:
        """Draw ``n`` independent discrete Laplaces: P[z] = (1 - q) / (1 + q) q^abs(z), q = exp(-t).

        Guarantee: added to an integer statistic of sensitivity one, the sum is t-DP; nothing is
        rounded. One geometric per variate: nonzero with probability 2q / (1 + q), then a fair sign
        times one more than a geometric.

        Args:
            t: rate per unit, at least 2^-40; exact.
            n: how many, >= 0.

        Returns:
            Shape (n,), int64.

        Raises:
            ValueError: a rate below 2^-40.
        """
        expect(EXACT, t=t)
        expect(NATURAL, n=n)
        layout = _layout(t, signed=True)
        drawn = np.empty(n, dtype=np.int64)
        one = layout.dtype.type(1)
        tails: list[NDArray[np.intp]] = []
        for start, packed in self._packed(layout, n):
            nonzero = packed & one
            size = ((packed >> one) & layout.digits_mask) + one  # at most 2^(width - 2)
            size *= nonzero
            negative = np.unpackbits(self._bytes(-(-packed.size // 8)), count=packed.size)
            signs = 1 - 2 * negative.view(np.int8)
            drawn[start : start + packed.size] = size.view(layout.signed) * signs
            tails.append(np.flatnonzero((packed >> layout.tail_shift) & nonzero) + start)
        self._add_tails(layout, drawn, tails)
        return drawn

    def normal(self, n: int) -> NormalDraws:
        """Draw ``n`` independent normals of variance 1, exactly: what is asked of them is certain.

        Args:
            n: how many, >= 0.
        """
        return NormalDraws(self.uint64(n), lambda: int(self.uint64(1)[0]))

    def _new_key(self) -> bytes:
        return os.urandom(32)

    def _renew(self) -> None:
        """Start over with a new key, an empty buffer and a free lock (also in a forked child)."""
        self._lock = threading.Lock()
        self._buffer = np.empty(_BUFFER_BYTES, dtype=np.uint8)
        self._rekey()

    def _rekey(self) -> None:
        cipher = Cipher(algorithms.AES(self._new_key()), modes.CTR(bytes(16)))
        self._stream: CipherContext = cipher.encryptor()
        self._refills = 0
        self._used = _BUFFER_BYTES

    def _bytes(self, size: int) -> NDArray[np.uint8]:
        """Return ``size`` fresh bytes of the stream; none is ever handed out twice."""
        out = np.empty(size, dtype=np.uint8)
        done = 0
        with self._lock:
            while done < size:
                if self._used == _BUFFER_BYTES:
                    if size - done >= _BUFFER_BYTES:  # whole refills need no copy
                        self._refill(out[done : done + _BUFFER_BYTES])
                        done += _BUFFER_BYTES
                        continue
                    self._refill(self._buffer)
                    self._used = 0
                take = min(size - done, _BUFFER_BYTES - self._used)
                out[done : done + take] = self._buffer[self._used : self._used + take]
                self._used += take
                done += take
        return out

    def _refill(self, out: NDArray[np.uint8]) -> None:
        if self._refills == _REFILLS_PER_KEY:
            self._rekey()
        self._stream.update_into(_ZEROS, out.data)
        self._refills += 1

    def _extended(self, p: CertifiedProbability, known: int) -> bool:
        """Settle a tie: the first ``known`` bits drawn equal those of ``p``; compare the next."""
        while True:
            word = int.from_bytes(self._bytes(8).tobytes(), "little")
            ours = p.floor(known + 64) & ((1 << 64) - 1)
            if word != ours:
                return word < ours
            known += 64

    def _packed(self, layout: _Layout, n: int) -> Iterator[tuple[int, NDArray[np.unsignedinteger]]]:
        """Yield blocks of ``(first index, one word per variate)``, bit i = lane i of the layout."""
        width = len(layout.lanes)
        per_block = _LANES_PER_BLOCK // width
        for start in range(0, n, per_block):
            count = min(per_block, n - start) * width
            words = self._bytes(count * _LANE_BITS // 8).view("<u2")
            heads = layout.heads[:count]
            bits = words < heads
            ties = words == heads
            for eighth in np.flatnonzero(ties.view(np.uint64)).tolist():  # skip eight lanes at once
                for at in range(8 * eighth, 8 * eighth + 8):
                    if ties[at]:
                        bits[at] = self._extended(layout.lanes[at % width], _LANE_BITS)
            packed = np.packbits(bits, bitorder="little").view(layout.dtype)
            yield start, packed

    def _add_tails(
        self, layout: _Layout, drawn: NDArray[np.int64], tails: list[NDArray[np.intp]]
    ) -> None:
        """Add the digits above the layout's where flagged: one more than a geometric of theirs."""
        at = np.concatenate(tails) if tails else np.empty(0, dtype=np.intp)
        if at.size:
            above = layout.unit * (1 + self.geometric(layout.tail_rate, at.size))
            drawn[at] += np.where(drawn[at] < 0, -above, above)


class KeyedNoise(NoiseSource):
    """A repeatable source. FOR TESTS ONLY: whoever knows the key knows the noise.

    No configuration leads here, and a test checks that no module of the package constructs it.

    Args:
        key: any bytes.
    """

    def __init__(self, key: bytes) -> None:
        """Derive the stream from ``key``."""
        self._seed = key
        self._keys = 0
        super().__init__()

    def _new_key(self) -> bytes:
        self._keys += 1
        return hashlib.sha256(self._keys.to_bytes(8, "big") + self._seed).digest()


class SeededSource(KeyedNoise):
    """A source whose draws are the same for the same seed: FOR RESEARCH ONLY.

    Whoever knows the seed knows the noise, and has the counts behind every decision that was drawn
    with it. So it gives no keys and no identifiers, and whatever releases refuses it.
    The laws are those of ``NoiseSource``; the stream may differ between versions.

    Args:
        seed: any whole number.

    Raises:
        ArgumentError: another seed.
    """

    def __init__(self, seed: int) -> None:
        """Derive the stream from the seed."""
        expect(WHOLE, seed=seed)
        super().__init__(f"research {seed}".encode())

    def for_release(self) -> NoReturn:
        """Refuse to be used for what leaves.

        Raises:
            ArgumentError: always.
        """
        raise ArgumentError("a seeded source is for research, and this releases", hint=_FOR_RELEASE)

    def token(self, _size: int) -> NoReturn:
        """Refuse to make a key or an identifier.

        Raises:
            ArgumentError: always.
        """
        raise ArgumentError("a seeded source makes no keys and no identifiers", hint=_FOR_RELEASE)


SOURCE: Final = Kind(
    "a NoiseSource",
    "pass operators.NoiseSource(); for research that is repeated, operators.SeededSource(seed)",
    lambda value: hasattr(value, "discrete_laplace") or hasattr(value, "bernoulli"),
)
"""What draws; numpy's generators are none: their noise is neither exact nor secret."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """How one variate is spread over lanes: [nonzero,] binary digits from the lowest, tail flag.

    Args:
        lanes: the probability of each lane; 8, 16 or 32 of them.
        heads: leading bits of the lanes' probabilities, repeated to a whole block.
        dtype: unsigned integer with one bit per lane.
        signed: its signed twin.
        digits_mask: selects the digits once the lanes below them are shifted out.
        tail_shift: moves the tail flag to bit 0.
        unit: value of the digit above the last one.
        tail_rate: rate of the geometric that the digits above form.
    """

    lanes: tuple[CertifiedProbability, ...]
    heads: NDArray[np.uint16]
    dtype: np.dtype[np.unsignedinteger]
    signed: np.dtype[np.signedinteger]
    digits_mask: np.unsignedinteger
    tail_shift: np.unsignedinteger
    unit: int
    tail_rate: Fraction


@lru_cache(maxsize=64)
def _layout(t: Fraction, *, signed: bool) -> _Layout:
    """Return the narrowest layout whose tail flag is rarely set (any width has the exact law)."""
    if t < _SLOWEST_RATE:
        raise ArgumentError(
            "the rate of a geometric or discrete Laplace is at least 2^-40",
            hint="write the loss of one step: Fraction(1, 10)",
        )
    first = 1 if signed else 0
    width = next((w for w in (8, 16) if t * (1 << w - 1 - first) >= _RARE_TAIL), 32)
    digits = width - 1 - first
    lanes = [CertifiedProbability.nonzero(t)] if signed else []
    lanes += [CertifiedProbability.digit(t * (1 << i)) for i in range(digits)]
    lanes.append(CertifiedProbability.exp_neg(t * (1 << digits)))
    heads = np.array([lane.floor(_LANE_BITS) for lane in lanes], dtype=np.uint16)
    dtype = np.dtype(f"<u{width // 8}")
    return _Layout(
        lanes=tuple(lanes),
        heads=np.tile(heads, _LANES_PER_BLOCK // width),
        dtype=dtype,
        signed=np.dtype(f"<i{width // 8}"),
        digits_mask=dtype.type((1 << digits) - 1),
        tail_shift=dtype.type(width - 1),
        unit=1 << digits,
        tail_rate=t * (1 << digits),
    )


def _renew_all() -> None:
    for source in list(_SOURCES):
        source._renew()  # noqa: SLF001  # the child of a fork must not repeat its parent's noise


# The operating system forks the process, not an object: the hook has to know every source.
_SOURCES: weakref.WeakSet[NoiseSource] = weakref.WeakSet()
os.register_at_fork(after_in_child=_renew_all)
