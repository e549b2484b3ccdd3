"""The dashboards: built from code, each for its audience, over metrics that exist."""

from __future__ import annotations

import json
import re

import pytest

from deploy.grafana.build import FOLDER, texts
from tests.deploy.metric_names import documented, grouped_by, public, used_in
from tests.support.tree import ROOT, text_of, yaml_of

DASHBOARDS = {path: json.loads(text) for path, text in texts().items()}
every_dashboard = pytest.mark.parametrize("path", DASHBOARDS)


def targets(path):
    """Return every query of every panel."""
    return [target for panel in DASHBOARDS[path]["panels"] for target in panel.get("targets", [])]


def filled_in(expression):
    """Return an expression with Grafana's variables filled in, all alarms and groups chosen."""
    values = {"$__rate_interval": "5m", "$__range": "1d", "$alarm": ".*", "$group": ".*"}
    for name, value in values.items():
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


def test_what_is_committed_is_what_the_code_writes():
    """After a change: `python -m deploy.grafana.build`."""
    found = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*.json")}
    assert found == texts()


def test_analysts_see_nothing_but_the_public_page():
    """Panels, choices and marks of the alarms' dashboard name public metrics only."""
    text = texts()["public/alarms.json"]
    assert used_in(text)
    assert used_in(text) <= public()
    # The custodian's would be caught.
    assert not used_in(texts()["custodian/custodian.json"]) <= public()


@every_dashboard
def test_every_panel_names_documented_metrics_and_labels(path):
    """A panel over a metric that nothing serves would stay empty for ever."""
    assert targets(path)
    for target in targets(path):
        names = used_in(target["expr"])
        assert names
        assert names <= set(documented())
        labels = frozenset[str]().union(*(documented()[name] for name in names))
        assert grouped_by(target["expr"]) <= labels
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels
        for name, selected in re.findall(r"(tocsin_\w+)\{([^}]*)\}", target["expr"]):
            assert set(re.findall(r"(\w+)=", selected)) <= documented()[name]


@every_dashboard
def test_a_choice_of_alarm_reaches_every_panel_that_can_follow_it(path):
    """Where a metric has the label, its panel selects by the variable."""
    for target in targets(path):
        for name, selected in re.findall(r"(tocsin_\w+)(\{[^}]*\})?", target["expr"]):
            for label in ("alarm", "group"):
                assert (label in documented()[name]) == (f'{label}=~"${label}"' in selected)


def test_every_metric_is_shown():
    """What is measured can be seen: each documented metric is on a dashboard or in an alert."""
    shown = used_in(text_of("deploy/alerts.yml") + "\n".join(texts().values()))
    whole = {name.removesuffix("_bucket") for name in documented() if name.endswith("_bucket")}
    parts = {name + end for name in whole for end in ("_sum", "_count")}
    assert set(documented()) - parts <= shown


@pytest.mark.parametrize(
    ("service", "prometheus", "folder", "home"),
    [
        ("grafana-public", "prometheus-public", "dashboards/public", "alarms.json"),
        ("grafana-custodian", "prometheus-custodian", "dashboards", "custodian/custodian.json"),
    ],
)
def test_what_is_provisioned_fits_together(service, prometheus, folder, home):
    """Each Grafana asks the Prometheus of its audience, and has its audience's dashboards only."""
    provisioning = "deploy/grafana/provisioning"
    (source,) = yaml_of(f"{provisioning}/datasources/prometheus.yml")["datasources"]
    assert source["url"] == "http://$TOCSIN_PROMETHEUS:9090"
    (provider,) = yaml_of(f"{provisioning}/dashboards/tocsin.yml")["providers"]
    path = provider["options"]["path"]
    grafana = yaml_of("docker-compose.yml")["services"][service]
    assert f"./deploy/grafana/{folder}:{path}:ro" in grafana["volumes"]
    assert (ROOT / "deploy/grafana" / folder / home).is_file()
    environment = grafana["environment"]
    assert environment["TOCSIN_PROMETHEUS"] == prometheus
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    assert environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] == f"{path}/{home}"
