"""``tocsin watch``: what is said, and what is folded."""

from __future__ import annotations

import errno
from pathlib import Path

import msgspec

from stream.kafka.clients import reaching
from tests.support.commands import configuration, tocsin
from tests.support.published import alarm_of, decision_of

SPENT = " (not evaluated: the budget is spent)"
HOURS = [f"2025-03-03T{hour:02}:00:00.000Z" for hour in range(10)]


def alarm(hour):
    """Return an alarm of the hall."""
    return msgspec.structs.replace(
        alarm_of(hour, {"room": "hall"}),
        alarm_id="1",
        window_start=HOURS[hour],
        window_end=HOURS[hour + 1],
    )


def denial(hour, reason="budget"):
    """Return a window that was denied."""
    return msgspec.structs.replace(
        decision_of(hour, denied=True),
        window_start=HOURS[hour],
        window_end=HOURS[hour + 1],
        reason=reason,
    )


def watched(folder, monkeypatch, *options):
    """Return what is shown of a few records, on both streams."""
    records = [denial(0), denial(1), denial(2), alarm(3), alarm(3), alarm(4), denial(5, "late")]
    monkeypatch.setattr("stream.cli.watch.follow", lambda _, show, __: list(map(show, records)))
    path = Path(configuration(folder))
    path.write_text(f'kafka: {{bootstrap: "broker:9092"}}\n{path.read_text()}')
    result = tocsin("watch", path, *options, code=0)
    return result.stdout.splitlines(), result.stderr


def test_what_repeats_is_folded(tmp_path, monkeypatch):
    """Denials for one reason, and copies of an alarm; another window's alarm is a line."""
    shown, _ = watched(tmp_path, monkeypatch)
    assert shown == [
        f"2025-03-03 00:00 to 2025-03-03 01:00 UTC  crowd  denied: budget{SPENT}",
        "  x 3, the last 2025-03-03 02:00 to 2025-03-03 03:00 UTC",
        "2025-03-03 03:00 to 2025-03-03 04:00 UTC  crowd  hall",
        "  x 2, the last 2025-03-03 03:00 to 2025-03-03 04:00 UTC",
        "2025-03-03 04:00 to 2025-03-03 05:00 UTC  crowd  hall",
        "2025-03-03 05:00 to 2025-03-03 06:00 UTC  crowd  denied: late",
    ]


def test_records_are_never_folded(tmp_path, monkeypatch):
    """--json prints each of them; standard error says at once what is waited for."""
    shown, said = watched(tmp_path, monkeypatch, "--json")
    assert len(shown) == 7
    assert "connecting to Kafka at broker:9092\n" in said


def test_a_reader_that_goes_is_no_fault_of_kafka(tmp_path, monkeypatch):
    """``watch | head -1`` ends as other commands do: with 1, and without a word."""

    def gone(_):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    def follow(_, show, __):
        with reaching("the public topics cannot be read", "check Kafka"):
            show(denial(0))

    monkeypatch.setattr("stream.cli.watch.follow", follow)
    monkeypatch.setattr("stream.cli.watch.click.echo", gone)
    monkeypatch.setattr("stream.cli.watch.say_awaited", lambda _: None)
    result = tocsin("watch", configuration(tmp_path), code=1)
    assert "cannot be read" not in result.stderr
