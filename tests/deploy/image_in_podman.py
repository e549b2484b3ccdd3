"""The image, built from its Dockerfile by buildah and run by podman: ``make image-check``.

No part of ``make test``: it fetches Debian's packages and Python's, and takes minutes. What can be
told without an engine, ``test_image.py`` tells.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from deploy.kafka.runtime import free_port
from deploy.release.version import version
from tests.support.engine import ABOUT, IMAGE
from tests.support.scenario import Scenario
from tests.support.scraped import answer
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

MOST_BYTES = 350_000_000
OFFICE = ROOT / "examples" / "office"
COMPILED = r"^# code object from '(/.*\.py)'"
READY = "import urllib.request as r; r.urlopen('http://127.0.0.1:{}/readyz', timeout=5)"


def test_the_image_is_small(engine):
    """All layers together, as they lie on a disk."""
    size = int(engine.said("podman", "image", "inspect", "--format={{.Size}}", IMAGE))
    print(f"{size / 1e6:.0f} MB")
    assert size < MOST_BYTES


def test_it_says_what_it_is_of(engine):
    """Version, commit and time are labels; the package in it is of that version."""
    labels = json.loads(
        engine.said("podman", "image", "inspect", "--format={{json .Labels}}", IMAGE)
    )
    assert ABOUT.labels.items() <= labels.items()
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert engine.once(IMAGE, "tocsin", "--version") == f"tocsin, version {version()}"


def test_nothing_is_in_it_that_installs_or_is_root(engine):
    """No pip, no package manager, no Perl; a user without a name, and one folder of its own."""
    script = (
        "import importlib.util as u, json, os, shutil, ssl, sqlite3; "
        "print(json.dumps([os.getuid(), os.stat('/var/lib/tocsin').st_uid, u.find_spec('pip'),"
        " [shutil.which(n) for n in ('pip', 'apt-get', 'dpkg', 'perl', 'bash', 'strip', 'gcc')],"
        " len(ssl.create_default_context().get_ca_certs()) > 50]))"
    )
    told = json.loads(engine.once(IMAGE, "python", "-c", script))
    assert told == [10001, 10001, None, [None] * 7, True]
    bill = json.loads(
        engine.once(IMAGE, "python", "-c", "print(open('/opt/tocsin/sbom.json').read())")
    )
    urls = {each["purl"].split("@")[0] for each in bill["components"]}
    assert urls >= {"pkg:generic/python", "pkg:deb/debian/libssl3", "pkg:pypi/scipy"}


def test_a_replay_compiles_nothing(engine):
    """On a read-only disk every start would compile it again."""
    copied = "import shutil; shutil.copytree('/office', '/tmp/office')"
    command = "cd /tmp/office; exec tocsin run alarms.yaml --replay badges.jsonl"
    done = engine(
        *("podman", "run", "--rm", "--read-only", "--tmpfs=/tmp:mode=1777", "--network=host"),
        *(f"--volume={OFFICE}:/office:ro", "--env=PYTHONVERBOSE=1", "--entrypoint=sh"),
        *(IMAGE, "-c", f'python -c "{copied}"; {command}'),
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert re.findall(COMPILED, done.stderr, flags=re.MULTILINE) == []


def test_every_command_is_there(engine):
    """Each is imported when it is called, and says what it takes."""
    told = engine.once(IMAGE, "tocsin", "--help")
    names = re.findall(r"^[^\w-]+([a-z]+) {2,}\S", told, flags=re.MULTILINE)
    assert {"run", "notify", "mqtt", "board", "simulate", "ledger"} <= set(names)
    loop = "for name in " + " ".join(names) + "; do tocsin $name --help >/tmp/out || exit 1; done"
    engine.once(IMAGE, "sh", "-c", loop)


@pytest.mark.parametrize(("program", "code"), [("tocsin", 2), ("serve.sh", 0)])
def test_what_is_refused_is_not_started_again(engine, program, code):
    """A file that is not there ends tocsin with 2, and what would be started again with 0."""
    done = engine(
        "podman", "run", "--rm", "--network=host", f"--entrypoint={program}", IMAGE, "run", "/no"
    )
    assert done.returncode == code, done.stderr


def test_a_worker_gets_ready(engine, broker, tmp_path):
    """Hardened as compose has it: it reads a real broker, is healthy, and ends in order."""
    folder = tmp_path / "worker"
    name = f"image-{time.monotonic_ns()}"
    scenario = Scenario(broker, folder, name, f"sqlite:///{folder}/ledger.db")
    public = free_port()
    text = scenario.config_text(public=public, custodian=free_port())
    scenario.config.write_text(text)
    scenario.create_topics()
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    container = engine.run(
        IMAGE, "run", str(scenario.config), options=(f"--volume={folder}:{folder}",)
    )
    pid = engine.said("podman", "inspect", "--format={{.State.Pid}}", container)
    wait_until("it is ready", lambda: answer(public, "/readyz")[0] == 200, every_s=0.05)
    used = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[11:13]
    print(f"ready after {sum(map(int, used)) / os.sysconf('SC_CLK_TCK'):.2f} s of processor time")
    engine.said("podman", "exec", container, "python", "-c", READY.format(public))
    engine.said("podman", "stop", "--time=60", container)
    assert engine.said("podman", "inspect", "--format={{.State.ExitCode}}", container) == "0"
