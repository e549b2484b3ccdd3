"""Which public groups had no alarm: those of the configuration less those that were published.

The configuration lists them, the same whoever is in the events; what takes one off the list is a
published alarm, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream.kafka.board.standing import Group
    from stream.model.feeds import Domain

__all__ = ["MOST_LISTED", "Groups"]

MOST_LISTED: Final = 200
"""Groups of one alarm that are named at most; how many more there are is said."""


class Groups:
    """The public groups of one alarm.

    Args:
        domain: as configured.
    """

    def __init__(self, domain: Domain) -> None:
        self.fields = domain.fields
        self._domain = domain
        self._values = dict(
            zip(domain.fields, (frozenset(each) for each in domain.values), strict=True)
        )

    def without(self, published: Iterable[Group]) -> tuple[list[Group], int]:
        """Return the first groups that are not among those with an alarm, and how many there are.

        Args:
            published: groups of alarms, with their fields in any order.
        """
        taken = {frozenset(each) for each in published if self._has(each)}
        number = len(self._domain) - len(taken)
        left = (each for each in self._each() if frozenset(each) not in taken)
        return [each for each, _ in zip(left, range(MOST_LISTED), strict=False)], number

    def _has(self, group: Group) -> bool:
        same = len(group) == len(self._values)
        return same and all(value in self._values.get(field, ()) for field, value in group)

    def _each(self) -> Iterator[Group]:
        for index in range(len(self._domain)):
            yield tuple(self._domain.group(index).items())
