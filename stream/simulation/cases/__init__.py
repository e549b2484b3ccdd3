"""Tests of alarms, tried: made-up aggregates or events in, probabilities to ring out."""
