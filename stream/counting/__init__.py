"""Rows, bounded per unit, into windows and partials; imports events, model and windows."""
