"""What a ledger says about itself, and what contradicts it; imports all rooms but the ledger."""
