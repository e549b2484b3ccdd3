"""MIDE's and ProBE's figures again, on other data: ``python -m benchmarks.papers``."""
