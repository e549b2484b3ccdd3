"""What an alarm would ring on recorded events, without spending.

Imports replay, config, counting and what they import.
"""
