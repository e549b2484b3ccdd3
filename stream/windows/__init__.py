"""Which instant belongs to which window: pure arithmetic on integers.

Imports no other room of stream.
"""
