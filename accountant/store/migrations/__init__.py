"""Schema migrations of the ledger, run when a database is opened."""
