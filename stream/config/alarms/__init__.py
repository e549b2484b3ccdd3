"""What an alarm counts, tests and promises, in integers; imports config.sql, model and windows."""
