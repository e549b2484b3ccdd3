"""One search for how an alarm can be had: what is best, or the least that would have to change."""
