"""Every alert fires when it should and is silent when it should be, by Prometheus' own promtool."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.deploy.metric_names import documented, used_in
from tests.deploy.promtool import promtool
from tests.support.tree import yaml_of

CASES = yaml_of("tests/deploy/alert_cases.yml")


RULES = {
    rule["alert"]: rule
    for group in yaml_of("deploy/alerts.yml")["groups"]
    for rule in group["rules"]
}


def _complaints(folder, rule):
    """Return where a rule does otherwise than its cases say; nothing where it does as they say."""
    groups = {"groups": [{"name": "tocsin", "rules": [rule]}]}
    (folder / "alerts.yml").write_text(yaml.safe_dump(groups))
    tests = {
        "rule_files": ["alerts.yml"],
        "evaluation_interval": "15s",
        "tests": [_told(case, rule) for case in CASES if case["alert"] == rule["alert"]],
    }
    file = folder / "tests.yml"
    file.write_text(yaml.safe_dump(tests))
    return promtool("test", "rules", str(file))


def _told(case, rule):
    """Return a case as promtool reads it.

    Asked is the series that Prometheus itself writes about alerts: an expectation of the alert
    would have to repeat every sentence of it.
    """
    expected = {**case.get("fires", {}), **{at: [] for at in case.get("silent", [])}}
    labels = {"alertname": case["alert"], "alertstate": "firing", **rule["labels"]}
    return {
        "interval": case.get("interval", "1m"),
        "name": f"{case['alert']}: {case['case']}",
        "input_series": [{"series": s, "values": v} for s, v in case["series"].items()],
        "promql_expr_test": [
            {
                "expr": f'ALERTS{{alertname="{case["alert"]}", alertstate="firing"}}',
                "eval_time": at,
                "exp_samples": [
                    {"labels": _selector("ALERTS", labels | own), "value": 1} for own in firing
                ],
            }
            for at, firing in expected.items()
        ],
    }


def _selector(name, labels):
    pairs = ", ".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{pairs}}}"


@pytest.mark.parametrize("alert", RULES)
def test_an_alert_does_what_its_cases_say(tmp_path, alert):
    """Silent before its fault, firing while it lasts, silent after it, with the labels it names."""
    assert _complaints(tmp_path, RULES[alert]) == ""


def test_every_alert_has_cases_of_both_kinds():
    """An alert that never fires, or always, would pass half of the cases."""
    for kind in ("fires", "silent"):
        assert {case["alert"] for case in CASES if case.get(kind)} == set(RULES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['alert']}: {case['case']}")
def test_a_case_is_about_what_its_alert_reads(case):
    """Each alert reads every metric that its cases give, and fires with labels it can have."""
    rule = RULES[case["alert"]]
    names = {series.split("{")[0] for series in case["series"]}
    read = set(re.findall(r"\b(?:tocsin_\w+|up)\b", rule["expr"]))
    assert names & read
    said = " ".join(rule["annotations"].values())
    for labels in (labels for firing in case.get("fires", {}).values() for labels in firing):
        assert set(re.findall(r"\$labels\.(\w+)", said)) <= set(labels)


@pytest.mark.parametrize(
    ("alert", "sound", "broken"),
    [
        ("TocsinDown", " or vector(0)", ""),  # blind to a target that vanished
        ("TocsinDown", "[2m:15s]", "[15s:15s]"),  # a scrape by luck, and all is well
        ("TocsinWorkerGone", "quantile_over_time(0.5, ", "max_over_time("),  # red after scaling
        ("TocsinRestarting", "min(min_over_time((tocsin_starts_total > 0)[30m:15s]))", "0"),
        ("TocsinRestarting", " > 0)", " >= 0)"),  # who waits for the ledger
        ("TocsinWorkerRefused", " > 0)", " >= 0)"),  # 1970 is not within the last hour
        ("TocsinWorkerStuck", " > 0)", " >= 0)"),
        ("TocsinMqttDropped", "0.5 * ", "0.3 * "),  # who reports batteries
        ("TocsinMqttSessionLost", " > 0)", " >= 0)"),
        ("TocsinMqttUnreachable", ' or max(max_over_time(up{job="tocsin-mqtt"}[1d]))', ""),
        ("TocsinMqttUnreachable", "[1d]", "[1m]"),  # blind to a target that vanished
        ("TocsinWindowsDenied", "time() - ", "60 + "),
        ("TocsinBudgetNearlySpent", "period_spent", "spent"),  # yesterday
        ("TocsinSensorsSilent", "[1d]", "[1m]"),  # forgotten with a restart
        ("TocsinMostlyDropped", "> 0.5 * ", "> 0.1 * "),  # somebody always has a broken sensor
        ("TocsinBehind", "> 100000", "> 10"),
    ],
)
def test_a_rule_that_was_broken_is_caught(tmp_path, alert, sound, broken):
    """The cases are strong enough to tell a rule from one that looks like it."""
    rule = RULES[alert]
    assert rule["expr"].count(sound) == 1
    complaints = _complaints(tmp_path, {**rule, "expr": rule["expr"].replace(sound, broken)})
    assert "got: " in complaints  # it was evaluated, and not just unreadable


def test_alerts_name_documented_metrics_only():
    """Each metric of an alert stands in docs/reference/metrics-and-alerts.md."""
    for name, rule in RULES.items():
        assert used_in(rule["expr"]) <= set(documented()), name
