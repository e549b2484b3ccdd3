"""How a wanted alarm can be had: what is searched, what is best, what would have to change.

From configuration alone: all of it may be shown to anybody.
"""
