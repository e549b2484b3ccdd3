"""What a configuration will cost and what to change, before any data is read.

Imports config, decisions, model and windows.
"""
