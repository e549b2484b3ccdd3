"""TSLM as configurations name it: the extremal curve over the score of a condition.

Proofs: ``docs/research/proofs/tslm.md`` and ``docs/research/proofs/score.md``.
"""

from __future__ import annotations

from typing import Final

from operators.descriptors import WINDOW_KEYS, Mechanism
from operators.single import gaussian
from operators.single.adapter import scored
from operators.single.looks import each_look
from operators.single.severity import SEVERITIES
from operators.single.tslm import Tslm

__all__ = ["TSLM"]

_PURE: Final = scored(Tslm.planned, Tslm.priced)
_GAUSSIAN: Final = scored(gaussian.planned, gaussian.priced)

TSLM: Final = Mechanism(
    name="tslm",
    releases="which predicates ring",
    proof="tslm",
    decides="each window by itself, one draw a group",
    pays="every window and group; the least that any mechanism can",
    keys=(*WINDOW_KEYS, "hold"),
    conditions=_PURE,
    early=each_look(_PURE, _GAUSSIAN),
    gaussian=_GAUSSIAN,
    quantifies=True,
    severities=SEVERITIES,
    colours=("#2563eb", "#6ea8fe"),
)
