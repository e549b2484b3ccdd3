"""The public topics as every analyst's process reads them: ``board``, ``notify`` and ``watch``.

With an analyst's rights only: it reads alarms and decisions, and commits in a consumer group where
one is named. No feed, no ledger, no custodian's page.
"""
