"""From sensors on MQTT to a feed: ``tocsin mqtt``.

With a sensor's rights only: it writes one topic. No alarm, no ledger, no custodian's page.
"""
