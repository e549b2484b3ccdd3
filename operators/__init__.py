"""Mechanisms: exact, pure, planned before they decide."""

from operators.apportion import Apportionment, Atom, apportion
from operators.atoms import Comparison, IntegerTest
from operators.base import Decision, Operator, Plan, Promise
from operators.condition import Aim, Channel, Condition, ThresholdAtom
from operators.formula import Formula
from operators.nlm import Nlm
from operators.noise import CertifiedProbability, NoiseSource, exp_neg_bounds
from operators.probe import Probe
from operators.probe_ent import ProbeEnt
from operators.progressive import Dppwlm, Ppwlm
from operators.registry import MECHANISMS, RUN_MECHANISMS, create, price
from operators.shared import SharedTslm
from operators.single import Single
from operators.svt import RunDecision, RunState, Svt, SvtPlan, svt_correction
from operators.tslm import Tslm, theoretical_limit

__all__ = [
    "MECHANISMS",
    "RUN_MECHANISMS",
    "Aim",
    "Apportionment",
    "Atom",
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
    "SharedTslm",
    "Single",
    "Svt",
    "SvtPlan",
    "ThresholdAtom",
    "Tslm",
    "apportion",
    "create",
    "exp_neg_bounds",
    "price",
    "svt_correction",
    "theoretical_limit",
]
