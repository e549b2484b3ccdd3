"""What the custodian sees: spending, health, drops and realised losses; never for analysts."""  # noqa: INP001  # a script's neighbour, no package

from __future__ import annotations

from typing import Any

from deploy.grafana.panels import DELTA, Panel, Row, Variable, dashboard

__all__ = ["custodian"]

VARIABLES = (
    Variable("alarm", "alarm", "label_values(tocsin_plan_epsilon, alarm)"),
    Variable(
        "group",
        "group",
        'label_values(tocsin_group_realised_epsilon{alarm=~"$alarm"}, group)',
    ),
)
PARTS = (
    Row("Budget"),
    Panel(
        "gauge",
        "Budget spent in this period",
        (
            "Highest loss of a privacy unit against epsilon_max, reservations included: "
            "of the period that it is now, and of the worst there was."
        ),
        (
            (
                (
                    "max by (scope) (tocsin_budget_period_spent_epsilon) / "
                    "scalar(max(tocsin_budget_epsilon_max))"
                ),
                "{{scope}} now",
            ),
            (
                (
                    "max by (scope) (tocsin_budget_spent_epsilon) / "
                    "scalar(max(tocsin_budget_epsilon_max))"
                ),
                "{{scope}} at worst",
            ),
        ),
        width=8,
        unit="percentunit",
        most=1,
        steps=(("green", None), ("orange", 0.75), ("red", 0.9)),
    ),
    Panel(
        "timeseries",
        "Epsilon: spent and the budget limit",
        (
            "Reservations included; the ledger never lets it pass the limit. Every epsilon holds "
            "at the delta beside."
        ),
        (
            ("max by (scope) (tocsin_budget_spent_epsilon)", "spent {{scope}}"),
            ("max(tocsin_budget_epsilon_max)", "epsilon_max"),
        ),
        width=8,
    ),
    Panel(
        "bargauge",
        "Planned epsilon per window",
        "What one group of a window costs at worst, as `tocsin plan` prints it.",
        (('max by (alarm) (tocsin_plan_epsilon{alarm=~"$alarm"})', "{{alarm}}"),),
        width=4,
    ),
    DELTA,
    Row("Released: alarms and decisions"),
    Panel(
        "timeseries",
        "Alarms per hour",
        "Alarms published, by alarm.",
        (('sum by (alarm) (increase(tocsin_alarms_total{alarm=~"$alarm"}[1h]))', "{{alarm}}"),),
        width=8,
    ),
    Panel(
        "timeseries",
        "Decisions per hour",
        "Windows published, decided or denied.",
        (
            (
                'sum by (alarm, outcome) (increase(tocsin_decisions_total{alarm=~"$alarm"}[1h]))',
                "{{alarm}} {{outcome}}",
            ),
        ),
        width=8,
    ),
    Panel(
        "stat",
        "Last window published",
        "How long ago the last published window of each alarm ended.",
        (
            (
                'time() - max by (alarm) (tocsin_window_end_timestamp_seconds{alarm=~"$alarm"})',
                "{{alarm}}",
            ),
        ),
        width=8,
        unit="s",
    ),
    Row("Health (custodian)"),
    Panel(
        "timeseries",
        "From window close to alarm",
        "Time from a window's close to its publication, live feeds only.",
        (
            (
                (
                    "histogram_quantile(0.5, sum by (le) "
                    "(rate(tocsin_window_close_to_alarm_seconds_bucket[$__rate_interval])))"
                ),
                "median",
            ),
            (
                (
                    "histogram_quantile(0.99, sum by (le) "
                    "(rate(tocsin_window_close_to_alarm_seconds_bucket[$__rate_interval])))"
                ),
                "99 %",
            ),
        ),
        width=8,
        unit="s",
    ),
    Panel(
        "timeseries",
        "Events read per second",
        "Records, by feed; an Arrow record may carry many events.",
        (("sum by (feed) (rate(tocsin_events_total[$__rate_interval]))", "{{feed}}"),),
        width=6,
        unit="cps",
    ),
    Panel(
        "timeseries",
        "Events dropped per second",
        "Exact counts: not for analysts.",
        (
            (
                "sum by (feed, reason) (rate(tocsin_events_dropped_total[$__rate_interval]))",
                "{{feed}}: {{reason}}",
            ),
        ),
        width=6,
        unit="cps",
    ),
    Panel(
        "timeseries",
        "Share of events dropped",
        "Of the last 15 minutes; above a half, an alert. Exact: not for analysts.",
        (
            (
                (
                    "sum by (feed) (rate(tocsin_events_dropped_total[15m])) / "
                    "(sum by (feed) (rate(tocsin_events_total[15m])) > 0)"
                ),
                "{{feed}}",
            ),
        ),
        width=6,
        unit="percentunit",
        most=1,
    ),
    Panel(
        "timeseries",
        "Ingest lag",
        "Records still to read, by partition.",
        (("max by (feed, partition) (tocsin_ingest_lag_records)", "{{feed}}/{{partition}}"),),
        width=6,
    ),
    Panel(
        "timeseries",
        "Decisions waiting to be published",
        "Stored and not yet published.",
        (('max by (alarm) (tocsin_unpublished_decisions{alarm=~"$alarm"})', "{{alarm}}"),),
        width=5,
    ),
    Panel(
        "stat",
        "Workers, by version",
        "Workers that answer the public scrape.",
        (("count by (version) (tocsin_build_info)", "{{version}}"),),
        width=4,
    ),
    Panel(
        "stat",
        "Alarms left in a run",
        "Alarms that each alarm's newest run of windows can still give (svt only).",
        (('max by (alarm) (tocsin_run_alarms_left{alarm=~"$alarm"})', "{{alarm}}"),),
        width=5,
    ),
    Panel(
        "stat",
        "Ready",
        ("1 while every worker passes the check: what /readyz says."),
        (("min by (check) (tocsin_ready)", "{{check}}"),),
        width=6,
        most=1,
    ),
    Panel(
        "timeseries",
        "Partitions, by state",
        (
            "1 for the state that a partition is in; anything but reading and end blocks its "
            "windows."
        ),
        (
            (
                "max by (feed, partition, state) (tocsin_ingest_state) == 1",
                "{{feed}}/{{partition}}: {{state}}",
            ),
        ),
        width=12,
    ),
    Panel(
        "stat",
        "Since the newest event",
        "By the broker's append time, so that what is read again after a restart counts as old.",
        (("time() - (max by (feed) (tocsin_last_event_timestamp_seconds) > 0)", "{{feed}}"),),
        width=6,
        unit="s",
    ),
    Panel(
        "stat",
        "Oldest window overdue by",
        "Since when the oldest undecided window should have been published; 0 where none is late.",
        (
            (
                (
                    "clamp_min(time() - (max by (alarm) "
                    '(tocsin_window_due_timestamp_seconds{alarm=~"$alarm"}) > 0), 0)'
                ),
                "{{alarm}}",
            ),
        ),
        width=6,
        unit="s",
    ),
    Panel(
        "stat",
        "Since the last denial",
        "By alarm and reason, as the ledger remembers it; nothing where there was none.",
        (
            (
                (
                    "time() - (max by (alarm, reason) "
                    '(tocsin_denied_timestamp_seconds{alarm=~"$alarm"}) > 0)'
                ),
                "{{alarm}}: {{reason}}",
            ),
        ),
        width=6,
        unit="s",
    ),
    Panel(
        "stat",
        "Since a worker was stopped",
        "By kind of error, as the ledger remembers it; nothing where there was none.",
        (("time() - (max by (kind) (tocsin_refused_timestamp_seconds) > 0)", "{{kind}}"),),
        width=6,
        unit="s",
    ),
    Panel(
        "timeseries",
        "Starts",
        "Total of all workers that ever used this ledger: steps say when.",
        (("max(tocsin_starts_total)", "starts"),),
        width=6,
    ),
    Panel(
        "timeseries",
        "People beyond the cap over a period",
        (
            "By the local hour at which windows start, the share of people with events there who "
            "do not count, as they did in max_windows_per_period earlier windows."
        ),
        (
            (
                (
                    'sum by (alarm, hour) (tocsin_window_people_beyond_cap_total{alarm=~"$alarm"})'
                    ' / sum by (alarm, hour) (tocsin_window_people_total{alarm=~"$alarm"})'
                ),
                "{{alarm}} {{hour}}:00",
            ),
        ),
        width=24,
        unit="percentunit",
        most=1,
    ),
    Row("Realised losses (custodian; never for analysts)"),
    Panel(
        "timeseries",
        "Highest realised loss against the budget limit",
        (
            "Realised loss of each alarm's highest-cost group: in the present budget "
            "period, or at the latest instant under unit event."
        ),
        (
            ('max by (alarm) (tocsin_realised_epsilon_max{alarm=~"$alarm"})', "{{alarm}}"),
            ("max(tocsin_budget_epsilon_max)", "epsilon_max"),
        ),
        width=8,
    ),
    Panel(
        "timeseries",
        "Min-entropy, normalised",
        (
            "Share of the uncertainty about a group that the realised losses leave at "
            "least: 1 is all of it. In all workers' readings, the least."
        ),
        (('min by (alarm) (tocsin_min_entropy_normalised{alarm=~"$alarm"})', "{{alarm}}"),),
        width=8,
        unit="percentunit",
        most=1,
    ),
    Panel(
        "bargauge",
        "Highest-cost groups",
        (
            "Realised losses of the 20 highest-cost groups of each alarm. Groups near the "
            "threshold cost most."
        ),
        (
            (
                (
                    "sort_desc(max by (alarm, group) "
                    '(tocsin_group_realised_epsilon{alarm=~"$alarm", group=~"$group"}))'
                ),
                "{{alarm}}: {{group}}",
            ),
        ),
        width=8,
        instant=True,
    ),
    Panel(
        "stat",
        "Realised losses are complete",
        (
            "0: windows of the period lie in an archive, or some are still to be unpacked after "
            "a restart."
        ),
        (('max by (alarm) (tocsin_realised_complete{alarm=~"$alarm"})', "{{alarm}}"),),
        width=5,
        most=1,
    ),
)


def custodian() -> dict[str, Any]:
    """Return the custodian's dashboard, for a Prometheus that scrapes both pages."""
    return dashboard("tocsin-custodian", "Tocsin: custodian", PARTS, variables=VARIABLES)
