"""What a page of metrics shows, as Prometheus would read it."""

from __future__ import annotations

from deploy.kafka.runtime import HOST
from tests.support.answers import asked


def answer(port: int, path: str) -> tuple[int, str]:
    """Return status and text of a path; 0 while nobody listens."""
    try:
        status, body, _ = asked((HOST, port), path)
    except ConnectionError:
        return 0, ""
    return status, body.decode()


def scraped(port: int) -> dict[str, float]:
    """Return a page's series, with labels as they are printed; none while nobody listens."""
    status, text = answer(port, "/metrics")
    assert status in {0, 200}, text
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {series: float(value) for series, _, value in lines}
