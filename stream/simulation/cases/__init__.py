"""Tests of alarms, tried: made-up aggregates or events in, probabilities to fire out."""
