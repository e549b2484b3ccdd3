"""The papers' figures again, on other data: ``python -m benchmarks.papers``."""
