"""The scrape configuration, checked by Prometheus' own promtool."""

from __future__ import annotations

from tests.deploy.promtool import promtool
from tests.support.tree import ROOT, yaml_of

DEPLOY = ROOT / "deploy"
TOKENS = {
    "tocsin-custodian": "/run/secrets/custodian_token",
    "tocsin-mqtt": "/run/secrets/metrics_token",
}


def test_the_scrape_configuration_is_valid(tmp_path):
    """Promtool accepts the configuration with its rules and the tokens' files in place."""
    token = tmp_path / "token"
    token.write_text("secret")
    text = (DEPLOY / "prometheus.yml").read_text()
    for file in TOKENS.values():
        assert text.count(file) == 1
        text = text.replace(file, str(token))
    (tmp_path / "prometheus.yml").write_text(text)
    (tmp_path / "alerts.yml").write_bytes((DEPLOY / "alerts.yml").read_bytes())
    assert promtool("check", "config", str(tmp_path / "prometheus.yml")) == ""


def test_an_analysts_prometheus_scrapes_the_public_page_alone():
    """The same job as the custodian's for the public page, no rules, no token."""
    assert promtool("check", "config", str(DEPLOY / "prometheus-public.yml")) == ""
    public, custodian = (
        yaml_of(f"deploy/{name}") for name in ("prometheus-public.yml", "prometheus.yml")
    )
    assert public["scrape_configs"] == custodian["scrape_configs"][:1]
    assert "rule_files" not in public


def test_a_broken_rule_does_not_pass(tmp_path):
    """Promtool is really asked: an expression that does not parse is an error."""
    text = (DEPLOY / "alerts.yml").read_text()
    broken = tmp_path / "alerts.yml"
    broken.write_text(text.replace("sum by (feed)", "sum by by", 1))
    assert "parse error" in promtool("check", "rules", str(broken))


def test_pages_of_counts_are_asked_with_their_token_and_jobs_find_everybody():
    """Only jobs of exact counts carry a token, each its own, and it goes to their port alone."""
    config = yaml_of("deploy/prometheus.yml")
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    carried = {
        name: job["authorization"]["credentials_file"]
        for name, job in jobs.items()
        if "authorization" in job
    }
    assert carried == TOKENS
    ports = {name: job["dns_sd_configs"][0]["port"] for name, job in jobs.items()}
    assert ports == {"tocsin-public": 9464, "tocsin-custodian": 9465, "tocsin-mqtt": 9466}
