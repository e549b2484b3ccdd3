"""Mechanisms: exact, pure, planned before they decide."""

from operators.atoms import Comparison, IntegerTest
from operators.base import Decision, Operator, Plan, Promise
from operators.nlm import Nlm
from operators.noise import CertifiedProbability, NoiseSource, exp_neg_bounds
from operators.registry import MECHANISMS, create, price
from operators.tslm import Tslm, theoretical_limit

__all__ = [
    "MECHANISMS",
    "CertifiedProbability",
    "Comparison",
    "Decision",
    "IntegerTest",
    "Nlm",
    "NoiseSource",
    "Operator",
    "Plan",
    "Promise",
    "Tslm",
    "create",
    "exp_neg_bounds",
    "price",
    "theoretical_limit",
]
