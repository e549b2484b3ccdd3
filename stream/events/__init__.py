"""From bytes to rows that are valid or dropped with a reason; imports model and windows."""
