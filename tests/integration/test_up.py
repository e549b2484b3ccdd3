"""``make up`` and ``make down`` as printed: all of it, looked at with clients that are not ours."""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import psycopg
import pytest

from deploy.kafka.runtime import HOST
from tests.deploy.metric_names import used_in
from tests.deploy.test_grafana import DASHBOARDS, filled_in, targets
from tests.support.procs import gone, ran
from tests.support.tree import ROOT, text_of
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration

CROWDED = "tocsin/alarms/fire-code/auditorium"
WITHOUT = {
    "tocsin_run_alarms_left",
    "tocsin_denied_timestamp_seconds",
    "tocsin_refused_timestamp_seconds",
    "tocsin_window_people_beyond_cap_total",
    "tocsin_group_noisy_value",
    "tocsin_noisy_value_standard_deviation",
}
"""What only a run, a denial, a refusal, a cap over a period or released counts move:
``tests/deploy/test_scraped.py`` asks for it."""
RUN = {
    "kafka",
    "postgres",
    "mosquitto",
    "alertmanager-public",
    "alertmanager-custodian",
    "worker-1",
    "worker-2",
    "prometheus-public",
    "prometheus-custodian",
    "notify",
    "mqtt",
    "board",
    "people",
}


def make(*words):
    """Run make in the tree, with the environment that runs the tests as it is."""
    kept = [f"VENV={sys.prefix}", f"--old-file={sys.prefix}/.installed-dev"]
    return ran(
        "make", "--no-print-directory", *kept, *words, code=None, cwd=ROOT, timeout=3 * PATIENCE_S
    )


@dataclass
class Stack:
    """What ``make up`` left in a folder.

    Args:
        folder: of the stack.
    """

    folder: Path

    @property
    def ports(self):
        """Every port, by name."""
        return json.loads((self.folder / "ports.json").read_text())

    def processes(self):
        """Return the ids that were written down, by name."""
        return {
            path.stem.partition("-")[2]: int(path.read_text("ascii").split()[0])
            for path in (self.folder / "run").glob("*.pid")
        }

    def lingering(self):
        """Return the commands of processes that work in the folder, or were told of it."""
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                told = f"{command} {(each / 'cwd').readlink()}"
                if int(each.name) != os.getpid() and str(self.folder) in told:
                    found.append(command)
        return found

    def get(self, name, path, *, certified=True):
        """Return an answer, to a custodian or to somebody who has no certificate."""
        tls = None
        if "custodian" in name:
            tls = ssl.create_default_context(cafile=self.folder / "ca.pem")
            if certified:
                tls.load_cert_chain(self.folder / "custodian" / "custodian.pem")
        url = f"http{'s' if tls else ''}://{HOST}:{self.ports[name]}{path}"
        with urlopen(url, timeout=PATIENCE_S, context=tls) as answer:  # noqa: S310  # of the stack
            return str(answer.read().decode())

    def ask(self, audience, expression):
        """Return what a Prometheus says to an expression."""
        path = f"/api/v1/query?{urlencode({'query': expression})}"
        return json.loads(self.get(f"prometheus-{audience}", path))["data"]["result"]

    def fires(self):
        """Tell whether the auditorium fires in Alertmanager."""
        alerts = json.loads(self.get("alertmanager-public", "/api/v2/alerts?active=true"))
        return any(alert["labels"].get("room") == "auditorium" for alert in alerts)

    def kcat(self, *words, said=""):
        """Return all that kcat says to an analyst, in small letters."""
        settings = self.folder / "analyst" / "kcat.conf"
        done = ran("kcat", "-F", settings, *words, code=None, input=said)
        return f"{done.stdout}{done.stderr}".lower()


def _states(log):
    """Return the states of the auditorium that were heard, one after the other."""
    lines = [line.split(" ", 1) for line in log.read_text().splitlines()]
    return [json.loads(told)["state"] for topic, told in lines if topic == CROWDED]


def test_a_full_room_fires_everywhere_and_nothing_stays_behind(tmp_path):
    """On MQTT and in Alertmanager it fires and is resolved; dashboards have data; then all goes."""
    stack, log = Stack(tmp_path / "up"), tmp_path / "heard"
    where = [f"FOLDER={stack.folder}", "PORTS=0"]
    listening = None
    try:
        begun = make("up", *where)
        assert begun.returncode == 0, begun.stdout + begun.stderr
        assert set(stack.processes()) == RUN
        again = make("up", *where)
        assert again.returncode != 0
        assert "make down" in again.stderr
        with log.open("wb") as heard:  # an analyst listens to all there is on MQTT
            listening = subprocess.Popen(
                ["mosquitto_sub", "-v", "-t", "#"],
                env={**os.environ, "XDG_CONFIG_HOME": str(stack.folder / "analyst")},
                stdout=heard,
            )
        wait_until("Alertmanager knows", stack.fires)
        crowded = "auditorium is too full"
        wait_until("the board shows it", lambda: crowded in stack.get("board", "/"))
        _assert_the_board_says_what_there_is(stack)
        wait_until("it is over in Alertmanager", lambda: not stack.fires())
        wait_until("it is over on MQTT", lambda: "OFF" in _states(log))
        assert _states(log)[0] == "ON"
        assert "office/" not in log.read_text()
        _assert_dashboards_have_data(stack)
        _assert_an_analyst_reaches_nothing_else(stack)
        _assert_the_page_is_right(stack)
        _assert_the_ledgers_role_is_no_superuser(stack)
    finally:
        if listening is not None:
            listening.kill()
            listening.wait()
        pids = stack.processes().values()
        ended = make("down", *where)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert all(map(gone, pids))
    assert stack.lingering() == []
    assert not stack.folder.exists()


def _assert_the_board_says_what_there_is(stack):
    """The promise, rooms that did not fire, and links to the pages that analysts reach."""
    page = stack.get("board", "/")
    assert "does not say what the budget is" not in page
    assert "<dt>epsilon_max</dt><dd>4</dd>" in page
    assert "Groups without an alarm in these windows" in page
    for name in ("prometheus-public", "alertmanager-public"):
        assert f'href="http://{HOST}:{stack.ports[name]}/"' in page


def _assert_dashboards_have_data(stack):
    for path in DASHBOARDS:
        audience = path.partition("/")[0]
        for target in targets(path):
            expression = filled_in(target["expr"])
            if not used_in(expression) & WITHOUT:
                wait_until(expression, partial(stack.ask, audience, expression))
    assert stack.ask("public", '{__name__=~".+", job!="tocsin-public"}') == []


def _assert_an_analyst_reaches_nothing_else(stack):
    """Two topics may be read, as ``test_acls`` has it in full; whatever else there is says no."""
    read = ("-o", "beginning", "-e", "-q", "-C", "-t")
    for topic in ("tocsin.alarms", "tocsin.decisions"):
        assert '"fire-code"' in stack.kcat(*read, topic)
        assert "authorization failed" in stack.kcat("-P", "-t", topic, said="forged\n")
    listed = stack.kcat("-L")
    for topic in ("building.badges", "tocsin.wakeup", "tocsin.ownership"):
        assert topic not in listed
        assert "authorization failed" in stack.kcat(*read, topic)
    assert "group authorization failed" in stack.kcat("-e", "-G", "tocsin-ingest", "tocsin.alarms")
    for page in ("prometheus-custodian", "alertmanager-custodian"):
        with pytest.raises(OSError, match=r"(?i)certificate|reset|closed"):
            stack.get(page, "/api/v1/query?query=up", certified=False)


def _assert_the_page_is_right(stack):
    """What the page on operations shows is run as it stands; what follows for ever ends at once."""
    page = text_of("docs/how-to/deploy-compose.md")
    (printed,) = re.findall(r"```sh\n(XDG_CONFIG_HOME.*?)```", page, flags=re.DOTALL)
    for written, run in (
        (".venv/bin/tocsin", f"{sys.executable} -m tocsin"),
        (".up", str(stack.folder)),
        ("mosquitto_sub", "mosquitto_sub -C 1"),
        ("kcat -F", "kcat -e -F"),
        ("curl", "curl --fail --silent --show-error"),
    ):
        assert written in printed
        printed = printed.replace(written, run)
    done = ran("sh", "-e", "-c", printed, cwd=ROOT)
    for told in (CROWDED, '"alarm_id"', "budget user", "tocsin_events_total"):
        assert told in done.stdout, done.stdout


def _assert_the_ledgers_role_is_no_superuser(stack):
    """Workers log in to PostgreSQL as the owner of one database; nobody else has a password."""
    login = {
        "host": HOST,
        "port": stack.ports["postgres"],
        "dbname": "tocsin",
        "password": (stack.folder / "worker" / "db_password").read_text("ascii").strip(),
        "sslrootcert": str(stack.folder / "ca.pem"),
        "sslmode": "verify-full",
    }
    with psycopg.connect(**login, user="tocsin") as connection:
        assert connection.execute("SHOW is_superuser").fetchone() == ("off",)
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        psycopg.connect(**login, user="postgres")
