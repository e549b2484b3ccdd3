"""The text of a template's tests: it does not fire at the baseline, and its made-up events do."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from stream.config.yamlfile import quoted
from stream.model.holds import in_runs
from stream.model.numbers import decimal
from stream.planning.templates.texts import CONFIGURATION, SAMPLE
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from stream.planning.templates.events import MadeUp
    from stream.planning.templates.filling import FilledTemplate

__all__ = ["CASES", "cases_text"]

CASES: Final = "alarms_test.yaml"

_MISSED: Final = Decimal("0.000001")
_LEAST: Final = 1e-18  # laws are tables in units of 2^-64
_DIGITS: Final = Context(prec=2, rounding=ROUND_CEILING)


def cases_text(filled: FilledTemplate, events: MadeUp) -> str:
    """Return tests that the filled template passes.

    Args:
        filled: the configuration.
        events: made up for it.
    """
    answers = filled.answers
    alarm, group, baseline = answers.alarm, quoted(", ".join(events.group)), answers.baseline
    seldom = _DIGITS.create_decimal(Decimal(max(filled.fires_at(baseline), _LEAST))).normalize()
    # In one SVT run, others that are asked first may take its alarms: the sum bounds how often.
    others = len(answers.groups) - 1 if in_runs(filled.alarms.by_name[alarm]) else 0
    missed = _DIGITS.create_decimal(_MISSED + others * Decimal(filled.fires_at(events.ordinary)))
    certain = max(1 - missed, Decimal(0)).normalize()
    often = decimal(1 - Fraction(answers.max_fnr))
    start = iso_utc(events.since_ms).removesuffix(".000Z") + "Z"
    return f"""\
# What the alarm of {CONFIGURATION} does with made-up figures; nothing is spent.
#
#   tocsin test {CASES}
alarms: {CONFIGURATION}
tests:
  - name: it does not fire at the baseline
    alarm: {alarm}
    counts: {{{group}: {baseline}}}
    fires: {{{group}: "<= {seldom:f}"}}

  - name: one more than the threshold fires as often as promised
    alarm: {alarm}
    counts: {{{group}: {answers.threshold + 1}}}
    fires: {{{group}: ">= {often}"}}

  - name: the sample fires once
    alarm: {alarm}
    events: {SAMPLE}
    windows:
      - start: "{start}"
        counts: {{{group}: {events.figure}}}
        fires: {{{group}: ">= {certain:f}"}}
"""
