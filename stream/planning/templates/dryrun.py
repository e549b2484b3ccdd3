"""A configuration's dry run: the same alarms on Kafka, with its own topics, ledger and clock.

Its names end with a digest of the file, its place and its lock: dry runs of other folders, and of
this one once it has changed, share neither a topic nor a ledger with it.

Its feeds take their time from watermarks that ``tocsin load`` writes, not from the
clock, so that events of any day can be tried.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.lock import Lock

__all__ = ["DRY_RUN", "dry_run"]

DRY_RUN: Final = "dry-run.yaml"

_SUFFIX: Final = "dry-run"
_DIGITS: Final = 8
_TOPICS: Final = ("alarms", "decisions", "counts", "wakeup", "ownership")
_HEAD: Final = """\
# {file} once more, to try it on Kafka with made-up events: nothing of it touches the real one.
#
#   tocsin topics create {name}
#   tocsin run {name}
#   tocsin load {name} EVENTS
#   tocsin watch {name} --from-beginning
"""


def dry_run(path: Path, lock: Lock) -> str:
    """Return the configuration of a dry run.

    Args:
        path: of the configuration, which has no error and leaves nothing open.
        lock: of it; its keys are written out.
    """
    text = path.read_text(encoding="utf-8")
    own = "\n".join((str(path.resolve()), lock.text, text)).encode()
    suffix = f"{_SUFFIX}-{sha256(own).hexdigest()[:_DIGITS]}"
    tree: Any = yaml.load(text, yaml.BaseLoader)  # noqa: S506 -- texts only
    kafka = tree.setdefault("kafka", {"bootstrap": "localhost:9092"})
    kafka["group"] = f"{kafka.get('group', 'tocsin')}-{suffix}"
    kafka |= {f"{name}_topic": f"tocsin.{suffix}.{name}" for name in _TOPICS}
    tree["ledger"] = f"sqlite:///.tocsin/{suffix}.db"
    tree["metrics"] = {"public": "127.0.0.1:0", "custodian": "127.0.0.1:0"}
    for feed in tree["feeds"].values():
        feed["topic"] += f".{suffix}"
        feed["clock"] = "watermarks"
        key = "${TOCSIN_WATERMARKS_KEY:-a dry run has no secrets}"
        feed["watermarks"] = {"interval": "1m", "key": key}
    for name, entry in lock.entries.items():
        if name in tree["alarms"]:
            tree["alarms"][name] |= entry.keys
    head = _HEAD.format(file=path.name, name=DRY_RUN)
    return head + yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=100)
