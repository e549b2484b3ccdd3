"""The text of a draft's tests: what is usual stays quiet, and its made-up events ring."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from stream.config.yamlfile import quoted
from stream.model.numbers import decimal
from stream.planning.drafts.texts import CONFIGURATION, SAMPLE
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from stream.planning.drafts.events import MadeUp
    from stream.planning.drafts.fitting import Draft

__all__ = ["CASES", "cases_text"]

CASES: Final = "alarms_test.yaml"

_CERTAIN: Final = "0.999999"
_DIGITS: Final = Context(prec=2, rounding=ROUND_CEILING)


def cases_text(draft: Draft, events: MadeUp) -> str:
    """Return tests that the draft passes.

    Args:
        draft: the configuration.
        events: made up for it.
    """
    answers = draft.answers
    value, usual = quoted(events.value), answers.usual
    seldom = _DIGITS.create_decimal(Decimal(draft.rings_at(usual))).normalize()
    often = decimal(1 - Fraction(answers.max_fnr))
    start = iso_utc(events.since_ms).removesuffix(".000Z") + "Z"
    return f"""\
# What the alarm of {CONFIGURATION} does with made-up figures; nothing is spent.
#
#   tocsin test {CASES}
alarms: {CONFIGURATION}
tests:
  - name: what is usual stays quiet
    counts: {{{value}: {usual}}}
    ring: {{{value}: "<= {seldom}"}}

  - name: one more than the threshold rings as often as promised
    counts: {{{value}: {answers.threshold + 1}}}
    ring: {{{value}: ">= {often}"}}

  - name: the sample rings once
    events: {SAMPLE}
    windows:
      - start: "{start}"
        counts: {{{value}: {events.figure}}}
        ring: {{{value}: ">= {_CERTAIN}"}}
"""
