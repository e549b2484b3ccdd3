"""The compose file: valid by the published schema, as closed as the page on operations says."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stream.config.mqtt.reading import read_mqtt
from stream.config.notify.reading import read_board, read_subscription
from tests.support.checking import check
from tests.support.ledgers import open_ledger
from tests.support.procs import handles, ran
from tests.support.tree import ROOT, text_of, yaml_of
from tests.support.waiting import PATIENCE_S, wait_until

COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = text_of("deploy/Dockerfile")
OWN_IMAGE = "tocsin:"
CUSTODIAN_PORT = "9465"


PARSED = yaml_of("docker-compose.yml")
"""The compose file with its anchors and merges resolved."""
SERVICES = PARSED["services"]
PROPERTIES = dict(
    re.findall(r"^([^#=\n]+)=(.*)$", text_of("deploy/kafka/server.properties"), re.MULTILINE)
)


def test_the_file_follows_the_compose_specification(tmp_path):
    """The published JSON schema accepts the file, and rejects a copy with a misspelt key."""
    assert _schema(COMPOSE) == 0
    broken = tmp_path / "docker-compose.yml"
    text = COMPOSE.read_text()
    broken.write_text(text.replace("healthcheck:", "healthchek:", 1))
    assert _schema(broken) != 0


def test_every_image_is_pinned():
    """No image floats: a full version and a digest each, and so is the base of our own image."""
    base, _ = re.findall(r"^FROM (\S+)", DOCKERFILE, flags=re.MULTILINE)
    for image in (base, *(service["image"] for service in SERVICES.values())):
        tag = re.search(r":v?\d+\.\d+(\.\d+)?([.-][a-z0-9.-]+)?(@sha256:[0-9a-f]{64})?$", image)
        assert tag, image
        assert (tag[3] is None) == image.startswith(OWN_IMAGE), image


def test_nothing_is_published_beyond_loopback():
    """Every published port is bound to 127.0.0.1, and the custodian's is not published."""
    ports = [port.split(":") for each in SERVICES.values() for port in each.get("ports", [])]
    assert ports
    for host, published, inside in ports:
        assert host == "127.0.0.1"
        assert CUSTODIAN_PORT not in inside
        low, _, high = published.partition("-")
        assert not int(low) <= int(CUSTODIAN_PORT) <= int(high or low) or inside == "9464"


def test_podman_gets_one_port_of_a_range_and_networks_apart():
    """Podman refuses a range for one, and routes between networks unless each is told not to."""
    ranged = {
        name: {"ports": {"replaced": [re.sub(r"-\d+", "", port)]}}
        for name, each in SERVICES.items()
        for port in each.get("ports", [])
        if "-" in port
    }
    assert ranged
    apart = {name: {"driver_opts": {"isolate": "true"}} for name in PARSED["networks"]}
    assert _podman_file() == {"services": ranged, "networks": apart}


def test_no_secret_stands_in_the_file_or_in_an_environment():
    """Each is a file that `deploy/secrets.sh` makes, and that git ignores."""
    for name, secret in PARSED["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
    for service in SERVICES.values():
        for key, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|TOKEN|SECRET", key):
                assert value.startswith("/run/secrets/")
    assert "secrets/" in text_of(".gitignore").splitlines()
    assert "${" not in COMPOSE.read_text()


def test_secrets_are_made_once_and_for_the_owner(tmp_path):
    """Every file that compose mounts, of letters and digits; a second run changes none."""
    folder = tmp_path / "secrets"
    script = str(ROOT / "deploy" / "secrets.sh")
    ran("sh", script, folder)
    made = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(made) == set(PARSED["secrets"])
    assert all(re.fullmatch(r"[0-9a-f]{48}", text) for text in made.values())
    assert len(set(made.values())) == len(made)
    assert folder.stat().st_mode & 0o077 == 0
    ran("sh", script, folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == made


def test_everybody_has_their_own_secrets_only():
    """Nobody but the brokers has two passwords of one; analysts' containers have none of data."""
    for name, service in SERVICES.items():
        given = {
            each if isinstance(each, str) else each["source"] for each in service.get("secrets", [])
        }
        assert given <= set(PARSED["secrets"])
        for broker, first in (("kafka", "kafka_"), ("mosquitto", "mqtt_")):
            own = {each for each in given if each.startswith(first)}
            assert len(own) <= 1 or name == broker
        if service["networks"] == ["analysts"]:
            assert given <= {
                "grafana_public_password",
                "kafka_analyst",
                "kafka_notify",
                "mqtt_notify",
            }


def test_sensors_analysts_and_the_custodian_share_no_network():
    """What meets on a network is the brokers and the worker, which ask who is there."""
    on = {
        network: {name for name, service in SERVICES.items() if network in service["networks"]}
        for network in PARSED["networks"]
    }
    assert on["sensors"] == {"kafka", "mosquitto", "mqtt"}
    assert on["sensors"] & on["analysts"] == {"kafka", "mosquitto"}
    assert on["watched"] == {"mqtt", "prometheus-custodian"}
    assert on["analysts"] & on["custodian"] == {"kafka", "tocsin"}
    public = {"prometheus-public", "grafana-public", "alertmanager-public"}
    assert on["analysts"] == {"kafka", "tocsin", "mosquitto", "notify", "board", *public}
    assert "ports" not in SERVICES["postgres"]  # it holds raw aggregates
    inside = SERVICES["postgres"]["networks"]
    assert all(PARSED["networks"][name]["internal"] for name in inside)
    assert not {*inside} & {"analysts", "custodian", "sensors"}


def test_what_is_on_several_networks_listens_to_each_on_that_one():
    """Analysts' containers find no worker's listener and no custodian's page: only their own."""
    listeners = _pairs(PROPERTIES["listeners"], "://")
    meant = {name: name.upper() for name in PARSED["networks"] if name != "watched"}
    meant["data"] = "WORKERS"
    for network, name in meant.items():
        assert _networks_of("kafka", listeners[name].partition(":")[0]) == [network]
    advertised = PROPERTIES["advertised.listeners"].split(",")
    assert {f"{name}://{listeners[name]}" for name in meant.values()} <= set(advertised)
    for name in ("tocsin", "custodian", "topics"):
        asked = SERVICES[name]["environment"]["TOCSIN_KAFKA"]
        (network,) = _networks_of("kafka", asked.partition(":")[0])
        assert network in SERVICES[name]["networks"]
    alarms, source = (yaml_of(f"deploy/tocsin/{name}.yaml") for name in ("alarms", "mqtt"))
    for service, page, network in (
        ("tocsin", alarms["metrics"]["custodian"], "custodian"),
        ("mqtt", source["mqtt"]["metrics"], "watched"),
    ):
        assert _networks_of(service, page.partition(":")[0]) == [network]


def test_the_ledgers_role_owns_its_database_and_no_more(postgres, tmp_path):
    """The script that a new server runs, with its psql: a ledger opens, and nothing else does."""
    (tmp_path / "db_password").write_text("0a1b")
    script = ROOT / "deploy" / "postgres" / "role.sql"
    psql = [str(postgres.programs / "psql"), "--no-psqlrc", "-v", "ON_ERROR_STOP=1"]
    ran(*psql, "-f", script, postgres.admin_url, env={**os.environ, "SECRETS": str(tmp_path)})
    own = make_conninfo(postgres.admin_url, user="tocsin", dbname="tocsin")
    with psycopg.connect(own) as connection:
        told = connection.execute(
            "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls"
            " FROM pg_roles WHERE rolname = 'tocsin'"
        )
        assert told.fetchone() == (False,) * 5
        owned = connection.execute(
            "SELECT datname FROM pg_database WHERE pg_get_userbyid(datdba) = 'tocsin'"
        )
        assert owned.fetchall() == [("tocsin",)]
    with psycopg.connect(postgres.admin_url) as connection:
        kept = connection.execute("SELECT rolname FROM pg_authid WHERE rolpassword IS NOT NULL")
        assert kept.fetchall() == [("tocsin",)]
    host = conninfo_to_dict(own)["host"]
    open_ledger(f"postgresql://tocsin@/tocsin?host={host}").close()
    database = SERVICES["postgres"]
    assert "./deploy/postgres:/docker-entrypoint-initdb.d:ro" in database["volumes"]
    assert "POSTGRES_USER" not in database["environment"]


def test_the_broker_lets_nobody_in_without_a_name():
    """Every listener but the controller's, on loopback, asks for SASL; no ACL means no.

    Records are dated by the broker, and a misspelt topic is an error.
    """
    assert PROPERTIES["log.message.timestamp.type"] == "LogAppendTime"
    assert PROPERTIES["auto.create.topics.enable"] == "false"
    protocols = _pairs(PROPERTIES["listener.security.protocol.map"], ":")
    listeners = _pairs(PROPERTIES["listeners"], "://")
    assert protocols.pop("CONTROLLER") == "PLAINTEXT"
    assert set(protocols.values()) == {"SASL_PLAINTEXT"}
    assert listeners.pop("CONTROLLER").startswith("localhost:")
    assert listeners.keys() == protocols.keys()
    assert PROPERTIES["allow.everyone.if.no.acl.found"] == "false"
    published = {port.rpartition(":")[2] for port in SERVICES["kafka"]["ports"]}
    hosts = {at for name, at in listeners.items() if name.startswith("HOST_")}
    assert {at.removeprefix(":") for at in hosts} == published
    assert SERVICES["acls"]["entrypoint"][-1].endswith("/acls.sh")  # which test_acls.py runs
    (named,) = re.findall(r"for listener in ([a-z_ ]+);", text_of("deploy/kafka/settings.sh"))
    assert set(named.split()) == {name.lower() for name in listeners}


def test_a_password_that_would_be_a_setting_is_refused(tmp_path):
    """Quotes or spaces in a secret could name another user; nothing is printed of it."""
    (tmp_path / "kafka_admin").write_text('x" user_eve="y')
    done = ran(
        "sh",
        ROOT / "deploy" / "kafka" / "settings.sh",
        code=2,
        env={"PATH": os.environ["PATH"], "SECRETS": str(tmp_path)},
    )
    assert done.stdout == ""
    assert "eve" not in done.stderr


@pytest.mark.parametrize(("code", "seen"), [(0, 0), (2, 0), (3, 0), (4, 4), (70, 70), (143, 143)])
def test_what_starting_over_does_not_help_is_not_started_again(tmp_path, code, seen):
    """A refusal ends with 0 and a line that says so, which `on-failure` leaves alone."""
    serving = _serve(tmp_path, f'echo "ran $*"\nexit {code}\n')
    said, told = serving.communicate(timeout=PATIENCE_S)
    assert (said, serving.returncode) == ("ran run it\n", seen)
    assert ("is not started again" in told) == (code in (2, 3))
    for name in ("tocsin", "mqtt", "notify"):
        ours = SERVICES[name]
        assert (ours["restart"], ours["entrypoint"]) == ("on-failure", ["serve.sh"])


def test_what_ends_a_container_ends_tocsin_in_order(tmp_path):
    """SIGTERM is handed on, and what tocsin says at its end is waited for."""
    serving = _serve(
        tmp_path,
        "trap 'sleep 0.2; echo ended; exit 2' TERM\necho begun\nwhile :; do sleep 0.05; done\n",
    )
    assert serving.stdout.readline() == "begun\n"
    wait_until("it hands on what it is told", lambda: handles(serving.pid, signal.SIGTERM))
    serving.terminate()
    assert serving.communicate(timeout=PATIENCE_S)[0] == "ended\n"
    assert serving.returncode == 0


def test_containers_run_without_rights_or_a_writable_disk():
    """Each drops every capability, writes to memory and volumes only, and has limits."""
    closed = {
        "read_only": True,
        "init": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
    }
    for name, service in SERVICES.items():
        assert {key: service[key] for key in closed} == closed, name
        assert ("cap_add" in service) == (name == "postgres")
        assert all(service[limit] for limit in ("mem_limit", "cpus", "pids_limit"))
    assert sum(service["image"].startswith(OWN_IMAGE) for service in SERVICES.values()) == 6
    assert "--require-hashes -r /src/requirements/image.lock" in DOCKERFILE


def test_what_runs_for_long_is_watched():
    """Every service but those that do one thing and end, or have no page, has a health check."""
    ends, silent = {"acls", "topics", "custodian"}, {"mqtt", "notify"}
    for name, service in SERVICES.items():
        assert (service["restart"] == "no") == (name in ends)
        own = service["image"].startswith(OWN_IMAGE)
        checked = service.get("healthcheck", {"disable": not own})
        assert checked.get("disable", False) == (name in ends | silent), name
    # A worker's page of metrics answers whatever happens: only /readyz says whether it can work.
    (check_line,) = re.findall(r"^HEALTHCHECK .*\n.*$", DOCKERFILE, flags=re.MULTILINE)
    assert "/readyz" in check_line


def test_everything_that_is_mounted_exists():
    """A missing file would be mounted as an empty directory, which is hard to tell from a fault."""
    mounted = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
    }
    files = {source for source in mounted if source.startswith(".")}
    assert [source for source in files if not (ROOT / source).exists()] == []
    assert mounted - files <= PARSED["volumes"].keys()


def test_the_image_is_built_from_what_the_context_sends():
    """.dockerignore lets through every path that the Dockerfile copies."""
    allowed = text_of(".dockerignore").splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, flags=re.MULTILINE)
    sources = " ".join(copied).split()
    assert sources
    assert [one for one in sources if f"!{one}" not in allowed or not (ROOT / one).exists()] == []


def test_the_configuration_that_compose_runs_is_sound(tmp_path):
    """`tocsin check` is content with the secrets in place, and names those that are not there."""
    names = {"db_password", "custodian_token", "kafka_password"}
    file = _mounted(tmp_path, "alarms")
    assert {path.name for path in tmp_path.glob("*_*")} == names
    assert check(file, environ={}) == []
    for name in names:
        (tmp_path / name).unlink()
    assert [error.file for error in check(file, environ={})] == [str(file)] * len(names)


@pytest.mark.parametrize(("name", "read"), [("mqtt", read_mqtt), ("notify", read_subscription)])
def test_mqtt_and_notify_that_compose_runs_are_sound(tmp_path, name, read):
    """Each reads its secrets and nothing else, keeps nothing, names SERVICES."""
    own, text = SERVICES[name], text_of(f"deploy/tocsin/{name}.yaml")
    given = {each["target"] for each in own["secrets"]}
    assert set(re.findall(r"/run/secrets/(\w+)", text)) == given
    read(_mounted(tmp_path, name), environ={})
    for service in re.findall(r"\b(kafka|mosquitto|alertmanager-public):\d+", text):
        assert set(SERVICES[service]["networks"]) & set(own["networks"]), service


def test_the_board_that_compose_runs_is_sound(tmp_path):
    """It listens where compose publishes it, and links what analysts reach there."""
    found = read_board(_mounted(tmp_path, "board"), environ={}).board
    port = found.listen[1]
    assert SERVICES["board"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    published = {
        each.rpartition(":")[0]
        for name in ("grafana-public", "prometheus-public", "alertmanager-public")
        for each in SERVICES[name]["ports"]
    }
    assert {urlsplit(link).netloc for link in found.links.values()} == published


@pytest.mark.parametrize("folder", ["deploy/tocsin", "deploy/up/office"])
def test_a_board_says_what_the_file_of_alarms_beside_it_does(folder):
    """The promise in its own words, and the groups by the file that lists them."""
    board, alarms = (yaml_of(f"{folder}/{one}.yaml") for one in ("board", "alarms"))
    assert board["budget"].items() <= alarms["budget"].items()
    assert {"privacy_unit", "epsilon_max", "period"} <= board["budget"].keys()
    assert board["alarms"].keys() == alarms["alarms"].keys()
    (feed,) = alarms["feeds"].values()
    domains = {name: field["domain"] for name, field in feed["fields"].items() if "domain" in field}
    for alarm in board["alarms"].values():
        assert alarm["groups"].items() <= domains.items()


def test_everybody_on_mqtt_may_do_one_thing():
    """Who logs in there has a password and a part of the ACL; nobody reads what sensors write."""
    acl = text_of("deploy/mosquitto/acl")
    parts = {each.split("\n")[0]: each.split("\n")[1:] for each in acl.split("user ")[1:]}
    assert {f"mqtt_{name}" for name in parts} == set(SERVICES["mosquitto"]["secrets"])
    may = {
        name: {tuple(line.split()[1:]) for line in lines if line.startswith("topic ")}
        for name, lines in parts.items()
    }
    assert may["sensor"] == {("write", "office/#")}
    assert may["mqtt"] == {("read", "office/#")}
    assert {way for way, _ in may["notify"]} == {"write"}
    assert {("read", topic) for _, topic in may["notify"]} == may["analyst"]


def _serve(folder, tocsin):
    """Start what a worker's container runs, with another tocsin in front."""
    fake = folder / "tocsin"
    fake.write_text(f"#!/bin/sh\n{tocsin}")
    fake.chmod(0o755)
    return subprocess.Popen(
        ["sh", str(ROOT / "deploy" / "serve.sh"), "run", "it"],
        env={"PATH": f"{folder}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _mounted(folder, name):
    """Return a role's file in a folder that has the lists and the secrets that it names."""
    text = text_of(f"deploy/tocsin/{name}.yaml")
    shutil.copy(ROOT / "deploy/tocsin/rooms.txt", folder)
    for secret in re.findall(r"/run/secrets/(\w+)", text):
        (folder / secret).write_text("0a1b\n")
    file = folder / f"{name}.yaml"
    file.write_text(text.replace("/run/secrets", str(folder)))
    return file


def _pairs(text, sign):
    """Return what is on either side of a sign, by the left one."""
    return {key: value for key, _, value in (each.partition(sign) for each in text.split(","))}


def _networks_of(service, alias):
    """Return the networks on which a name is a service's and nobody else's anywhere."""
    found = [
        (name, network)
        for name, each in SERVICES.items()
        if isinstance(each["networks"], dict)
        for network, own in each["networks"].items()
        if alias in (own.get("aliases") or [])
    ]
    assert {name for name, _ in found} <= {service}
    return [network for _, network in found]


def _podman_file():
    class Loader(yaml.SafeLoader):
        """Reads what replaces a list, where two files' lists would be put together."""

    def _replacing(loader, node):
        return {"replaced": loader.construct_sequence(node)}

    Loader.add_constructor("!override", _replacing)
    text = text_of("deploy/up/podman.yml")
    return yaml.load(text, Loader)  # noqa: S506  a safe loader's child


def _schema(file):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    return ran(*command, file, code=None).returncode
