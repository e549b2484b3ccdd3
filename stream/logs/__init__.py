"""Lines for the operator: what a process does, and nothing of an event."""
