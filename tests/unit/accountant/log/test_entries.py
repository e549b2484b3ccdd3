"""Every entry is read back as it was, and its hash covers all before it and everything it says."""

from __future__ import annotations

from typing import get_type_hints

import msgspec
import pytest

from accountant.log import entries
from accountant.log.entries import (
    BEGINNING,
    HASH_BYTES,
    Admitted,
    Asked,
    Ended,
    Head,
    OfWindow,
    Passed,
    RunLeft,
    checkpoint_text,
    decode,
    encode,
    hash_after,
    read_checkpoint,
    window_name,
)
from accountant.records import Answer, Outcome

ASKED = Asked("q", 10, 20, "f", 2, 4, 1, Answer.RESERVED, (0, 10), True, 3, 7)
ENDED = Ended(
    *("q", 10, 20, 1, Outcome.DECIDED, "f", 20, 21, 22, "why", "[]", 1, 2, Answer.RESERVED, ASKED),
    *(1, 2, b"costs", RunLeft(5, 2, 1, 2, 0), b"left", 3),
)
OTHERS = {
    str: "x",
    int: 99,
    bool: False,
    bytes: b"x",
    Outcome: Outcome.DENIED,
    Answer: Answer.MISSED,
}


def chained(*said):
    """Return the hashes of a log."""
    found = [BEGINNING]
    for number, one in enumerate(said, 1):
        found.append(hash_after(found[-1], number, one.kind, one.key, encode(one)))
    return found[1:]


@pytest.mark.parametrize("whole", [ENDED, ASKED])
def test_every_field_is_read_back_and_hashed(whole):
    """Whatever is changed of a window that was asked for, or of how it ended."""
    told = Admitted("s", OfWindow("q", 10, 20), (whole,)) if whole is ASKED else whole
    assert decode(told.kind, encode(told)) == told
    hints = get_type_hints(type(whole), vars(entries))
    for name in whole.__struct_fields__:
        now = getattr(whole, name)
        kind = next((one for one in OTHERS if hints[name] in {one, one | None}), None)
        value = () if isinstance(now, tuple) else OTHERS.get(kind)
        assert value != now, name
        other = msgspec.structs.replace(whole, **{name: value})
        other = msgspec.structs.replace(told, windows=(other,)) if whole is ASKED else other
        assert decode(other.kind, encode(other)) == other, name
        assert chained(other) != chained(told), name


def test_what_stands_at_its_default_is_left_out():
    """A field that is added with a default changes no entry that was written before."""
    denied = Ended("q", 10, 20, 1, Outcome.DENIED, "f", 20, 21, 22)
    assert set(msgspec.json.decode(encode(denied))) == {
        *("query", "start_ms", "end_ms", "sequence", "outcome", "fingerprint", "next_start_ms"),
        *("release_ms", "decided_at_ms"),
    }


def test_a_hash_covers_all_before_it():
    """Changing, dropping, doubling or swapping any entry changes the last hash."""
    said = [Passed("q", number) for number in range(4)]
    hashes = chained(*said)
    assert {len(one) for one in hashes} == {HASH_BYTES}
    for other in (
        [said[1], said[0], *said[2:]],
        said[1:],
        [*said, said[0]],
        [said[0], *said],
        [*said[:2], Passed("r", 2), said[3]],
    ):
        assert chained(*other)[-1] != hashes[-1]
    # Kind, key and payload are told apart, and so is the number.
    parts = [(1, "ab", "c", b"d"), (1, "a", "bc", b"d"), (1, "ab", "cd", b""), (2, "ab", "c", b"d")]
    assert len({hash_after(BEGINNING, *each) for each in parts}) == 4


@pytest.mark.parametrize(
    ("kind", "payload"),
    [("nothing", b"{}"), ("passed", b"{}"), ("passed", b'{"query":"q","cursor_ms":1,"more":2}')],
)
def test_what_is_of_another_version_is_no_entry(kind, payload):
    """Nothing of it is guessed."""
    with pytest.raises(ValueError):  # noqa: PT011  # msgspec's own, and ours
        decode(kind, payload)


def test_names_of_windows_sort_as_they_start():
    """Also of those before the epoch; no query's lie between another's."""
    starts = [-(2**62), -10, -1, 0, 1, 9, 10, 2**62]
    names = [window_name(query, start) for query in ("a", "a b", "ab") for start in starts]
    assert sorted(names) == names


def test_checkpoints_read_back():
    """What status shows can be handed to verify."""
    head = Head(12, chained(Passed("q", 1))[0])
    assert read_checkpoint(checkpoint_text(head)) == head


@pytest.mark.parametrize("text", ["", "12", "12:", "x:" + "0" * 32, "-1:" + "0" * 32, "1:00"])
def test_what_is_no_checkpoint_is_refused(text):
    """Anything but NUMBER:HASH is an error that says so."""
    with pytest.raises(ValueError, match="NUMBER:HASH"):
        read_checkpoint(text)
