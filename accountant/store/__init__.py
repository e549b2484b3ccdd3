"""The tables of a ledger in SQLite or PostgreSQL; imports the log and the rooms below it."""
