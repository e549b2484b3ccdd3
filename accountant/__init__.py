"""Theory and ledger: what was lost, and whether more may be."""
