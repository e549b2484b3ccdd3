"""What was published, as a page for analysts: ``tocsin board``.

With an analyst's rights only: it reads alarms and decisions, in no consumer group, and keeps
nothing. No feed, no ledger, no custodian's page. Way through: ``board`` reads, ``standing`` knows,
``view`` says, ``server`` shows.
"""
