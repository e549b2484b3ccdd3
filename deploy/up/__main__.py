"""``make up`` and ``make down``: everything there is, on this machine, with people made up.

Use::

    python -m deploy.up up [--folder .up] [--ports 21000] [--with docker|podman]
    python -m deploy.up down [--folder .up] [--with docker|podman]

Without an engine, servers are processes of this machine: see ``native.py``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kafka.errors import KafkaError

from deploy.kafka.runtime import BrokerError
from deploy.up import composed, native
from deploy.up.processes import StartError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deploy.up.places import Places

_TOLD = """\
It runs. For one minute of two the auditorium is too full; an alarm leaves 7 s after its window.

  alarms over MQTT   XDG_CONFIG_HOME={folder}/analyst mosquitto_sub -v -t 'tocsin/alarms/#'
  alarms on Kafka    kcat -F {folder}/analyst/kcat.conf -C -t tocsin.alarms
  board              http://{board}
  Alertmanager       http://{alertmanager}
  Prometheus         http://{prometheus}
  custodian's        https://{custodian}, with {folder}/custodian/custodian.pem
  logs               {folder}/run
  the end            make down
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m deploy.up", description=__doc__)
    parser.add_argument("command", choices=("up", "down"))
    parser.add_argument("--folder", type=Path, default=Path(".up"))
    parser.add_argument("--ports", type=int, default=21000)
    parser.add_argument("--with", choices=tuple(composed.ENGINES), dest="engine")
    options = parser.parse_args(argv)
    folder = options.folder.resolve()
    try:
        if options.engine and options.command == "up":
            composed.up(options.engine)
        elif options.engine:
            composed.down(options.engine)
        elif options.command == "up":
            print(_told(native.up(folder, options.ports), options.folder), flush=True)
        else:
            native.down(folder)
    except (StartError, BrokerError, KafkaError, OSError, KeyboardInterrupt) as error:
        print(f"error: {error or 'interrupted'}", file=sys.stderr)
        if options.command == "up" and (folder / "run").exists():
            print("  hint: make down ends what was started", file=sys.stderr)
        return 1
    return 0


def _told(places: Places, folder: Path) -> str:
    return _TOLD.format(
        folder=folder,
        board=places.at("board"),
        alertmanager=places.at("alertmanager-public"),
        prometheus=places.at("prometheus-public"),
        custodian=places.at("prometheus-custodian"),
    )


if __name__ == "__main__":
    sys.exit(main())
