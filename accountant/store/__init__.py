"""The rows of a ledger in SQLite or PostgreSQL; imports records and the rooms below it."""
