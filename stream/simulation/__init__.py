"""What an alarm would fire on recorded events, without spending.

Imports replay, config, counting and what they import.
"""
