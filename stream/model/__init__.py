"""A checked configuration as plain frozen data; imports windows only."""
