"""One noise per pane, shared by every window that is made of panes: an event pays once.

The noisy statistics of panes, released once; what windows ask of them, for nothing more; and what
each way to answer the same questions costs. The proofs are in ``docs/research/proofs/panes.md``.
May import ``operators.single`` and what is below it.
"""

from operators.panes.comparison import Alternative, alternatives
from operators.panes.law import LaplaceSum, LaplaceWalk
from operators.panes.mechanism import Panes
from operators.panes.pricing import PaneQuestion
from operators.panes.trees import Tree

__all__ = [
    "Alternative",
    "LaplaceSum",
    "LaplaceWalk",
    "PaneQuestion",
    "Panes",
    "Tree",
    "alternatives",
]
