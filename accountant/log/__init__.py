"""The ledger as a log: entries, one fold, one door. It is to take the place of the rows beside it.

It has the interface of :class:`accountant.ledger.ledger.Ledger`, and keeps the same contracts.
Nothing but tests opens it yet.
"""
