"""One noise for a whole condition beside ProBE by name, through the whole pipeline."""
