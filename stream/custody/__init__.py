"""What the custodian alone sees or changes in a ledger; imports decisions, model and windows."""
