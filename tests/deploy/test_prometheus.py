"""Scrape configuration and alerts, checked by Prometheus' own promtool."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import yaml

from tests.deploy.metric_names import documented, used_in
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

DEPLOY = ROOT / "deploy"
TOKEN_FILE = "/run/secrets/custodian_token"  # noqa: S105  # a path, not a secret

# One day in which everything goes wrong at once, from the eleventh minute on.
RULE_TESTS: dict[str, Any] = {
    "rule_files": ["alerts.yml"],
    "evaluation_interval": "1m",
    "tests": [
        {
            "interval": "1m",
            "input_series": [
                {"series": 'up{job="tocsin-public", instance="a:9464"}', "values": "1x10 0x60"},
                {"series": 'tocsin_budget_spent_epsilon{scope="s"}', "values": "1x10 3.8x60"},
                {"series": "tocsin_budget_epsilon_max", "values": "4x70"},
                {
                    "series": 'tocsin_denied_total{query="q", reason="incomplete"}',
                    "values": "0x10 1x60",
                },
                {"series": 'tocsin_unpublished_decisions{query="q"}', "values": "0x10 11x60"},
                {
                    "series": 'tocsin_partials_stored_total{query="q", status="conflict"}',
                    "values": "0x10 1x60",
                },
                {
                    "series": 'tocsin_ingest_lag_records{feed="f", partition="0"}',
                    "values": "0x10 200000x60",
                },
                {
                    "series": 'tocsin_cut_to_alarm_seconds_bucket{le="60"}',
                    "values": "0x10 0x60",
                },
                {
                    "series": 'tocsin_cut_to_alarm_seconds_bucket{le="300"}',
                    "values": "0x10 1+1x60",
                },
                {
                    "series": 'tocsin_cut_to_alarm_seconds_bucket{le="+Inf"}',
                    "values": "0x10 1+1x60",
                },
                {"series": 'tocsin_refusals_total{kind="LedgerError"}', "values": "0x10 1x60"},
            ],
        }
    ],
}


def test_the_scrape_configuration_is_valid(tmp_path: Path) -> None:
    """Promtool accepts the configuration with its rules and the token's file in place."""
    token = tmp_path / "token"
    token.write_text("secret", encoding="utf-8")
    text = (DEPLOY / "prometheus.yml").read_text(encoding="utf-8")
    assert text.count(TOKEN_FILE) == 1
    (tmp_path / "prometheus.yml").write_text(text.replace(TOKEN_FILE, str(token)), encoding="utf-8")
    (tmp_path / "alerts.yml").write_bytes((DEPLOY / "alerts.yml").read_bytes())
    assert _promtool("check", "config", str(tmp_path / "prometheus.yml")) == ""


def test_a_broken_rule_does_not_pass(tmp_path: Path) -> None:
    """Promtool is really asked: an expression that does not parse is an error."""
    text = (DEPLOY / "alerts.yml").read_text(encoding="utf-8")
    broken = tmp_path / "alerts.yml"
    broken.write_text(text.replace("sum by (query, reason)", "sum by by", 1), encoding="utf-8")
    assert "parse error" in _promtool("check", "rules", str(broken))


def test_every_alert_fires_when_its_fault_lasts_and_none_before(tmp_path: Path) -> None:
    """Each alert is silent while all is well and fires fifty minutes into its fault."""
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))
    (tmp_path / "alerts.yml").write_bytes((DEPLOY / "alerts.yml").read_bytes())
    for rule in rules["groups"][0]["rules"]:
        for minute, fires in (("9m", False), ("60m", True)):
            tests = {**RULE_TESTS, "tests": [dict(RULE_TESTS["tests"][0])]}
            # An expectation without alerts fails exactly when the alert fires.
            tests["tests"][0]["alert_rule_test"] = [
                {"eval_time": minute, "alertname": rule["alert"], "exp_alerts": []}
            ]
            file = tmp_path / "tests.yml"
            file.write_text(yaml.safe_dump(tests), encoding="utf-8")
            output = _promtool("test", "rules", str(file))
            assert (f"alertname: {rule['alert']}" in output) == fires, (rule["alert"], minute)
            assert (output != "") == fires, output


def test_alerts_name_documented_metrics_only() -> None:
    """Each metric and label of an alert stands in docs/custodian/metrics.md."""
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))
    for rule in rules["groups"][0]["rules"]:
        for name in used_in(rule["expr"]):
            assert name in documented(), rule["alert"]


def test_the_custodian_page_is_asked_with_a_token_and_both_jobs_find_every_worker() -> None:
    """Only the custodian's job carries the token, and it goes to the custodian's port."""
    config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text(encoding="utf-8"))
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    assert set(jobs) == {"tocsin-public", "tocsin-custodian"}
    assert "authorization" not in jobs["tocsin-public"]
    assert jobs["tocsin-custodian"]["authorization"]["credentials_file"] == TOKEN_FILE
    ports = {name: job["dns_sd_configs"][0]["port"] for name, job in jobs.items()}
    assert ports == {"tocsin-public": 9464, "tocsin-custodian": 9465}


def _promtool(*arguments: str) -> str:
    """Return what promtool complained about; nothing when it is content."""
    done = subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
