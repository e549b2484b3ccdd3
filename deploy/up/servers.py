"""The servers around Tocsin, on loopback, with TLS and passwords: how they are set and started."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from deploy.kafka.runtime import HOST, port_answers
from deploy.kafka.secured import SecuredBroker, acl_tool
from deploy.up.places import LISTENERS
from deploy.up.processes import StartError, answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deploy.up.places import Places

__all__ = [
    "start_alertmanager",
    "start_kafka",
    "start_mosquitto",
    "start_postgres",
    "start_prometheus",
]

_DEPLOY: Final = Path(__file__).resolve().parents[1]
_POSTGRES: Final = Path("/usr/lib/postgresql")
_SBIN: Final = "/usr/sbin"
_CUSTODIAN: Final = "custodian"
_HOST_RULES: Final = """\
# By TLS and password, and in no other way: not even from this machine.
hostssl all all 127.0.0.1/32 scram-sha-256
"""
_MOSQUITTO: Final = """\
listener {port} {host}
cafile {authority}
certfile {certificate}
keyfile {key}
use_username_as_clientid true
allow_anonymous false
password_file {folder}/passwords
acl_file {acl}
persistence true
persistence_location {folder}/
# What sensors sent is not thrown away while the MQTT source is gone. No 0: Mosquitto 2.0.11 ends
# then the connection of whoever sends what is refused, and a sensor sends it again for ever.
max_queued_messages 1000000000
message_size_limit 500000
"""


def start_kafka(places: Places) -> None:
    """Start the broker, and set who may do what with the commands of the page on privacy."""
    certificates, folder = places.certificates, places.kept("kafka")
    broker = SecuredBroker(
        directory=folder,
        secrets=places.secrets,
        authority=places.authority,
        certificate=certificates.both("server"),
        ports={name: places.ports[name] for name in LISTENERS},
    ).start()
    places.processes.note("kafka", broker.detach())
    kafka = _DEPLOY / "kafka"
    _run(
        ["sh", str(kafka / "admin.sh"), "sh", str(kafka / "acls.sh")],
        ADMIN=str(folder / "admin.properties"),
        CA=str(places.authority),
        SECRETS=str(places.secrets),
        KAFKA_ACLS=str(acl_tool(folder / "kafka-acls.sh", broker.version)),
        BOOTSTRAP=places.at("WORKERS"),
        FEEDS="building.badges",
        SENSORS="mqtt",
        ANALYSTS="analyst",
    )


def start_postgres(places: Places) -> None:
    """Start PostgreSQL for the ledger: by TLS and password, and by nothing else."""
    programs, folder = _postgres(), places.kept("postgres")
    data, certificates = folder / "data", places.certificates
    options = [
        "--username=postgres",
        f"--pwfile={places.secrets / 'db_password'}",
        "--encoding=UTF8",
    ]
    options += ["--auth=scram-sha-256", "--no-sync", "--locale=C", f"--pgdata={data}"]
    _run([*_nobody(), str(programs / "initdb"), *options])
    (data / "pg_hba.conf").write_text(_HOST_RULES, encoding="utf-8")
    settings = {
        "listen_addresses": HOST,
        "port": places.ports["postgres"],
        "unix_socket_directories": "",
        "ssl": "on",
        "ssl_cert_file": certificates.certificate("server"),
        "ssl_key_file": certificates.key("server"),
    }
    given = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
    command = [*_nobody(), str(programs / "postgres"), "-D", str(data), *given]
    places.processes.start("postgres", command, where=folder)
    places.processes.wait("postgres", lambda: _accepts(programs, places))
    role = str(_DEPLOY / "postgres" / "role.sql")
    _run(
        [str(programs / "psql"), "--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", "-f", role],
        SECRETS=str(places.secrets),
        PGHOST=HOST,
        PGPORT=str(places.ports["postgres"]),
        PGUSER="postgres",
        PGDATABASE="postgres",
        PGPASSWORD=places.secret("db_password"),
        PGSSLMODE="verify-full",
        PGSSLROOTCERT=str(places.authority),
    )


def start_mosquitto(places: Places) -> None:
    """Start the MQTT broker: sensors write, notify writes alarms, analysts read those."""
    folder, certificates = places.kept("mosquitto"), places.certificates
    script = str(_DEPLOY / "mosquitto" / "passwords.sh")
    _run(["sh", script, str(folder / "passwords")], SECRETS=str(places.secrets))
    text = _MOSQUITTO.format(
        port=places.ports["mosquitto"],
        host=HOST,
        authority=places.authority,
        certificate=certificates.certificate("server"),
        key=certificates.key("server"),
        acl=_DEPLOY / "mosquitto" / "acl",
        folder=folder,
    )
    if os.geteuid() == 0:
        text += "user root\n"  # it would become somebody else, who may not enter the folder
    settings = folder / "mosquitto.conf"
    settings.write_text(text, encoding="utf-8")
    command = [_program("mosquitto"), "-c", str(settings)]
    places.processes.start("mosquitto", command, where=folder)
    places.processes.wait("mosquitto", lambda: port_answers(places.ports["mosquitto"]))


def start_alertmanager(places: Places, audience: str) -> None:
    """Start the Alertmanager of the public or of the custodian, who shows a certificate.

    Args:
        places: of the stack.
        audience: ``public`` or ``custodian``.
    """
    name = f"alertmanager-{audience}"
    folder = places.kept(name)
    command = [
        _program("prometheus-alertmanager"),
        f"--config.file={_DEPLOY / 'alertmanager' / f'{audience}.yml'}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address={places.at(name)}",
        "--cluster.listen-address=",
        *_guard(places, folder, audience),
    ]
    places.processes.start(name, command, where=folder)
    places.processes.wait(name, lambda: _ready(places, name, audience))


def start_prometheus(places: Places, audience: str) -> None:
    """Start the Prometheus of the public or of the custodian, who shows a certificate.

    Args:
        places: of the stack.
        audience: ``public`` or ``custodian``.
    """
    name = f"prometheus-{audience}"
    folder = places.kept(name)
    settings = folder / "prometheus.yml"
    settings.write_text(yaml.safe_dump(_scraping(places, audience)), encoding="utf-8")
    command = [
        _program("prometheus"),
        f"--config.file={settings}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={places.at(name)}",
        *_guard(places, folder, audience),
    ]
    places.processes.start(name, command, where=folder)
    places.processes.wait(name, lambda: _ready(places, name, audience))


def _scraping(places: Places, audience: str) -> dict[str, Any]:
    """Return what compose has, with the pages of this machine, more often."""
    composed = "prometheus.yml" if audience == _CUSTODIAN else "prometheus-public.yml"
    config: dict[str, Any] = yaml.safe_load((_DEPLOY / composed).read_text(encoding="utf-8"))
    config["global"] = {
        "scrape_interval": "5s",
        "scrape_timeout": "4s",
        "evaluation_interval": "5s",
    }
    for job in config["scrape_configs"]:
        del job["dns_sd_configs"]
        page = job["job_name"].removeprefix("tocsin-")
        names = ["mqtt"] if page == "mqtt" else [f"worker-{n}-{page}" for n in (1, 2)]
        job["static_configs"] = [{"targets": [places.at(name) for name in names]}]
        if "authorization" in job:
            token = Path(job["authorization"]["credentials_file"]).name
            job["authorization"]["credentials_file"] = str(places.secrets / token)
    if audience == _CUSTODIAN:
        config["rule_files"] = [str(_DEPLOY / "alerts.yml")]
        (manager,) = config["alerting"]["alertmanagers"]
        manager["scheme"] = "https"
        manager["static_configs"] = [{"targets": [places.at("alertmanager-custodian")]}]
        manager["tls_config"] = {
            "ca_file": str(places.authority),
            "cert_file": str(places.certificates.certificate(_CUSTODIAN)),
            "key_file": str(places.certificates.key(_CUSTODIAN)),
        }
    return config


def _guard(places: Places, folder: Path, audience: str) -> list[str]:
    """Return the option with which a page asks for the custodian's certificate."""
    if audience != _CUSTODIAN:
        return []
    settings = {
        "cert_file": str(places.certificates.certificate("server")),
        "key_file": str(places.certificates.key("server")),
        "client_auth_type": "RequireAndVerifyClientCert",
        "client_ca_file": str(places.authority),
    }
    path = folder / "web.yml"
    path.write_text(yaml.safe_dump({"tls_server_config": settings}), encoding="utf-8")
    return [f"--web.config.file={path}"]


def _ready(places: Places, name: str, audience: str) -> bool:
    port = places.ports[name]
    if audience == _CUSTODIAN:  # who asks without a certificate is not answered
        return port_answers(port)
    return answers(port, "/-/ready")


def _accepts(programs: Path, places: Places) -> bool:
    asked = [str(programs / "pg_isready"), "-q", "-h", HOST, "-p", str(places.ports["postgres"])]
    return subprocess.run(asked, check=False).returncode == 0


def _postgres() -> Path:
    """Return the folder of Debian's newest PostgreSQL, or of the one on PATH."""
    versions = sorted(
        (path for path in _POSTGRES.glob("*/bin") if (path / "initdb").exists()),
        key=lambda path: float(path.parent.name),
    )
    if versions:
        return versions[-1]
    return Path(_program("initdb")).resolve().parent


def _nobody() -> list[str]:
    """Return what makes a root that PostgreSQL runs for: it refuses one that could do anything."""
    return ["unshare", "--user", "--map-user=1000"] if os.geteuid() == 0 else []


def _program(name: str) -> str:
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_SBIN}") or name


def _run(command: Sequence[str], **environ: str) -> None:
    done = subprocess.run(
        command,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise StartError(f"{' '.join(command)} failed:\n{done.stdout}")
