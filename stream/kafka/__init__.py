"""The worker on Kafka, the only room that imports a Kafka client.

Imports replay, custody, build, counting and what they import, never config.
"""
