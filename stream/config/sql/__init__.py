"""The SQL of an alarm: text to a tree, and what it may say.

Imports model, windows and the texts of config.
"""
