"""The chart's ten minutes: what it renders, played by podman, and the one alarm that is due.

Run by ``make image-check``, with the image of ``image_in_podman.py``. No cluster is here: podman
plays pods. What it does not know of the rendered ones is taken away in :func:`_pod`; which other
objects it passes over is printed. Kafka and PostgreSQL are this machine's, so pods use its network.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import yaml

from deploy.helm.chart import CHART, FOLDER, KUBERNETES
from deploy.kafka.runtime import HOST, free_port
from tests.docs.test_tutorials import ALARM
from tests.soak.database import Database
from tests.support.commands import tocsin
from tests.support.engine import IMAGE
from tests.support.scraped import answer
from tests.support.tree import ROOT, text_of
from tests.support.waiting import wait_until

HELM = shutil.which("helm") or str(ROOT / ".cache" / "bin" / "helm")
PAGE = "docs/how-to/deploy-kubernetes.md"
SECRET = "of-a-server"  # noqa: S105  # that this test starts
PUBLIC = 9464
SEEN = (
    "{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.EffectiveCaps}} "
    "{{.HostConfig.SecurityOpt}} {{.HostConfig.Memory}}"
)
HARDENED = f"10001:10001 true [] [no-new-privileges] {1 << 30}"


@pytest.fixture
def database():
    """PostgreSQL on loopback, with a role as the case's configuration has it."""
    with Database(free_port()) as running:
        with running.connect() as connection:
            connection.execute(f"CREATE ROLE tocsin LOGIN PASSWORD '{SECRET}'".encode())
            connection.execute("ALTER DATABASE tocsin OWNER TO tocsin")
        yield running


@pytest.mark.integration
def test_the_chart_runs_the_ten_minutes(engine, own_broker, database, tmp_path):
    """The job makes topics, the worker decides the sample, and analysts see the alarm."""
    office = tmp_path / "office"
    asked = ("--template=office", f"--bootstrap={own_broker.bootstrap}", "--yes")
    for words in ((str(office), *asked), ("--from", str(office / "alarms.yaml"))):
        assert tocsin("init", *words).exit_code == 0
    mounted = (f"--volume={office}:/office:ro",)
    documents = _rendered(tmp_path, office, database)
    others = [one for one in documents if one["kind"] not in {"Job", "StatefulSet"}]
    names = {}
    for kind in ("Job", "StatefulSet"):
        (one,) = (one for one in documents if one["kind"] == kind)
        pod = _pod(one, tmp_path / "secrets")
        played = tmp_path / f"{kind}.yaml"
        played.write_text(yaml.safe_dump_all([*others, pod]))
        done = engine("podman", "--log-level=info", "kube", "play", str(played))
        assert done.returncode == 0, done.stderr
        passed_over = sorted(set(re.findall(r"Kube kind (\w+) not", done.stderr)))
        print(f"{kind}: played as a pod; passed over: {', '.join(passed_over)}")
        names[kind] = f"{pod['metadata']['name']}-{pod['spec']['containers'][0]['name']}"
        if kind == "Job":
            assert engine.said("podman", "wait", names[kind]) == "0"
    wait_until("the worker is ready", lambda: answer(PUBLIC, "/readyz")[0] == 200)
    worker = names["StatefulSet"]
    assert engine.said("podman", "inspect", f"--format={SEEN}", worker) == HARDENED
    loaded = ("load", "/office/dry-run.yaml", "/office/sample.jsonl")
    print(engine.once(IMAGE, "tocsin", *loaded, options=mounted))
    watched = ("watch", "/office/dry-run.yaml", "--from-beginning")
    watch = engine.run(IMAGE, *watched, options=mounted)
    wait_until("the alarm is seen", lambda: ALARM in engine("podman", "logs", watch).stdout)
    engine.said("podman", "stop", "--time=60", worker)
    assert engine.said("podman", "inspect", "--format={{.State.ExitCode}}", worker) == "0"
    shown = engine.said("podman", "logs", watch)
    print(shown)
    assert f"{shown}\n".count(ALARM) == 1


def _rendered(folder, office, database):
    """Return what the page's command renders: the dry run, with the small case's other values."""
    values = yaml.safe_load((FOLDER / "cases" / "small.yaml").read_text())
    small = yaml.safe_load(values["configuration"]["files"]["alarms.yaml"])
    dry_run = yaml.safe_load((office / "dry-run.yaml").read_text())
    ledger = small["ledger"].replace("@postgres", f"@{HOST}:{database.port}")
    repository, _, tag = IMAGE.partition(":")
    image = {"repository": repository, "tag": tag}
    for name, value in {
        "alarms.yaml": dry_run | {"ledger": ledger, "metrics": small["metrics"]},
        "values.yaml": values | {"image": image, "worker": {"replicas": 1}},
    }.items():
        (folder / name).write_text(yaml.safe_dump(value))
    shutil.copy(office / "rooms.txt", folder)
    (command,) = re.findall(r"```sh\n(helm install .*?)```", text_of(PAGE), re.DOTALL)
    script = command.replace(
        "helm install", f"{HELM} template --kube-version={KUBERNETES}"
    ).replace("deploy/helm/tocsin", str(CHART))
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
    )
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def _pod(one, secrets):
    """Return the pod of a job or a set as podman 4.3 plays it, and write its secrets.

    It knows no projected volumes; no ports in the host's network; and of probes only those of
    numbered ports, which it asks by a program that the image has not.
    """
    spec = one["spec"]["template"]["spec"] | {"hostNetwork": True}
    for container in spec["containers"]:
        container.pop("ports", None)
        container.pop("livenessProbe", None)
    for volume in spec["volumes"]:
        for source in volume.pop("projected", {"sources": []})["sources"]:
            secrets.mkdir(exist_ok=True)
            path = secrets / source["secret"]["items"][0]["path"]
            path.write_text(SECRET)
            path.chmod(0o440)
            shutil.chown(path, group=spec["securityContext"]["fsGroup"])
            volume["hostPath"] = {"path": str(secrets)}
    metadata = {"name": one["metadata"]["name"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
