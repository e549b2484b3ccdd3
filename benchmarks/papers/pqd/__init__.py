"""DP-PQD's figures, on other data."""
