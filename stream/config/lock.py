"""The lock of a configuration: what its open alarms were resolved to, and from what.

``alarms.lock`` stands beside ``alarms.yaml``. Per alarm it holds the keys that the file leaves open
and a digest of all that they follow from; where the digest is another, the entry is stale and
nothing runs by it. Whoever reads a configuration reads its lock with it and writes neither.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from accountant.errors import ConfigError
from stream.model.fingerprints import canonical_json, definition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

__all__ = ["Lock", "Locked", "digest_of", "read_lock"]

_DIGITS: Final = 32
_WIDTH: Final = 100
_HEAD: Final = """\
# What {file} leaves open, as `tocsin lock` resolved it. Commit this file; do not edit it.
# `tocsin check` says whether it is stale, `tocsin lock` renews what is.
"""


class Locked(BaseModel):
    """One alarm's entry."""

    model_config = ConfigDict(frozen=True)

    from_: str = Field(alias="from")
    """digest of what it was resolved from"""
    by: str
    """the version of Tocsin that resolved it"""
    keys: dict[str, Any]
    """what was resolved, as the file would write it"""
    figures: dict[str, str]
    """what it costs and does, for people"""


class _File(BaseModel):
    """A whole lock."""

    version: Literal["1"]
    alarms: dict[str, Locked]


@dataclass(frozen=True, slots=True)
class Lock:
    """The entries of a lock.

    Args:
        path: of its file.
        configuration: name of the file that it stands beside.
        entries: by alarm.
    """

    path: Path
    configuration: str
    entries: Mapping[str, Locked] = field(default_factory=dict)

    def holds(self, alarm: Alarm, budget: Budget) -> bool:
        """Whether it says how an open alarm is had, and is not stale."""
        entry = self.entries.get(alarm.id)
        return entry is not None and entry.from_ == digest_of(alarm, budget)

    @property
    def text(self) -> str:
        """What its file holds: sorted, the same bytes for the same entries."""
        whole = _File(version="1", alarms=dict(self.entries)).model_dump(by_alias=True)
        return _HEAD.format(file=self.configuration) + yaml.safe_dump(whole, width=_WIDTH)


def read_lock(path: Path) -> Lock:
    """Return the lock of a configuration, without entries where there is none.

    Args:
        path: of the configuration.

    Raises:
        ConfigError: what is there is not a lock.
    """
    file = path.with_suffix(".lock")
    if not file.is_file():
        return Lock(file, path.name)
    try:
        # Texts only: so the configuration writes what was resolved.
        tree = yaml.load(file.read_text("utf-8"), yaml.BaseLoader)  # noqa: S506
        return Lock(file, path.name, _File.model_validate(tree).alarms)
    except (OSError, ValueError, OverflowError, RecursionError, yaml.YAMLError):
        raise ConfigError(
            f"{file} is not a lock of this version of Tocsin",
            hint=f"remove it, and run `tocsin lock {path}`",
        ) from None


def digest_of(alarm: Alarm, budget: Budget) -> str:
    """Return a digest of all that the open keys of an alarm follow from.

    That is what changes its decisions, what is wanted of it, and the budget: public lists and
    tables by what they hold. Comments, other alarms and the version of Tocsin are no part of it.

    Args:
        alarm: the alarm, with stand-ins for its open keys.
        budget: the one it lives under.
    """
    wanted = alarm.false_alarms
    intent = {
        "open": list(alarm.open),
        "baseline": None if alarm.baseline is None else alarm.baseline.tolist(),
        "false_alarms": None if wanted is None else wanted.text,
        "max_delay_ms": alarm.max_delay_ms,
        "episodes": alarm.episodes,
        "delay_ms": alarm.grace_ms + alarm.publish_delay_ms,
        "epsilon_max": str(budget.epsilon_max),
    }
    text = canonical_json([definition(alarm, budget), intent])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
