"""Everything that touches the world: configuration, events, Kafka, files, metrics.

Imports accountant and operators.
"""
