"""Lifecycles of alarms, where they are brought and shown: the keys and what they become."""
