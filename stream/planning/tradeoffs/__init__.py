"""One thing that is asked for, weighed against another: looks and their delay, caps and tolerance.

Imports what planning does; configuration alone is looked at.
"""
