"""ProBE's Figures 6 to 9, on other data."""
