"""Schema migrations of the ledger, run by :mod:`accountant.store` when it opens a database."""
