"""Lifecycles of alarms, and where they are brought: the keys and what they become."""
