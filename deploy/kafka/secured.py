"""A broker that asks everybody for a name: what ``docker-compose.yml`` runs, on this machine.

Who may log in on which listener, and that nobody may do anything that no ACL says, comes from
``settings.sh`` and ``server.properties`` beside this file. What is told here is where the listeners
are, and TLS on each of them: others use this machine's loopback, too.
"""  # noqa: INP001  # a broker's neighbour, no package

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deploy.kafka.broker import Broker
from deploy.kafka.runtime import HOST, BrokerError, class_archive, fetch_jars, java, tools_apart

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SecuredBroker", "acl_tool", "listeners", "login_settings"]

_HERE: Final = Path(__file__).resolve().parent
_ADMIN: Final = "admin"
_TAKEN: Final = re.compile(
    r"^(listener\.name\.|sasl\.|authorizer|allow\.everyone|super\.users|inter\.broker)"
)
_TOOL: Final = """\
#!/bin/sh
exec "{java}" -XX:TieredStopAtLevel=1 -Xshare:auto {classes} \\
  -cp '{libs}/*' {tool} "$@"
"""


def login_settings(secrets: Path) -> dict[str, str]:
    """Return the composed broker's settings that say who may log in, and who may do what.

    Args:
        secrets: the folder of passwords, as ``deploy/secrets.sh`` makes it.

    Raises:
        BrokerError: a password is none.
    """
    return {key: value for key, value in _composed(secrets).items() if _TAKEN.match(key)}


def listeners(secrets: Path) -> dict[str, str]:
    """Return the composed broker's listeners, but for the controller's, with their protocols.

    Args:
        secrets: the folder of passwords.
    """
    protocols = _composed(secrets)["listener.security.protocol.map"].split(",")
    named = dict(each.split(":") for each in protocols)
    del named["CONTROLLER"]
    return named


def acl_tool(path: Path, version: str) -> Path:
    """Write ``kafka-acls.sh``, which the jars come without, and return its path.

    Args:
        path: where it is to lie.
        version: of Kafka.
    """
    libs = fetch_jars(version)
    archive = class_archive(libs)
    classes = "" if archive is None else f"-XX:SharedArchiveFile={archive}"
    tool = "org.apache.kafka.tools" if tools_apart(version) else "kafka.admin"
    text = _TOOL.format(java=java(), libs=libs, classes=classes, tool=f"{tool}.AclCommand")
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


class SecuredBroker(Broker):
    """A broker with TLS and passwords on every listener, the controller's too.

    Args:
        directory: where configuration, log and data lie.
        secrets: the folder of passwords.
        authority: the certificate that clients trust, in PEM.
        certificate: the broker's key and certificate, in one PEM file.
        ports: by the listeners' names; the one of ``WORKERS`` is the broker's own, too.
    """

    def __init__(
        self,
        *,
        directory: Path,
        secrets: Path,
        authority: Path,
        certificate: Path,
        ports: Mapping[str, int],
    ) -> None:
        super().__init__(directory=directory, port=ports["WORKERS"])
        self._controller_port = ports["CONTROLLER"]
        self._secrets, self._authority, self._certificate = secrets, authority, certificate
        self._ports = ports

    def _login(self) -> dict[str, Any]:
        return {
            "security_protocol": "SASL_SSL",
            "ssl_cafile": str(self._authority),
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": _ADMIN,
            "sasl_plain_password": self._password(),
        }

    def _password(self) -> str:
        return (self._secrets / f"kafka_{_ADMIN}").read_text(encoding="utf-8").strip()

    def _settings(self) -> dict[str, str]:
        named = {name: f"{name}://{HOST}:{port}" for name, port in self._ports.items()}
        told = {name: at for name, at in named.items() if name != "CONTROLLER"}
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        user = (
            f'username="{_ADMIN}" password="{self._password()}" user_{_ADMIN}="{self._password()}"'
        )
        return {
            **super()._settings(),
            **login_settings(self._secrets),
            "listeners": ",".join(named.values()),
            "advertised.listeners": ",".join(told.values()),
            "listener.security.protocol.map": ",".join(f"{name}:SASL_SSL" for name in named),
            # The composed controller is its container's own; here anybody could speak to it.
            "super.users": f"User:{_ADMIN}",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": f"{plain} {user};",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._certificate),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority),
        }


def _composed(secrets: Path) -> dict[str, str]:
    done = subprocess.run(  # noqa: S603  # our own script
        ["sh", str(_HERE / "settings.sh")],  # noqa: S607  # found on PATH like any tool
        env={**os.environ, "SECRETS": str(secrets)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BrokerError(done.stderr.strip())
    lines = (line.split("=", 1) for line in done.stdout.splitlines() if line[:1] not in ("", "#"))
    return {key: value for key, value in lines}  # noqa: C416  lists of two are not pairs
