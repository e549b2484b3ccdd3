"""Mechanisms of whole formulas, channel by channel; may import single and what is below it."""
