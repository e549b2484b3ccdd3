"""Which rows a charge can touch: exact sets of values per attribute; imports units and errors."""
