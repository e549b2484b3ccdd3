"""Recorded events through the whole core, without a broker.

Imports build, counting, decisions, events and what they import.
"""
