"""Holds as they are written: how long they must be, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream.config.loading import load
from stream.model.holds import held_windows, shown_falsely
from tests.support.commands import configuration, tocsin

TUMBLE = "TUMBLE(ts, INTERVAL '1' HOUR)"
HOP = "HOP(ts, INTERVAL '1' HOUR, INTERVAL '3' HOUR)"
CUMULATE = "CUMULATE(ts, INTERVAL '1' HOUR, INTERVAL '4' HOUR)"
DAYS = "HOP(ts, INTERVAL '1' DAY, INTERVAL '7' DAY)"


def written(folder, lines, window=TUMBLE, **more):
    """Write an alarm and return its path."""
    path = Path(configuration(folder, epsilon_max="90", **more))
    path.write_text(path.read_text().replace(TUMBLE, window) + lines)
    return str(path)


@pytest.mark.parametrize(
    ("window", "least", "enough"),
    [
        (TUMBLE, "1h", "90m"),
        (HOP, "2h", "2h"),
        (CUMULATE, "4h", "4h"),
        (DAYS, "6d", "6d"),
    ],
)
def test_a_hold_spans_all_windows_that_count_the_same_events(tmp_path, window, least, enough):
    """Shorter ones are refused where they are written, with the least that would do."""
    refused = tocsin("check", written(tmp_path, "    hold: 59m\n", window))
    assert refused.exit_code == 2
    assert f"hint: write hold: {least} or more" in refused.stderr
    assert tocsin("check", written(tmp_path, f"    hold: {enough}\n", window)).exit_code == 0
    lines = f"    hold: {enough}\n    lifecycle: {{for: 2}}\n"
    said = tocsin("check", written(tmp_path, lines, window), code=0).stderr
    assert "warning: " in said
    assert "`for` and `of` count no window" in said


def test_a_plan_says_what_an_episode_takes(tmp_path):
    """A run carries so many episodes; its windows share noise, so what is shown is a bound."""
    lines = "    hold: 2h\n    mechanism: {svt: {max_fpr: 0.15, max_alarms: 7}}\n"
    path = written(tmp_path, lines, unit="user")
    query = held_by(path)
    assert held_windows(query) == 2
    assert shown_falsely(query) == pytest.approx((0.45, 0.45))
    told = tocsin("plan", path, "--details").stdout
    assert "an episode of up to 3 windows takes one of the 7 alarms of an SVT run" in told
    assert "probability 0.15; 0.45 of them are shown as firing" in told


def held_by(path):
    """Return the alarm of a file."""
    (query,) = load(Path(path), environ={}).by_name.values()
    return query


def shown_over(windows, false, held):
    """Return how likely each of some quiet windows is shown, from the law of who was asked."""
    fired = []
    for at in range(windows):
        fired.append(false * (1 - sum(fired[max(at - held, 0) : at])))
    return [sum(fired[max(at - held, 0) : at + 1]) for at in range(windows)]


@pytest.mark.parametrize(
    ("held", "six", "long_run", "worst"),
    [(0, 0.15, 0.15, 0.15), (1, 0.24, 0.26, 0.28), (2, 0.31, 0.35, 0.39), (5, 0.41, 0.51, 0.62)],
)
def test_quiet_windows_are_shown_as_firing_as_often_as_is_said(
    tmp_path, held, six, long_run, worst
):
    """By the law of independent windows: over the first six, in the long run, and at worst."""
    path = written(
        tmp_path, f"    mechanism: {{tslm: {{max_fpr: 0.15}}}}\n    hold: {held}h\n" if held else ""
    )
    assert sum(shown_over(6, 0.15, held)) / 6 == pytest.approx(six, abs=0.005)
    law = shown_over(2_000, 0.15, held)
    assert law[-1] == pytest.approx(long_run, abs=0.005)
    assert max(law) == pytest.approx(worst, abs=0.005)
    if held:
        assert shown_falsely(held_by(path)) == pytest.approx((law[-1], max(law)))
