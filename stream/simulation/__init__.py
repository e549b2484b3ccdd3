"""Alarms tried out on recorded events, many times over, before they go live."""
