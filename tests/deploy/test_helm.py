"""The Helm chart: what it renders is what Kubernetes takes, as closed as compose, and runs."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from deploy.helm.chart import ALERTS, CASES, CHART, FOLDER, RENDERED, stamp
from stream.config.mqtt.reading import read_mqtt
from stream.config.notify.reading import read_board, read_subscription
from tests.support.checking import check
from tests.support.tree import ROOT

KUBERNETES = "1.31"
OURS = {"ServiceMonitor", "PrometheusRule"}
"""Kinds of the Prometheus operator, whose schemas are not Kubernetes' own."""
Document = dict[str, Any]
Documents = list[Document]
Named = dict[str, Document]

PUBLIC, CUSTODIAN, BOARD = 9464, 9465, 8470


def rendered(name):
    """What a case renders to."""
    text = (RENDERED / f"{name}.yaml").read_text()
    return [one for one in yaml.safe_load_all(text) if one]


FULL = rendered("full")


@pytest.fixture(params=CASES)
def documents(request):
    """What each case renders to."""
    return rendered(request.param)


def of_kind(documents, *kinds):
    """Documents of some kinds, by name without the release's."""
    found = ((one["metadata"]["name"], one) for one in documents if one["kind"] in kinds)
    return {name.removeprefix("building-"): one for name, one in found}


def templates(documents):
    """Templates of pods."""
    found = of_kind(documents, "StatefulSet", "Deployment", "Job").values()
    return [one["spec"]["template"] for one in found]


def pods(documents):
    """Specifications of pods, by role."""
    role = "app.kubernetes.io/component"
    return {one["metadata"]["labels"][role]: one["spec"] for one in templates(documents)}


def open_ends(pod):
    """What a pod may do that none of ours needs."""
    rights = pod.get("securityContext", {})
    if not (rights.get("runAsNonRoot") and rights.get("runAsUser", 0) > 0):
        yield "root"
    if rights.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "any system call"
    if pod.get("automountServiceAccountToken", True):
        yield "the cluster's API"
    for container in pod["containers"]:
        rights = container.get("securityContext", {})
        if rights.get("allowPrivilegeEscalation", True) or rights.get("capabilities") != {
            "drop": ["ALL"]
        }:
            yield "more rights"
        if not rights.get("readOnlyRootFilesystem"):
            yield "a disk to write"
        if "memory" not in container.get("resources", {}).get("limits", {}):
            yield "any memory"
        if any("secretKeyRef" in one.get("valueFrom", {}) for one in container.get("env", [])):
            yield "a secret in the environment"


@pytest.mark.parametrize("name", CASES)
def test_what_is_committed_is_of_the_chart_as_it_stands(name):
    """Whoever changed the chart has rendered it again; `make deploy-check` asks helm itself."""
    assert rendered(name)
    first = (RENDERED / f"{name}.yaml").read_text().split("\n", 1)[0]
    assert first.endswith(stamp()), "python -m deploy.helm.chart HELM --write"


def test_kubernetes_takes_every_document(documents):
    """By its own schemas, which refuse a key that they do not know."""
    for one in documents:
        if one["kind"] in OURS:
            assert one["apiVersion"] == "monitoring.coreos.com/v1"
            continue
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
        broken = copy.deepcopy(one)
        broken["metadata"]["lables"] = {}
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(broken, KUBERNETES, strict=True)


def test_no_pod_may_do_more_than_it_must(documents):
    """No root, no token of the cluster's, nothing to write, and each opening is seen."""
    for pod in pods(documents).values():
        assert not list(open_ends(pod))
    worker = pods(documents)["worker"]
    for path, seen in (
        (("securityContext", "runAsNonRoot"), "root"),
        (("securityContext", "seccompProfile"), "any system call"),
        (("automountServiceAccountToken",), "the cluster's API"),
        (("containers", 0, "securityContext", "capabilities"), "more rights"),
        (("containers", 0, "securityContext", "readOnlyRootFilesystem"), "a disk to write"),
        (("containers", 0, "resources"), "any memory"),
    ):
        broken = copy.deepcopy(worker)
        inner = broken
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
        assert list(open_ends(broken)) == [seen]


def test_secrets_are_named_and_never_written(documents):
    """No document holds one, and each role is given its own."""
    assert not of_kind(documents, "Secret")
    given = {
        role: {
            item["path"]
            for volume in pod["volumes"]
            for source in volume.get("projected", {"sources": []})["sources"]
            for item in source["secret"]["items"]
        }
        for role, pod in pods(documents).items()
    }
    ledger = {"db_password", "kafka_password", "custodian_token"}
    allowed = {
        "worker": ledger,
        "custodian": ledger,
        "board": {"kafka_password", "board_token"},
        "notify": {"kafka_password"},
        "mqtt": {"kafka_password", "mqtt_password"},
    }
    assert given == {role: allowed[role] for role in given}


def test_a_worker_is_asked_the_right_questions(documents):
    """A worker that waits for Kafka is not killed for it, and is seen to wait."""
    (container,) = pods(documents)["worker"]["containers"]
    for probe, path in (
        ("startupProbe", "/healthz"),
        ("livenessProbe", "/healthz"),
        ("readinessProbe", "/readyz"),
    ):
        assert container[probe]["httpGet"] == {"path": path, "port": "public"}
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports == {"public": PUBLIC, "custodian": CUSTODIAN}


def test_each_page_has_its_own_audience():
    """An analyst's Prometheus reaches the public page alone, by name and by policy."""
    rules = of_kind(FULL, "NetworkPolicy")["worker"]["spec"]["ingress"]
    reached = {
        rule["ports"][0]["port"]: {
            peer["podSelector"]["matchLabels"]["prometheus"] for peer in rule["from"]
        }
        for rule in rules
    }
    assert reached == {PUBLIC: {"analysts", "custodian"}, CUSTODIAN: {"custodian"}}
    for audience, prometheus in (("public", "analysts"), ("custodian", "custodian")):
        monitor = of_kind(FULL, "ServiceMonitor")[audience]
        assert monitor["metadata"]["labels"]["prometheus"] == prometheus
        chosen = monitor["spec"]["selector"]["matchLabels"].items()
        ports = [
            port["name"]
            for one in of_kind(FULL, "Service").values()
            if chosen <= one["metadata"]["labels"].items()
            for port in one["spec"]["ports"]
        ]
        assert ports == [audience]
        (endpoint,) = monitor["spec"]["endpoints"]
        assert ("authorization" in endpoint) == (audience == "custodian")


def test_nobody_reaches_a_worker_that_nobody_was_allowed_to():
    """Without peers a page is closed, not open to all."""
    policy = of_kind(rendered("small"), "NetworkPolicy")["worker"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert not policy["ingress"]


def test_only_those_who_were_named_reach_the_board():
    """On its one port; whatever lets people in from outside."""
    (rule,) = of_kind(FULL, "NetworkPolicy")["board"]["spec"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == [BOARD]
    assert rule["from"]


def test_no_role_reaches_more_than_its_work_asks_for():
    """What brings alarms on and what reads sensors have no way to the ledger."""
    reached = {
        name: {port["port"] for rule in one["spec"]["egress"] for port in rule["ports"]}
        for name, one in of_kind(FULL, "NetworkPolicy").items()
    }
    ledger = {53, 9092, 5432}
    assert reached == {
        "worker": ledger,
        "custodian": ledger,
        "board": {53, 9092},
        "notify": {53, 9092, 9093},
        "mqtt": {53, 9092, 1883},
    }


def test_policies_select_the_pods_that_there_are():
    """Each of them those of one role."""
    labels = [one["metadata"]["labels"].items() for one in templates(FULL)]
    for policy in of_kind(FULL, "NetworkPolicy").values():
        chosen = policy["spec"]["podSelector"]["matchLabels"].items()
        assert sum(chosen <= one for one in labels) == 1


def test_the_alerts_are_those_of_everybody_else():
    """The same file as compose's Prometheus reads, which promtool has tested.

    What was rendered has its name where helm put all of it: that is seen when it is rendered.
    """
    (rule,) = of_kind(FULL, "PrometheusRule").values()
    assert rule["spec"] == ALERTS
    assert (CHART / "alerts.yml").resolve() == (ROOT / ALERTS).resolve()


def test_what_is_mounted_runs(tmp_path):
    """The files of the full case, with secrets where the pods have them."""
    secrets = ("db_password", "kafka_password", "mqtt_password", "custodian_token", "board_token")
    for name in secrets:
        (tmp_path / name).write_text("0123456789abcdef")
    for one in of_kind(FULL, "ConfigMap").values():
        for name, text in one["data"].items():
            (tmp_path / name).write_text(text.replace("/run/secrets", str(tmp_path)))
    assert not check(tmp_path / "alarms.yaml", environ={})
    read_subscription(tmp_path / "notify.yaml", environ={})
    read_mqtt(tmp_path / "mqtt.yaml", environ={})
    assert read_board(tmp_path / "board.yaml", environ={}).board.listen[1] == BOARD
    for role, pod in pods(FULL).items():
        mounted = Path(pod["containers"][0]["args"][-1])
        assert mounted.parent == Path("/etc/tocsin")
        assert (tmp_path / mounted.name).is_file(), role


def test_the_cases_are_all_rendered():
    """No file of values that nothing reads."""
    assert {path.stem for path in (FOLDER / "cases").iterdir()} == set().union(*CASES.values())
    assert {path.stem for path in RENDERED.iterdir()} == set(CASES)
