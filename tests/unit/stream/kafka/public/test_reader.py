"""From where a group goes on."""

from __future__ import annotations

import pytest

from stream.kafka.public.reader import delivered_to


@pytest.mark.parametrize(
    ("known", "from_beginning", "place"),
    [
        (None, False, 90),  # a new group begins with the next record
        (None, True, 10),  # or with the oldest
        (40, False, 40),
        (40, True, 40),  # which is for groups that have delivered nothing
        (5, False, 10),  # what retention took is gone
        (90, False, 90),
        (91, False, 10),  # the topic was made anew: nothing of it is passed over in silence
    ],
)
def test_a_group_goes_on_where_it_stopped(known, *, from_beginning, place):
    """Of a partition that holds the offsets 10 to 89."""
    assert delivered_to(known, 10, 90, from_beginning=from_beginning) == place
