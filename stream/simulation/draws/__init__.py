"""How windows are drawn again and again, and what is tallied of it: one file for each way."""
