"""Files of tests: what goes into an alarm, and how likely it has to fire."""
