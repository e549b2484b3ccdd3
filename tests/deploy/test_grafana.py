"""The provisioned dashboard: its expressions parse and name metrics that exist."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.deploy.metric_names import documented, grouped_by, used_in
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

GRAFANA = ROOT / "deploy" / "grafana"


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    """The dashboard's JSON."""
    loaded: dict[str, Any] = json.loads(
        (GRAFANA / "dashboards" / "tocsin.json").read_text(encoding="utf-8")
    )
    return loaded


@pytest.fixture(scope="module")
def targets(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    """Every query of every panel."""
    return [target for panel in dashboard["panels"] for target in panel.get("targets", [])]


def test_every_panel_names_documented_metrics_and_labels(targets: list[dict[str, Any]]) -> None:
    """A panel over a metric that nothing serves would stay empty for ever."""
    assert targets
    for target in targets:
        names = used_in(target["expr"])
        assert names
        assert names <= set(documented())
        labels = frozenset[str]().union(*(documented()[name] for name in names))
        assert grouped_by(target["expr"]) <= labels
        assert all(
            f"{{{{{label}}}}}" not in target["legendFormat"] or label in labels
            for label in _legend(target["legendFormat"])
        )


def test_every_metric_is_shown(targets: list[dict[str, Any]]) -> None:
    """What is measured can be seen: each documented metric is on the dashboard or in an alert."""
    alerts = (GRAFANA.parent / "alerts.yml").read_text(encoding="utf-8")
    shown = used_in(alerts).union(*(used_in(target["expr"]) for target in targets))
    buckets = {name for name in documented() if name.endswith("_bucket")}
    parts = {
        bucket.removesuffix("_bucket") + end for bucket in buckets for end in ("_sum", "_count")
    }
    assert set(documented()) - parts <= shown


def test_every_expression_parses(targets: list[dict[str, Any]], tmp_path: Path) -> None:
    """Promtool reads each expression, as a recording rule with Grafana's variable filled in."""
    rules = [
        {"record": f"panel:{number}", "expr": target["expr"].replace("$__rate_interval", "5m")}
        for number, target in enumerate(targets)
    ]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}), "utf-8")
    done = subprocess.run(
        ["promtool", "check", "rules", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "$" not in file.read_text(encoding="utf-8")


def test_panels_have_their_own_place_and_number(dashboard: dict[str, Any]) -> None:
    """No two panels share an id or a cell of the grid, and each says what it shows."""
    cells: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not own & cells
        assert max(x for x, _ in own) < 24
        cells |= own
        assert panel["type"] == "row" or panel["description"]
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)


def test_what_is_provisioned_fits_together(targets: list[dict[str, Any]]) -> None:
    """The panels ask the data source that is provisioned, from the folder that is mounted."""
    folder = GRAFANA / "provisioning"
    sources = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text("utf-8"))
    uids = {source["uid"] for source in sources["datasources"]}
    assert {target["datasource"]["uid"] for target in targets} == uids
    providers = yaml.safe_load((folder / "dashboards" / "tocsin.yml").read_text("utf-8"))
    path = providers["providers"][0]["options"]["path"]
    compose = yaml.safe_load((GRAFANA.parents[1] / "docker-compose.yml").read_text("utf-8"))
    grafana = compose["services"]["grafana"]
    assert f"./deploy/grafana/dashboards:{path}:ro" in grafana["volumes"]
    assert grafana["environment"]["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{path}/tocsin.json"


def _legend(text: str) -> list[str]:
    return [part.split("}}")[0] for part in text.split("{{")[1:]]
