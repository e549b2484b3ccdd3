"""``tocsin watch``: what is said of each record."""

from __future__ import annotations

import errno
from pathlib import Path

import msgspec

from stream.kafka.clients import reaching
from tests.support.commands import configuration, tocsin
from tests.support.published import alarm_of, decision_of

SPENT = " (not evaluated: the budget, or this alarm's SVT run, is spent)"
HALL = {"room": "hall"}


def watched(folder, monkeypatch, *options):
    """Return what is shown of a few records, on both streams."""
    denied = [decision_of(hour, denied=True) for hour in (0, 1, 2, 5)]
    late = msgspec.structs.replace(denied.pop(), reason="late")
    records = [*denied, *(alarm_of(hour, HALL) for hour in (3, 3, 4)), late]
    monkeypatch.setattr("stream.cli.watch.follow", lambda _, show, __: list(map(show, records)))
    path = Path(configuration(folder))
    path.write_text(f'kafka: {{bootstrap: "broker:9092"}}\n{path.read_text()}')
    result = tocsin("watch", path, *options, code=0)
    return result.stdout.splitlines(), result.stderr


def test_every_record_has_a_line(tmp_path, monkeypatch):
    """When its window was, whose, and which group or why it was denied."""
    shown, _ = watched(tmp_path, monkeypatch)
    assert shown == [
        *(
            f"1970-01-01 0{hour}:00 to 1970-01-01 0{hour + 1}:00 UTC  crowd  denied: budget{SPENT}"
            for hour in range(3)
        ),
        *(
            f"1970-01-01 0{hour}:00 to 1970-01-01 0{hour + 1}:00 UTC  crowd  hall"
            for hour in (3, 3, 4)
        ),
        "1970-01-01 05:00 to 1970-01-01 06:00 UTC  crowd  denied: late",
    ]


def test_records_are_printed_as_json(tmp_path, monkeypatch):
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
            show(decision_of(0, denied=True))

    monkeypatch.setattr("stream.cli.watch.follow", follow)
    monkeypatch.setattr("stream.cli.watch.click.echo", gone)
    monkeypatch.setattr("stream.cli.watch.say_awaited", lambda _: None)
    result = tocsin("watch", configuration(tmp_path), code=1)
    assert "cannot be read" not in result.stderr
