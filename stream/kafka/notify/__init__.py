"""From the two public topics to the people on duty: ``tocsin notify``.

With an analyst's rights only: it reads alarms and decisions, and keeps its place in a consumer
group. No feed, no ledger, no custodian's page.
"""
