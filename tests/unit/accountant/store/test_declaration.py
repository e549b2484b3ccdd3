"""One declaration gives columns, what is stored, what is read back and what is shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest

from accountant.store.declaration import Kind, Table, made_from
from accountant.store.tables import TABLES


class Colour(StrEnum):
    """What a thing may be."""

    RED = "red"


@dataclass(frozen=True)
class Thing:
    """A row with a column of every kind."""

    name: str
    colour: Colour
    size: int
    part: int
    whole: bool
    costs: bytes | None
    said: bytes
    periods: tuple[int, ...]


THINGS = Table(
    "things",
    Thing,
    key=["name"],
    refers={"colour": "colours"},
    kinds={"part": Kind.SMALL, "said": Kind.ENCODED},
    private=["size"],
    unreadable="the thing {name!r}: {error}",
)
ONE = Thing("a", Colour.RED, 2**40, 3, whole=True, costs=None, said=b"\xc3\xa4", periods=(1, 2))
STORED = ("a", "red", 2**40, 3, True, None, b"\xc3\xa4", "[1, 2]")


def test_columns_follow_from_the_record() -> None:
    """Name, kind, null and reference of each, in order."""
    assert [(one.name, one.kind, one.nullable, one.refers) for one in THINGS.columns] == [
        ("name", Kind.TEXT, False, ""),
        ("colour", Kind.TEXT, False, "colours"),
        ("size", Kind.WHOLE, False, ""),
        ("part", Kind.SMALL, False, ""),
        ("whole", Kind.TRUTH, False, ""),
        ("costs", Kind.BYTES, True, ""),
        ("said", Kind.ENCODED, False, ""),
        ("periods", Kind.WHOLES, False, ""),
    ]
    assert [one.name for one in THINGS.shown] == [
        *("name", "colour", "part", "whole", "costs", "said", "periods")
    ]


def test_what_is_stored_is_read_back() -> None:
    """Members, truth values, bytes and tuples among them."""
    assert tuple(THINGS.values(ONE).values()) == STORED
    assert THINGS.read(STORED) == ONE


def test_bytes_are_shown_as_text() -> None:
    """Encoded text as it reads, other bytes in base64, whatever else is there as it is."""
    shown = {one.name: one.shown for one in THINGS.columns}
    assert (shown["said"](b"\xc3\xa4"), shown["said"](b"\xff")) == ("\u00e4", "\\xff")
    assert (shown["costs"](b"\x00"), shown["costs"](None), shown["part"](3)) == ("AA==", None, 3)


@pytest.mark.parametrize(("at", "bad"), [(1, "blue"), (7, "?"), (7, None)])
def test_what_cannot_be_read_is_named(at: int, bad: object) -> None:
    """The sentence that the table has for it."""
    row = [*STORED[:at], bad, *STORED[at + 1 :]]
    with pytest.raises(ValueError, match=r"^the thing 'a': "):
        THINGS.read(row)


def test_a_record_is_made_from_another() -> None:
    """Attributes of the same names are taken, unless others are given."""
    assert made_from(Thing, ONE, size=7) == Thing(
        "a", Colour.RED, 7, 3, whole=True, costs=None, said=ONE.said, periods=(1, 2)
    )


def test_every_table_has_a_key_of_its_columns_and_refers_to_tables() -> None:
    """So do its indexes."""
    names = {table.name for table in TABLES}
    for table in TABLES:
        columns = {one.name for one in table.columns}
        assert {*table.key, *table.unique} <= columns
        assert all(set(index.columns) <= columns for index in table.indexes)
        assert {one.refers for one in table.columns} - {""} <= names
