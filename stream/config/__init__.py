"""YAML and SQL become the model, every error with its place.

Imports decisions, model and windows.
"""
