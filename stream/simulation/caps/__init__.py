"""Caps over a period on recorded events: whom they leave out, and what alarms miss by that."""
