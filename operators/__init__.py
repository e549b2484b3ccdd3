"""Mechanisms: exact, pure, planned before they decide; may import ``accountant``'s costs and units.

Each is one file, with its :class:`operators.descriptors.Mechanism` in it, and one line of
``operators.registry``.
"""

from operators.base import Band, Decision, Operator, Plan, Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Channel, Condition, Severity, ThresholdAtom
from operators.conditions.formula import Formula
from operators.conditions.score import Score, score_of
from operators.formulas.probe import Probe
from operators.formulas.probe_ent import ProbeEnt
from operators.noise.certified import CertifiedProbability, exp_neg_bounds
from operators.noise.source import NoiseSource, SeededSource
from operators.registry import MECHANISMS, RUN_MECHANISMS, create, price
from operators.single.adapter import Scored
from operators.single.nlm import Nlm
from operators.single.progressive import Dppwlm, Ppwlm
from operators.single.tslm import Tslm, theoretical_limit
from operators.svt import RunDecision, RunState, Svt, SvtPlan, svt_correction

__all__ = [
    "MECHANISMS",
    "RUN_MECHANISMS",
    "Aim",
    "Band",
    "CertifiedProbability",
    "Channel",
    "Comparison",
    "Condition",
    "Decision",
    "Dppwlm",
    "Formula",
    "IntegerTest",
    "Nlm",
    "NoiseSource",
    "Operator",
    "Plan",
    "Ppwlm",
    "Probe",
    "ProbeEnt",
    "Promise",
    "RunDecision",
    "RunState",
    "Score",
    "Scored",
    "SeededSource",
    "Severity",
    "Svt",
    "SvtPlan",
    "ThresholdAtom",
    "Tslm",
    "create",
    "exp_neg_bounds",
    "price",
    "score_of",
    "svt_correction",
    "theoretical_limit",
]
