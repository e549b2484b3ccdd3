"""The ledger as its callers see it, each method one transaction; may import every other room."""
