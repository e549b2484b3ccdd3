"""The few kinds of panels that the dashboards have, as Grafana's JSON.

A panel says what it shows and how wide it is; places and numbers follow from the order. Data
sources are a variable: the same file serves whichever Prometheus it is shown beside.
"""  # noqa: INP001  # a script's neighbour, no package

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["DELTA", "Annotation", "Panel", "Row", "Variable", "dashboard"]

COLUMNS = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}

_LAST = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom"},
        "tooltip": {"mode": "multi"},
    },
    "stat": {"colorMode": "value", "reduceOptions": _LAST, "textMode": "auto"},
    "gauge": {"reduceOptions": _LAST, "showThresholdMarkers": True},
    "bargauge": {"orientation": "horizontal", "displayMode": "basic", "reduceOptions": _LAST},
    "state-timeline": {"mergeValues": True, "showValue": "never"},
}


@dataclass(frozen=True, slots=True)
class Row:
    """A heading over the panels that follow it.

    Args:
        title: the heading.
    """

    title: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel.

    Args:
        kind: Grafana's type of it.
        title: in few words.
        description: what it shows, and what to know about it.
        queries: expression in PromQL and legend of each.
        width: columns of 24.
        unit: Grafana's name of the unit.
        most: the scale's end; open where None.
        least: its beginning, the same.
        steps: colours from values on, the first from the least.
        words: what is written for a value.
        instant: ask for the last value only.
        height: in Grafana's rows.
        nothing: what is written where there is no series.
    """

    kind: str
    title: str
    description: str
    queries: tuple[tuple[str, str], ...]
    width: int
    unit: str = "none"
    most: float | None = None
    least: float | None = 0
    steps: tuple[tuple[str, float | None], ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    instant: bool = False
    height: int = 8
    nothing: str = ""

    def model(self) -> dict[str, Any]:
        """Return it without place and number."""
        defaults: dict[str, Any] = {"unit": self.unit}
        if self.least is not None:
            defaults["min"] = self.least
        if self.most is not None:
            defaults["max"] = self.most
        if self.nothing:
            defaults["noValue"] = self.nothing
        if self.steps:
            steps = [{"color": color, "value": value} for color, value in self.steps]
            defaults["thresholds"] = {"mode": "absolute", "steps": steps}
        if self.words:
            options = {value: {"text": text} for value, text in self.words.items()}
            defaults["mappings"] = [{"type": "value", "options": options}]
        return {
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": SOURCE,
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": _OPTIONS[self.kind],
            "targets": [
                {
                    "refId": chr(ord("A") + number),
                    "expr": expression,
                    "legendFormat": legend,
                    "datasource": SOURCE,
                    **({"instant": True, "range": False} if self.instant else {}),
                }
                for number, (expression, legend) in enumerate(self.queries)
            ],
        }


DELTA: Final = Panel(
    "stat",
    "Delta",
    "At what delta every epsilon here holds, and the kind of privacy: 0 for pure.",
    (("max by (privacy) (tocsin_budget_delta)", "{{privacy}}"),),
    width=4,
)
"""Beside panels that show an epsilon: it says what kind of privacy that is."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the head of a dashboard, of one label's values or of all of them.

    Args:
        name: as expressions write it, behind ``$``.
        label: as readers see it.
        values: ``label_values(...)`` of Grafana.
    """

    name: str
    label: str
    values: str

    def model(self) -> dict[str, Any]:
        """Return it as Grafana's JSON."""
        return {
            "type": "query",
            "name": self.name,
            "label": self.label,
            "datasource": SOURCE,
            "query": {"qryType": 1, "query": self.values, "refId": self.name},
            "definition": self.values,
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": ["All"], "value": ["$__all"]},
        }


@dataclass(frozen=True, slots=True)
class Annotation:
    """Marks on every panel's time axis where an expression has values.

    Args:
        name: as readers see it.
        expression: in PromQL.
        title: with labels in double braces.
        color: of the marks.
    """

    name: str
    expression: str
    title: str
    color: str

    def model(self) -> dict[str, Any]:
        """Return it as Grafana's JSON."""
        return {
            "name": self.name,
            "datasource": SOURCE,
            "enable": True,
            "iconColor": self.color,
            "expr": self.expression,
            "step": "60s",
            "titleFormat": self.title,
        }


def dashboard(
    uid: str,
    title: str,
    parts: Iterable[Row | Panel],
    *,
    variables: Iterable[Variable],
    annotations: Iterable[Annotation] = (),
) -> dict[str, Any]:
    """Return a dashboard, its panels from left to right and a new line where one is full."""
    source = {
        "type": "datasource",
        "name": "datasource",
        "label": "data source",
        "query": "prometheus",
        "current": {},
        "refresh": 1,
    }
    return {
        "uid": uid,
        "title": title,
        "tags": ["tocsin"],
        "schemaVersion": 41,
        "version": 1,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-24h", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "annotations": {"list": [each.model() for each in annotations]},
        "templating": {"list": [source, *(each.model() for each in variables)]},
        "links": [],
        "panels": _placed(parts),
    }


def _placed(parts: Iterable[Row | Panel]) -> list[dict[str, Any]]:
    placed: list[dict[str, Any]] = []
    x = y = tallest = 0
    for number, part in enumerate(parts, 1):
        width = COLUMNS if isinstance(part, Row) else part.width
        height = 1 if isinstance(part, Row) else part.height
        if x + width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        place = {"id": number, "gridPos": {"x": x, "y": y, "w": width, "h": height}}
        if isinstance(part, Row):
            placed.append({"type": "row", "title": part.title, "collapsed": False, "panels": []})
        else:
            placed.append(part.model())
        placed[-1].update(place)
        x, tallest = x + width, max(tallest, height)
    return placed
