"""What each role has: its own folder, with its passwords and settings, and nothing of the others.

``. FOLDER/ROLE/environment`` in a shell says where things are, for the role's own commands.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deploy.kafka.runtime import HOST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deploy.up.places import Places

__all__ = ["environment", "furnish"]

_CONFIGURATIONS: Final = Path(__file__).resolve().with_name("office")
_OFFICE: Final = Path(__file__).resolve().parents[2] / "examples" / "office"
_ALARMS: Final = ("alarms.yaml", "rooms.txt", "capacity.csv")
_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "worker": _ALARMS,
    "custodian": _ALARMS,
    "mqtt": ("mqtt.yaml",),
    "notify": ("notify.yaml",),
    "board": ("board.yaml", "rooms.txt"),
    "sensor": ("people.py", "rooms.txt"),
    "analyst": (),
}
_SECRETS: Final[Mapping[str, Mapping[str, str]]] = {
    "worker": {
        "db_password": "db_password",
        "custodian_token": "custodian_token",
        "kafka_password": "kafka_tocsin",
    },
    "custodian": {
        "db_password": "db_password",
        "custodian_token": "custodian_token",
        "kafka_password": "kafka_custodian",
    },
    "mqtt": {
        "metrics_token": "metrics_token",
        "kafka_password": "kafka_mqtt",
        "mqtt_password": "mqtt_mqtt",
    },
    "notify": {"kafka_password": "kafka_notify", "mqtt_password": "mqtt_notify"},
    "board": {"kafka_password": "kafka_analyst"},
    "sensor": {"mqtt_password": "mqtt_sensor"},
    "analyst": {"kafka_password": "kafka_analyst", "mqtt_password": "mqtt_analyst"},
}
_KCAT: Final = """\
# kcat -F kcat.conf -C -t tocsin.alarms
bootstrap.servers={kafka}
security.protocol=SASL_SSL
ssl.ca.location={authority}
sasl.mechanism=PLAIN
sasl.username=analyst
sasl.password={password}
"""

_MOSQUITTO: Final = """\
-h {host}
-p {port}
--cafile {authority}
-u analyst
-P {password}
"""


def environment(places: Places, role: str) -> dict[str, str]:
    """Return the variables that the configurations of a role read: addresses, no secret."""
    own = {"TOCSIN_CA": str(places.authority)}
    if role in {"worker", "custodian"}:
        own["TOCSIN_DB"] = places.at("postgres")
        own["TOCSIN_KAFKA"] = places.at("WORKERS" if role == "worker" else "CUSTODIAN")
        own["TOCSIN_KAFKA_USER"] = "tocsin" if role == "worker" else "custodian"
    else:
        own["TOCSIN_MQTT"] = places.at("mosquitto")
    if role == "mqtt":
        own["TOCSIN_KAFKA"] = places.at("SENSORS")
        own["TOCSIN_MQTT_METRICS"] = places.at("mqtt")
    if role == "board":
        own["TOCSIN_BOARD"] = places.at("board")
    if role in {"notify", "board", "analyst"}:
        own["TOCSIN_KAFKA"] = places.at("ANALYSTS")
    if role in {"notify", "board", "analyst"}:
        own["TOCSIN_ALERTMANAGER"] = places.at("alertmanager-public")
    if role in {"board", "analyst"}:
        own["TOCSIN_PROMETHEUS"] = places.at("prometheus-public")
    if role == "custodian":
        own["TOCSIN_PROMETHEUS"] = places.at("prometheus-custodian")
        own["TOCSIN_ALERTMANAGER"] = places.at("alertmanager-custodian")
    return own


def furnish(places: Places) -> None:
    """Write the folders of all roles."""
    for role, files in _FILES.items():
        folder = places.kept(role)
        for name in files:
            beside = _CONFIGURATIONS / name
            shutil.copyfile(beside if beside.exists() else _OFFICE / name, folder / name)
        for name, secret in _SECRETS[role].items():
            _write(folder / name, places.secret(secret) + "\n")
        lines = [
            f"export {name}={shlex.quote(value)}"
            for name, value in environment(places, role).items()
        ]
        (folder / "environment").write_text("\n".join([*lines, ""]), encoding="utf-8")
    analyst, custodian = places.folder / "analyst", places.folder / "custodian"
    told = _KCAT.format(
        kafka=places.at("ANALYSTS"),
        authority=places.authority,
        password=places.secret("kafka_analyst"),
    )
    _write(analyst / "kcat.conf", told)
    told = _MOSQUITTO.format(
        host=HOST,
        port=places.ports["mosquitto"],
        authority=places.authority,
        password=places.secret("mqtt_analyst"),
    )
    _write(analyst / "mosquitto_sub", told)
    _write(custodian / "custodian.pem", places.certificates.both("custodian").read_text("ascii"))


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
