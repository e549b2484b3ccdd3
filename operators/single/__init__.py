"""Mechanisms of one integer test; may import base, noise and conditions."""
