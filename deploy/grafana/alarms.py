"""What anybody may see: what fired for which window, released counts, and what was denied."""  # noqa: INP001  # a script's neighbour, no package

from __future__ import annotations

from typing import Any

from deploy.grafana.panels import DELTA, Annotation, Panel, Row, Variable, dashboard

__all__ = ["alarms"]

CHOSEN = 'alarm=~"$alarm"'
FIRED = f'tocsin_group_fired_timestamp_seconds{{{CHOSEN}, group=~"$group"}}'
WINDOW = f"tocsin_window_end_timestamp_seconds{{{CHOSEN}}}"
DECISIONS = f"tocsin_decisions_total{{{CHOSEN}}}"
DENIED = f'tocsin_decisions_total{{{CHOSEN}, outcome="denied"}}'

LAST_FIRED = f"max by (alarm, group) ({FIRED})"
LAST_WINDOW = f"max by (alarm) ({WINDOW})"
GROUP = "{{alarm}}: {{group}}"
# Of several workers, that which published last: what others show is of an older window.
NEWEST = f"({WINDOW} == on (alarm) group_left () {LAST_WINDOW})"

VARIABLES = (
    Variable("alarm", "alarm", "label_values(tocsin_plan_epsilon, alarm)"),
    Variable(
        "group",
        "group",
        f"label_values(tocsin_group_fired_timestamp_seconds{{{CHOSEN}}}, group)",
    ),
)
ANNOTATIONS = (
    # A worker that starts anew shows 0 again: only a later window is an alarm.
    Annotation(
        "fired",
        f"({LAST_FIRED} > 0) unless ({LAST_FIRED} <= max by (alarm, group) ({FIRED} offset 1m))",
        f"{GROUP} fired",
        "red",
    ),
    Annotation(
        "denied",
        f"sum by (alarm) (increase({DENIED}[1m])) > 0",
        "{{alarm}}: a window was denied",
        "orange",
    ),
)
PARTS = (
    Row("What fires"),
    Panel(
        "stat",
        "Firing in the last window",
        "Groups that fired for the window published last, and when it ended. Where that window "
        "was denied nothing is known or shown here: see the denials below.",
        ((f"1000 * ({LAST_FIRED} == on (alarm) group_left () ({LAST_WINDOW} > 0))", GROUP),),
        width=8,
        unit="dateTimeAsIso",
        steps=(("red", None),),
        instant=True,
        nothing="nothing fires",
    ),
    Panel(
        "state-timeline",
        "Which group fired, and when",
        "Red from the publication of a window that the group fired for to the next window's.",
        (
            (
                (
                    f"({LAST_FIRED} == bool on (alarm) group_left () {LAST_WINDOW}) "
                    f"* ({LAST_FIRED} > bool 0)"
                ),
                GROUP,
            ),
        ),
        width=16,
        most=1,
        steps=(("transparent", None), ("red", 1)),
        words={"0": "did not fire", "1": "fired"},
    ),
    Panel(
        "bargauge",
        "Since a group last fired",
        "End of the last window that it fired for, within the time shown, also where workers were "
        "started anew since. Of an alarm with more than 200 groups, those 200 that fired last.",
        (
            (
                f"sort(time() - (max by (alarm, group) (max_over_time({FIRED}[$__range])) > 0))",
                GROUP,
            ),
        ),
        width=8,
        unit="s",
        instant=True,
        nothing="none has fired",
    ),
    Panel(
        "timeseries",
        "Alarms per hour",
        "Alarms published, by alarm.",
        ((f"sum by (alarm) (increase(tocsin_alarms_total{{{CHOSEN}}}[1h]))", "{{alarm}}"),),
        width=8,
    ),
    Panel(
        "stat",
        "Last window published",
        "How long ago the last published window of each alarm ended.",
        ((f"time() - ({LAST_WINDOW} > 0)", "{{alarm}}"),),
        width=8,
        unit="s",
        nothing="none yet",
    ),
    Row("Noisy counts, of alarms that release them"),
    Panel(
        "timeseries",
        "Noisy count of the last window",
        "From the publication of a window to the next window's; a gap is a window that was denied. "
        "Noise is not cut off: a count may be negative, and is right on average. Of an alarm with "
        "more than 200 groups, the first 200.",
        (
            (
                (
                    "max by (alarm, group) (tocsin_group_noisy_value"
                    f'{{{CHOSEN}, group=~"$group"}} and ignoring (group) {NEWEST})'
                ),
                GROUP,
            ),
        ),
        width=16,
        least=None,
        nothing="no alarm here has release: counts",
    ),
    Panel(
        "stat",
        "Standard deviation of its noise",
        "Two in three counts or more are within one of it, some 19 in 20 within two. Windows that "
        "overlap share their noise.",
        (
            (
                (
                    "max by (alarm) (tocsin_noisy_value_standard_deviation"
                    f"{{{CHOSEN}}} and {NEWEST})"
                ),
                "{{alarm}}",
            ),
        ),
        width=8,
        instant=True,
        nothing="no alarm here has release: counts",
    ),
    Row("No alarm, and what is not known"),
    Panel(
        "timeseries",
        "Windows per hour, decided and denied",
        "A decided window misses a true alarm with probability max_fnr at most (with "
        "bounded_error: fpr, one that is twice the tolerance beyond its threshold). A denied one "
        "has no answer: no alarm does not mean no danger.",
        ((f"sum by (alarm, outcome) (increase({DECISIONS}[1h]))", "{{alarm}}: {{outcome}}"),),
        width=12,
    ),
    Panel(
        "timeseries",
        "Share of windows denied",
        "Of those published within the last day.",
        (
            (
                (
                    f"sum by (alarm) (increase({DENIED}[1d])) / "
                    f"(sum by (alarm) (increase({DECISIONS}[1d])) > 0)"
                ),
                "{{alarm}}",
            ),
        ),
        width=12,
        unit="percentunit",
        most=1,
    ),
    Row("What is promised"),
    Panel(
        "bargauge",
        "Planned epsilon per window",
        "What one group of a window costs at worst, as `tocsin plan` prints it; the limit beside.",
        (
            (f"max by (alarm) (tocsin_plan_epsilon{{{CHOSEN}}})", "{{alarm}}"),
            ("max(tocsin_budget_epsilon_max)", "epsilon_max"),
        ),
        width=12,
    ),
    DELTA,
    Panel(
        "stat",
        "Workers, by version",
        "Workers that answer the public scrape.",
        (("count by (version) (tocsin_build_info)", "{{version}}"),),
        width=8,
    ),
)


def alarms() -> dict[str, Any]:
    """Return the dashboard for analysts, over released values and configuration alone."""
    return dashboard(
        "tocsin-alarms", "Tocsin: alarms", PARTS, variables=VARIABLES, annotations=ANNOTATIONS
    )
