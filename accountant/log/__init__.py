"""What a ledger is made of: entries, and the state that they come to; no database is known here."""
